/* Chunks of shared memory by words: where threads access them apart, each has its own writer and readers, and mostly
   needs no list. */
#include "access.h"

enum { WORDS = HZ_CHUNK / 4 };

/* One more record of a chunk; its bytes are in no other one of the same kind but reads'. */
static void record_add(struct emu_hazard *h, struct hz_chunk *k, const struct hz_record *r, uint32_t mask)
{
    struct hz_record *to = r->flags & HZ_WRITE ? &k->write : &k->read;
    if (!mask)
        return;
    if (to->mask) {
        to = hz_list_push(h, k);
        if (!to)
            return;
        if (!(r->flags & HZ_WRITE))
            k->more->readers |= hz_reader(r->who);
    }
    *to = *r;
    to->mask = (uint16_t)mask;
}

int hz_words_split(struct emu_hazard *h, struct hz_chunk *k)
{
    struct hz_words *words = h->free_words;
    if (words)
        h->free_words = words->next;
    else
        words = hz_alloc(h, sizeof *words);
    if (!words)
        return 1;
    for (unsigned i = 0; i < WORDS; i++) {
        struct hz_chunk *word = &words->at[i];
        uint16_t mask = (uint16_t)(15u << 4 * i);
        *word = (struct hz_chunk){
            .write = k->write, .read = k->read, .written = k->written & mask, .marked = k->marked & mask};
        word->write.mask &= mask;
        word->read.mask &= mask;
        for (uint32_t r = 0; k->more && r < k->more->count; r++)
            record_add(h, word, &k->more->at[r], k->more->at[r].mask & mask);
    }
    hz_list_leave(h, k->more);
    *k = (struct hz_chunk){.words = words, .split = 1, .splits = (uint8_t)(k->splits + (k->splits < HZ_SPLITS))};
    return 0;
}

/* A record of a word becomes the chunk's: a part of one that was there before, or one more. */
static void record_join(struct emu_hazard *h, struct hz_chunk *k, const struct hz_record *r)
{
    for (uint32_t i = 0; r->mask && i < (k->more ? k->more->count + 2u : 2u); i++) {
        struct hz_record *to = i == 0 ? &k->write : i == 1 ? &k->read : &k->more->at[i - 2];
        if (to->mask && to->who == r->who && to->epoch == r->epoch && to->position == r->position &&
            to->lane == r->lane && to->flags == r->flags) {
            to->mask |= r->mask;
            return;
        }
    }
    record_add(h, k, r, r->mask);
}

void hz_words_leave(struct emu_hazard *h, struct hz_chunk *k)
{
    k->words->next = h->free_words;
    h->free_words = k->words;
    k->words = NULL;
    k->split = 0;
}

void hz_words_join(struct emu_hazard *h, struct hz_chunk *k)
{
    struct hz_chunk whole = {.splits = k->splits};
    if (!k->split)
        return;
    for (unsigned i = 0; i < WORDS; i++) {
        const struct hz_chunk *word = &k->words->at[i];
        record_join(h, &whole, &word->write);
        record_join(h, &whole, &word->read);
        for (uint32_t r = 0; word->more && r < word->more->count; r++)
            record_join(h, &whole, &word->more->at[r]);
        hz_list_leave(h, word->more);
        whole.written |= word->written;
        whole.marked |= word->marked;
    }
    hz_words_leave(h, k);
    *k = whole;
}

void hz_words_free(struct emu_hazard *h)
{
    while (h->free_words) {
        struct hz_words *words = h->free_words;
        h->free_words = words->next;
        tw_free(h->rt, words);
    }
}
