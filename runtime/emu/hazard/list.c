/* Lists of records: what more than one writer and one reader of a chunk did. */
#include "access.h"

/* A list has room for 3, 7, 15 ... records: with its head a power of two of their size. */
struct hz_list *hz_list_new(struct emu_hazard *h, unsigned size)
{
    struct hz_list *list = h->free_lists[size];
    if (list)
        h->free_lists[size] = list->next;
    else
        list = hz_alloc(h, sizeof *list + hz_list_room(size) * sizeof list->at[0]);
    if (list) {
        list->size = (uint16_t)size;
        list->count = 0;
        list->owners = 1;
        list->readers = 0;
    }
    return list;
}

static void list_free(struct emu_hazard *h, struct hz_list *list)
{
    list->next = h->free_lists[list->size];
    h->free_lists[list->size] = list;
}

void hz_lists_free(struct emu_hazard *h)
{
    for (unsigned size = 0; size < HZ_LIST_SIZES; size++)
        while (h->free_lists[size]) {
            struct hz_list *list = h->free_lists[size];
            h->free_lists[size] = list->next;
            tw_free(h->rt, list);
        }
}

struct hz_list *hz_list_share(struct emu_hazard *h, struct hz_list *list)
{
    if (list) {
        list->owners++;
        h->lists_shared = 1;
    }
    return list;
}

void hz_list_leave(struct emu_hazard *h, struct hz_list *list)
{
    if (list && --list->owners == 0)
        list_free(h, list);
}

/* A copy with as much room. NULL: no memory. */
static struct hz_list *copied(struct emu_hazard *h, const struct hz_list *list, unsigned size)
{
    struct hz_list *copy = hz_list_new(h, size);
    if (copy) {
        memcpy(copy->at, list->at, list->count * sizeof list->at[0]);
        copy->count = list->count;
        copy->readers = list->readers;
    }
    return copy;
}

int hz_list_own(struct emu_hazard *h, struct hz_chunk *k)
{
    if (!k->more || k->more->owners == 1)
        return 0;
    struct hz_list *copy = copied(h, k->more, k->more->size);
    if (!copy)
        return 1;
    hz_list_leave(h, k->more);
    k->more = copy;
    return 0;
}

void hz_list_sweep(struct emu_hazard *h, struct hz_chunk *k)
{
    struct hz_list *list = k->more;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++)
        if (list->at[i].mask)
            list->at[kept++] = list->at[i];
    list->count = (uint16_t)kept;
    if (kept)
        return;
    list_free(h, list);
    k->more = NULL;
}

struct hz_record *hz_list_push(struct emu_hazard *h, struct hz_chunk *k)
{
    struct hz_list *list = k->more;
    if (!list) {
        list = hz_list_new(h, 0);
        if (!list)
            return NULL;
        k->more = list;
    } else if (list->count == hz_list_room(list->size)) {
        struct hz_list *larger = list->size + 1 < HZ_LIST_SIZES ? copied(h, list, list->size + 1u) : NULL;
        if (!larger)
            return NULL;
        list_free(h, list);
        k->more = list = larger;
    }
    return &list->at[list->count++];
}
