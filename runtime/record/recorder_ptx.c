/* PTX as text: its kernels and variables, and where Triton's cache keeps it. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "recorder_internal.h"

enum { MOST = 1 << 28, DEEPEST = 4 }; /* bytes of a file, folders within each other */

static int in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

int recorder_has_entry(const char *ptx, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = ptx; (at = strstr(at, ".entry"));) {
        at = skip_blanks(at + 6);
        if (strncmp(at, name, length) == 0 && !in_name(at[length]))
            return 1;
    }
    return 0;
}

/* Behind the words that stand before a variable's name: PTX ISA, "Variable Declarations", as ".align 16 .b8" and
   ".attribute(.managed)". */
static const char *skip_words(const char *at)
{
    for (at = skip_blanks(at); *at == '.' || (*at >= '0' && *at <= '9') || *at == '('; at = skip_blanks(at)) {
        if (*at == '(') {
            at += strcspn(at, ")");
            at += *at == ')';
        } else {
            at++;
            while (in_name(*at))
                at++;
        }
    }
    return at;
}

int recorder_next_variable(const char **at, char *name, size_t room)
{
    static const char *const spaces[] = {".global", ".const"};
    while (**at) {
        const char *line = skip_blanks(*at), *word = line;
        *at = line + strcspn(line, "\n");
        for (int i = 0; i < 3; i++) /* linkage */
            if (strncmp(word, ".visible", 8) == 0 || strncmp(word, ".extern", 7) == 0 ||
                strncmp(word, ".weak", 5) == 0 || strncmp(word, ".common", 7) == 0) {
                word++;
                while (in_name(*word))
                    word++;
                word = skip_blanks(word);
            }
        for (int i = 0; i < 2; i++) {
            size_t length = strlen(spaces[i]), count = 0;
            if (strncmp(word, spaces[i], length) != 0 || in_name(word[length]))
                continue;
            word = skip_words(word + length);
            while (in_name(word[count]))
                count++;
            if (count && count < room) {
                memcpy(name, word, count);
                name[count] = '\0';
                return 1;
            }
        }
    }
    return 0;
}

char *recorder_file(const char *path, size_t *bytes)
{
    struct stat info;
    char *text = NULL;
    FILE *file = fopen(path, "rbe");
    if (file && fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= MOST &&
        (text = malloc((size_t)info.st_size + 1))) {
        *bytes = fread(text, 1, (size_t)info.st_size, file);
        text[*bytes] = '\0';
    }
    if (file)
        fclose(file);
    return text;
}

/* A search of a folder under way. */
struct search {
    const char *name;
    const void *cubin;
    size_t cubin_bytes;
    char *text; /* that was found */
    size_t bytes;
    int sure, found, others; /* its cubin is the same; files of the name; of them with another cubin */
};

static void look_at(struct search *s, const char *folder)
{
    char path[4096];
    size_t bytes = 0, own = 0;
    snprintf(path, sizeof path, "%.3000s/%.900s.ptx", folder, s->name);
    char *text = recorder_file(path, &bytes);
    if (!text || !recorder_has_entry(text, s->name)) {
        free(text);
        return;
    }
    snprintf(path, sizeof path, "%.3000s/%.900s.cubin", folder, s->name);
    char *cubin = recorder_file(path, &own);
    int same = cubin && own >= s->cubin_bytes && s->cubin_bytes && memcmp(cubin, s->cubin, s->cubin_bytes) == 0;
    int other = cubin && !same;
    free(cubin);
    s->found++;
    s->others += other;
    if (s->sure || other || (s->text && !same)) {
        free(text);
        return;
    }
    free(s->text);
    s->text = text;
    s->bytes = bytes;
    s->sure = same;
}

static void look_below(struct search *s, const char *folder, int depth)
{
    look_at(s, folder);
    DIR *list = depth < DEEPEST && !s->sure ? opendir(folder) : NULL;
    for (struct dirent *e; list && !s->sure && (e = readdir(list));) {
        char path[4096];
        struct stat info;
        if (e->d_name[0] == '.' || (size_t)snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= sizeof path ||
            lstat(path, &info) || !S_ISDIR(info.st_mode))
            continue;
        look_below(s, path, depth + 1);
    }
    if (list)
        closedir(list);
}

char *recorder_cached_ptx(const char *folder, const char *name, const void *cubin, size_t cubin_bytes, size_t *bytes,
                          char why[RECORDER_WHY])
{
    struct search s = {.name = name, .cubin = cubin, .cubin_bytes = cubin_bytes};
    look_below(&s, folder, 0);
    int sure = s.sure || s.found - s.others == 1;
    if (s.text && sure) {
        *bytes = s.bytes;
        return s.text;
    }
    free(s.text);
    if (!s.found)
        snprintf(why, RECORDER_WHY, "there is no %.100s.ptx in %.200s", name, folder);
    else
        snprintf(why, RECORDER_WHY,
                 "%d files %.100s.ptx are in %.150s, and no .cubin beside one of them is the "
                 "module's",
                 s.found, name, folder);
    return NULL;
}
