/* Vector clocks, knowledge of other clusters, fences, and what strong accesses to a word release and acquire. */
#include "engine.h"

int hz_clock_join(struct emu_hazard *h, struct hz_clock *to, const struct hz_clock *from)
{
    if (hz_grow(h, &to->at, &to->count, from->count, sizeof *to->at))
        return 1;
    uint32_t *restrict a = to->at;
    const uint32_t *restrict b = from->at;
    for (uint32_t i = 0; i < from->count; i++)
        a[i] = a[i] > b[i] ? a[i] : b[i];
    return 0;
}

void hz_clock_free(struct emu_hazard *h, struct hz_clock *clock)
{
    tw_free(h->rt, clock->at);
    *clock = (struct hz_clock){NULL, 0};
}

/* ---- Knowledge of clusters --------------------------------------------------------------------------------------- */

static uint32_t known_at(const struct hz_known *known, uint32_t key) /* first entry that is not below */
{
    uint32_t low = 0, high = known->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (known->entries[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct hz_clock *hz_known_find(const struct hz_known *known, uint32_t key)
{
    uint32_t at = known_at(known, key);
    return at < known->count && known->entries[at].key == key ? &known->entries[at].clock : NULL;
}

void hz_known_clear(struct emu_hazard *h, struct hz_known *known)
{
    for (uint32_t i = 0; i < known->count; i++)
        hz_clock_free(h, &known->entries[i].clock);
    tw_free(h->rt, known->entries);
    *known = (struct hz_known){NULL, 0, 0, 0};
}

void hz_known_add(struct emu_hazard *h, struct hz_known *to, uint32_t key, const struct hz_clock *clock)
{
    uint32_t at = known_at(to, key);
    if (at == to->count || to->entries[at].key != key) {
        if (to->count == HZ_CLUSTERS_KNOWN) {
            to->all_before = h->next_serial + 1;
            return;
        }
        if (hz_grow(h, &to->entries, &to->room, to->count + 1, sizeof *to->entries))
            return;
        memmove(&to->entries[at + 1], &to->entries[at], (to->count - at) * sizeof *to->entries);
        to->entries[at] = (struct hz_known_entry){.key = key};
        to->count++;
    }
    struct hz_clock *mine = &to->entries[at].clock;
    if (hz_grow(h, &mine->at, &mine->count, clock->count, sizeof *mine->at))
        return;
    uint32_t changed = 0;
    for (uint32_t i = 0; i < clock->count; i++) {
        changed |= mine->at[i] < clock->at[i];
        mine->at[i] = mine->at[i] > clock->at[i] ? mine->at[i] : clock->at[i];
    }
    if (changed)
        to->entries[at].stamp = ++h->stamps;
}

void hz_known_join(struct emu_hazard *h, struct hz_known *to, const struct hz_known *from)
{
    if (from->all_before > to->all_before)
        to->all_before = from->all_before;
    for (uint32_t i = 0; i < from->count; i++)
        hz_known_add(h, to, from->entries[i].key, &from->entries[i].clock);
}

/* ---- Flags ------------------------------------------------------------------------------------------------------- */

/* A flag's knowledge has the keys serial << 4 | rank of those who released, and serials of what these knew of others
   with rank 0: such a key cannot be told from a release, and need not be: both are known at this scope. */
static struct hz_flag *flag_find(struct emu_hazard *h, uint64_t address, int make)
{
    address |= 1; /* never 0 */
    if (make && 2 * (h->flag_count + 1) > h->flag_slots) {
        size_t count = h->flag_slots ? 2 * h->flag_slots : 64;
        struct hz_flag *flags = hz_alloc(h, count * sizeof *flags);
        if (!flags)
            return NULL;
        for (size_t i = 0; i < h->flag_slots; i++)
            if (h->flags[i].address) {
                size_t at = (size_t)(h->flags[i].address * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (count - 1);
                while (flags[at].address)
                    at = (at + 1) & (count - 1);
                flags[at] = h->flags[i];
            }
        tw_free(h->rt, h->flags);
        h->flags = flags;
        h->flag_slots = count;
    }
    if (!h->flag_slots)
        return NULL;
    size_t at = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (h->flag_slots - 1);
    for (; h->flags[at].address; at = (at + 1) & (h->flag_slots - 1))
        if (h->flags[at].address == address)
            return &h->flags[at];
    if (!make)
        return NULL;
    h->flags[at].address = address;
    h->flag_count++;
    return &h->flags[at];
}

void hz_flags_free(struct emu_hazard *h)
{
    for (size_t i = 0; i < h->flag_slots; i++)
        for (int s = 0; s < HZ_SCOPES; s++)
            hz_known_clear(h, &h->flags[i].released[s]);
    tw_free(h->rt, h->flags);
    h->flags = NULL;
    h->flag_slots = h->flag_count = 0;
}

static void learn_entry(struct hz_warp *w, const struct hz_known_entry *entry)
{
    struct emu_hazard *h = w->cluster->h;
    if (entry->key >> 4 == w->cluster->serial) {
        uint32_t mine = w->clock.at[w->component];
        hz_clock_join(h, &w->clock, &entry->clock);
        if (w->acquired)
            hz_clock_join(h, &w->behind, &entry->clock);
        w->clock.at[w->component] = mine;
        hz_know_own(w, hz_clock_at(&entry->clock, w->component));
    } else {
        hz_known_add(h, &w->known, entry->key >> 4, &entry->clock);
        w->learned = w->clock.at[w->component];
    }
}

/* The warp learns what is in `from`, a flag's knowledge at one scope. */
static void learn(struct hz_warp *w, const struct hz_known *from)
{
    for (uint32_t i = 0; i < from->count; i++)
        learn_entry(w, &from->entries[i]);
    if (from->all_before > w->known.all_before)
        w->known.all_before = from->all_before;
}

static void before_at_least(struct hz_known *known, uint32_t serial)
{
    known->all_before = known->all_before > serial ? known->all_before : serial;
}

/* What of a flag a warp sees through a read of `scope`, by relation: of its block, its cluster, others. Each needs a
   release of at least that scope. acquires: relations of which the read alone tells, bits; of others a fence will, or
   for an atomic (modifies) volatile reads of its block. Only what is younger than `since`. */
static void see(struct hz_warp *w, const struct hz_flag *flag, unsigned scope, unsigned acquires, int modifies,
                uint32_t since)
{
    struct emu_hazard *h = w->cluster->h;
    struct hz_known *block = modifies && !h->options.strict ? &w->cluster->blocks[w->rank].seen : NULL;
    for (unsigned s = 0; s < HZ_SCOPES; s++) {
        const struct hz_known *from = &flag->released[s];
        if (s == HZ_SCOPES - 1 && scope == s && from->all_before) {
            before_at_least(acquires >> s & 1 ? &w->known : &w->seen[s], from->all_before);
            if (block)
                before_at_least(block, from->all_before);
        }
        for (uint32_t i = 0; i < from->count; i++) {
            const struct hz_known_entry *entry = &from->entries[i];
            unsigned relation = entry->key >> 4 != w->cluster->serial ? 2 : (entry->key & 15) != w->rank ? 1 : 0;
            if (entry->stamp <= since || relation > s || relation > scope)
                continue;
            if (acquires >> relation & 1) {
                learn_entry(w, entry);
                continue;
            }
            hz_known_add(h, &w->seen[relation], entry->key, &entry->clock);
            if (block)
                hz_known_add(h, block, entry->key, &entry->clock);
        }
    }
}

/* What the warp has not seen of a flag yet when it reads it so; it has then. */
static uint32_t unseen_since(struct hz_warp *w, const struct hz_flag *flag, uint32_t way)
{
    for (unsigned i = 0; i < HZ_LOOKS; i++) {
        struct hz_look *look = &w->looks[i];
        if (look->address != flag->address || look->way != way)
            continue;
        uint32_t since = look->stamp;
        look->stamp = flag->stamp;
        return since;
    }
    w->looks[w->look_count++ % HZ_LOOKS] = (struct hz_look){flag->address, flag->stamp, way};
    return 0;
}

static void release_to(struct hz_warp *w, struct hz_known *to, const struct hz_clock *clock,
                       const struct hz_known *known)
{
    struct emu_hazard *h = w->cluster->h;
    hz_known_add(h, to, w->cluster->serial << 4 | w->rank, clock);
    for (uint32_t i = 0; i < known->count; i++)
        hz_known_add(h, to, known->entries[i].key << 4, &known->entries[i].clock);
    if (known->all_before > to->all_before)
        to->all_before = known->all_before;
}

int hz_polled(struct emu_hazard *h, uint64_t address)
{
    const struct hz_flag *flag = flag_find(h, address, 0);
    return flag && flag->polled;
}

void hz_strong(struct hz_warp *w, uint32_t lanes, uint64_t address, unsigned access)
{
    struct emu_hazard *h = w->cluster->h;
    if (access & EMU_ACCESS_POLL) {
        struct hz_flag *polled = flag_find(h, address, 1);
        if (polled)
            polled->polled = 1;
    }
    unsigned scope = access >> 6 & 3;
    int modifies = (access & EMU_ACCESS_ATOMIC) == EMU_ACCESS_ATOMIC;
    scope = scope < HZ_SCOPES ? scope : HZ_SCOPES - 1;
    if (access & EMU_ACCESS_READ) {
        const struct hz_flag *flag = flag_find(h, address, 0);
        if (flag) {
            /* what a block writes its own threads see behind an atomic; else it takes a fence */
            unsigned acquires = access & EMU_ACCESS_ACQUIRE ? 7 : modifies && !h->options.strict;
            uint32_t since = unseen_since(w, flag, scope | acquires << 2 | (unsigned)modifies << 5);
            if (since != flag->stamp)
                see(w, flag, scope, acquires, modifies, since);
        }
    }
    if (access & EMU_ACCESS_WRITE) {
        int fenced = w->fenced[0].count != 0;
        struct hz_flag *flag = flag_find(h, address, fenced || (access & EMU_ACCESS_RELEASE));
        if (!flag)
            return;
        if (!modifies)
            for (int s = 0; s < HZ_SCOPES; s++)
                hz_known_clear(h, &flag->released[s]);
        for (unsigned s = 0; s < HZ_SCOPES; s++) {
            if ((access & EMU_ACCESS_RELEASE) && s <= scope)
                release_to(w, &flag->released[s], &w->clock, &w->known);
            else if (w->fenced[s].count)
                release_to(w, &flag->released[s], &w->fenced[s], &w->fenced_known);
        }
        flag->stamp = ++h->stamps;
        if (access & EMU_ACCESS_RELEASE)
            hz_release(w, lanes);
    }
}

/* ---- Fences ------------------------------------------------------------------------------------------------------ */

/* Whether a proxy fence of the writer, executed by all of these lanes (0: by more than one), stands behind its epoch
   and is known: not after epoch `limit`. What is too long ago counts as fenced. */
int hz_fenced(const struct hz_warp *writer, uint32_t epoch, uint32_t limit, uint32_t lanes, unsigned kinds)
{
    uint32_t kept = writer->fence_count < HZ_FENCES ? writer->fence_count : HZ_FENCES;
    for (uint32_t i = 1; i <= kept; i++) {
        const struct hz_fence *f = &writer->fences[(writer->fence_count - i) % HZ_FENCES];
        if (f->epoch < epoch)
            return 0;
        if (f->epoch > limit || !(f->kinds & kinds))
            continue;
        if (lanes ? !(lanes & ~f->lanes) : (f->lanes & (f->lanes - 1)) != 0)
            return 1;
    }
    return writer->fence_count > HZ_FENCES;
}

static void note_proxied(struct hz_warp *w, uint32_t lanes)
{
    struct hz_proxied *p = &w->proxied[w->fence_count % HZ_PROXIED];
    const struct hz_clock *now = w->acquired && (lanes & ~w->acquired) ? &w->behind : &w->clock;
    if (hz_grow(w->cluster->h, &p->clock.at, &p->clock.count, now->count, sizeof *p->clock.at))
        return;
    memcpy(p->clock.at, now->at, now->count * sizeof *now->at);
    p->synced = w->synced;
}

/* A proxy fence behind the edge will do, by the issuer: one of the warp's last, executed by these lanes or before all
   of its lanes met, when it knew of that epoch of another warp, or of its own. */
int hz_fenced_behind(const struct hz_warp *w, uint32_t lanes, const struct hz_warp *writer, uint32_t epoch,
                     unsigned kinds)
{
    uint32_t kept = w->fence_count < HZ_PROXIED ? w->fence_count : HZ_PROXIED;
    for (uint32_t i = 1; i <= kept; i++) {
        const struct hz_fence *f = &w->fences[(w->fence_count - i) % HZ_FENCES];
        const struct hz_proxied *p = &w->proxied[(w->fence_count - i) % HZ_PROXIED];
        if (!(f->kinds & kinds) || (f->epoch >= w->synced && (lanes & ~f->lanes)))
            continue;
        if (!writer       ? f->epoch >= w->learned
            : writer == w ? epoch < p->synced
                          : hz_clock_at(&p->clock, writer->component) >= epoch)
            return 1;
    }
    return 0;
}

void emu_hazard_fence(struct emu_hazard_warp *warp, uint32_t lanes, enum emu_hazard_fence fence)
{
    struct hz_warp *w = hz_warp_of(warp);
    struct emu_hazard *h = w->cluster->h;
    uint8_t kinds = 0;
    if (h->status)
        return;
    switch (fence) {
    case EMU_FENCE_CTA:
    case EMU_FENCE_CLUSTER:
    case EMU_FENCE_GPU:
        for (unsigned s = 0; s <= (unsigned)fence; s++) {
            learn(w, &w->seen[s]);
            hz_known_clear(h, &w->seen[s]);
        }
        for (unsigned s = 0; s <= (unsigned)fence; s++)
            hz_clock_join(h, &w->fenced[s], &w->clock);
        hz_known_join(h, &w->fenced_known, &w->known);
        hz_release(w, lanes);
        return;
    case EMU_FENCE_GRID:
        w->clock.at[0] = 1;
        if (w->acquired)
            w->behind.at[0] = 1;
        return;
    case EMU_FENCE_PROXY_ASYNC:
        kinds = HZ_FENCE_SHARED | HZ_FENCE_GLOBAL | HZ_FENCE_INIT;
        break;
    case EMU_FENCE_PROXY_SHARED:
        kinds = HZ_FENCE_SHARED | HZ_FENCE_INIT;
        break;
    case EMU_FENCE_PROXY_GLOBAL:
        kinds = HZ_FENCE_GLOBAL;
        break;
    case EMU_FENCE_MBARRIER_INIT:
        kinds = HZ_FENCE_INIT;
        w->inits_fenced = w->clock.at[w->component];
        break;
    }
    if (kinds != HZ_FENCE_INIT)
        note_proxied(w, lanes);
    w->fences[w->fence_count++ % HZ_FENCES] =
        (struct hz_fence){.epoch = w->clock.at[w->component], .lanes = lanes, .kinds = kinds};
    w->clock.at[w->component]++;
}
