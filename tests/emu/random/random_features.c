/* Features of random programs: which can meet, and in which order pairs are wanted. */
#include <string.h>

#include "random_spec.h"

const struct random_feature random_features[] = {
#define RANDOM_FEATURE(name, families, group, needs) {name, families, group, needs},
#include "random_features.def"
};
const int random_feature_count = (int)(sizeof random_features / sizeof *random_features);

static const struct {
    const char *one, *other, *reason;
} apart[] = {
#define RANDOM_APART(one, other, reason) {one, other, reason},
#include "random_features.def"
};

enum { STRIDE = 769 /* from a wanted pair to the next */ };

int random_feature_number(const char *name)
{
    for (int i = 0; i < random_feature_count; i++)
        if (strcmp(random_features[i].name, name) == 0)
            return i;
    return -1;
}

static const char *families_of(int number)
{
    const char *letters = random_features[number].families;
    return *letters == '*' ? "RTCPGHN" : letters;
}

/* The feature, what it needs, and so on; how many. */
static int closure(int number, int all[8])
{
    int count = 0;
    while (number >= 0 && count < 8) {
        all[count++] = number;
        number = *random_features[number].needs ? random_feature_number(random_features[number].needs) : -1;
    }
    return count;
}

void random_families(int one, int other, char letters[8])
{
    int all[16], count = closure(one, all), length = 0;
    count += closure(other, all + count);
    for (const char *c = "RTCPGHN"; *c; c++) {
        bool in = true;
        for (int i = 0; i < count; i++)
            in = in && strchr(families_of(all[i]), *c);
        if (in)
            letters[length++] = *c;
    }
    letters[length] = '\0';
}

static const char *apart_alone(int one, int other)
{
    const struct random_feature *a = &random_features[one], *b = &random_features[other];
    if (one != other && *a->group && strcmp(a->group, b->group) == 0)
        return a->group;
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        if ((strcmp(apart[i].one, a->name) == 0 && strcmp(apart[i].other, b->name) == 0) ||
            (strcmp(apart[i].one, b->name) == 0 && strcmp(apart[i].other, a->name) == 0))
            return apart[i].reason;
    return NULL;
}

const char *random_apart(int one, int other)
{
    int all[8], more[8], count = closure(one, all), others = closure(other, more);
    char letters[8];
    for (int i = 0; i < count; i++)
        for (int k = 0; k < others; k++) {
            const char *reason = apart_alone(all[i], more[k]);
            if (reason)
                return reason;
        }
    random_families(one, other, letters);
    return *letters ? NULL : "family";
}

int random_pairs(void)
{
    static int pairs = -1;
    if (pairs >= 0)
        return pairs;
    pairs = 0;
    for (int a = 0; a < random_feature_count; a++)
        for (int b = a + 1; b < random_feature_count; b++)
            pairs += !random_apart(a, b);
    return pairs;
}

void random_pair(int number, int *one, int *other)
{
    int pairs = random_pairs(), stride = STRIDE;
    while (pairs % stride == 0)
        stride -= 2;
    int left = (int)((int64_t)number * stride % pairs);
    for (int a = 0; a < random_feature_count; a++)
        for (int b = a + 1; b < random_feature_count; b++)
            if (!random_apart(a, b) && left-- == 0) {
                *one = a;
                *other = b;
                return;
            }
}
