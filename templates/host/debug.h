//@ -- What a debug build's waits left behind, and how it is told in lines. This text is emitted into a debug build's
//@ -- NAME.c, and the program includes it for `run`: a header of static functions, C99 without holes. blocks/debug.cuh
//@ -- writes the records.
/* ---- the records of a debug build ------------------------------------------------------------------------------ */

/* A warp that waited in vain. The kernel's text has the same struct and says more. */
struct debug_record {
    uint32_t magic, kind;
    char ring[24];
    uint32_t stage, step, parity, barrier;
    uint64_t word, waited;
    uint32_t block[3], blocks[3];
    uint32_t warp, warps, lanes, rank, line, limit;
    uint32_t spare[4];
};

/* The kernel's variable tilewright_debug. */
struct debug_state {
    uint64_t record, room, hardware, deadline, count;
};

enum { debug_magic = 0x74616877, debug_room = 1024, debug_most_lines = 32, debug_line_bytes = 1536 };

/* Where a barrier's word keeps what: of an architecture's hardware, or of the emulator. */
struct debug_layout {
    int pending_at, pending_bits; /* arrivals that are still to come; pending_negative: counted up to 0 */
    int pending_negative;
    int bytes_at, bytes_bits;     /* bytes expected less bytes that came, signed; bytes_negative: its negative */
    int bytes_negative;
};

/* Compute capability 9.0, as an H200 writes a barrier back: bit 63 is the phase's parity, 62 to 43 the pending arrivals
 * and 41 to 21 the bytes, both less than 0, 20 to 1 the arrivals of a phase, less than 0 too. */
static const struct debug_layout debug_hardware = {43, 20, 1, 21, 21, 1};

static uint32_t debug_field(uint64_t word, int at, int bits, int negative)
{
    uint32_t mask = (1u << bits) - 1, value = (uint32_t)(word >> at) & mask;
    return negative ? (0u - value) & mask : value;
}

/* What the barrier lacks, in words. */
static void debug_lacks(const struct debug_layout *layout, uint64_t word, char *text, size_t bytes)
{
    uint32_t pending, sign;
    int32_t lacking;
    pending = debug_field(word, layout->pending_at, layout->pending_bits, layout->pending_negative);
    lacking = (int32_t)debug_field(word, layout->bytes_at, layout->bytes_bits, layout->bytes_negative);
    sign = (uint32_t)1 << (layout->bytes_bits - 1);
    if ((uint32_t)lacking & sign)
        lacking -= (int32_t)(2 * sign);
    if (lacking >= 0)
        snprintf(text, bytes, "%u arrival%s and %d bytes are missing", (unsigned)pending, pending == 1 ? "" : "s",
                 (int)lacking);
    else
        snprintf(text, bytes, "%u arrival%s missing, and %d bytes more came than were expected", (unsigned)pending,
                 pending == 1 ? " is" : "s are", -(int)lacking);
}

/* Where a barrier lies in its block's shared memory: above that stands which block of the cluster it is. */
static uint32_t debug_place(const struct debug_record *r)
{
    return r->barrier & 0xffffff;
}

/* By block, then by warp. */
static int debug_order(const void *left, const void *right)
{
    const struct debug_record *a = (const struct debug_record *)left, *b = (const struct debug_record *)right;
    int i;
    for (i = 2; i >= 0; i--)
        if (a->block[i] != b->block[i])
            return a->block[i] < b->block[i] ? -1 : 1;
    return a->warp < b->warp ? -1 : a->warp > b->warp;
}

/* Whether two warps wait for the same, but for the block. */
static int debug_alike(const struct debug_record *a, const struct debug_record *b)
{
    return a->kind == b->kind && a->stage == b->stage && a->step == b->step && a->parity == b->parity &&
           a->word == b->word && a->line == b->line && !memcmp(a->ring, b->ring, sizeof a->ring) &&
           (a->kind || debug_place(a) == debug_place(b));
}

static int debug_same_block(const struct debug_record *a, const struct debug_record *b)
{
    return !memcmp(a->block, b->block, sizeof a->block);
}

/* "warp 4", "warps 4-7, 9" of the block of record `first` that wait as it does. Returns how many there are. */
static int debug_warps(const struct debug_record *record, int count, int first, char *text, size_t bytes)
{
    uint32_t there[32] = {0}, warp, last;
    int i, warps = 0;
    size_t n;
    const char *comma = " ";
    for (i = first; i < count; i++)
        if (debug_alike(&record[i], &record[first]) && debug_same_block(&record[i], &record[first]) &&
            record[i].warp < 32 && !there[record[i].warp]) {
            there[record[i].warp] = 1;
            warps++;
        }
    n = (size_t)snprintf(text, bytes, warps == 1 ? "warp" : "warps");
    for (warp = 0; warp < 32 && n < bytes; warp = last + 1) {
        for (last = warp; last + 1 < 32 && there[warp] && there[last + 1]; last++)
            continue;
        if (!there[warp])
            continue;
        n += (size_t)snprintf(text + n, bytes - n, last == warp ? "%s%u" : "%s%u-%u", comma, (unsigned)warp,
                              (unsigned)last);
        comma = ", ";
    }
    return warps;
}

/* Blocks beside that of record `first` in which a warp waits for the same; the first record of each counts. */
static int debug_more_blocks(const struct debug_record *record, int count, int first)
{
    int i, k, more = 0;
    for (i = first + 1; i < count; i++) {
        if (!debug_alike(&record[i], &record[first]) || debug_same_block(&record[i], &record[first]))
            continue;
        for (k = first + 1; k < i; k++)
            if (debug_alike(&record[k], &record[first]) && debug_same_block(&record[k], &record[i]))
                break;
        more += k == i;
    }
    return more;
}

/* Tells what the records say, a line for each thing that is waited for; `file` is the kernel's text. Returns the number
 * of records, which may be the kernel's still: what is not complete yet is left out. */
static int debug_tell(const volatile struct debug_record *shared, const char *entry, const char *file,
                      const struct debug_layout *layout, void (*tell)(void *context, const char *line), void *context)
{
    static const char *const words[] = {"a barrier", "full", "empty", "empty, at the end"};
    struct debug_record *record = (struct debug_record *)malloc(debug_room * sizeof *record);
    char line[debug_line_bytes], lacks[96], warps[160], ring[64], more[48], wait[64];
    int i, k, count = 0, lines = 0, left = 0, first_block = 0, silent;
    for (i = 0; i < debug_room; i++)
        if (shared[i].magic == debug_magic) {
            if (record)
                memcpy(&record[count], (const void *)&shared[i], sizeof *record);
            count++;
        }
    if (record)
        qsort(record, (size_t)count, sizeof *record, debug_order);
    for (i = 0; record && i < count; i++) {
        const struct debug_record *r = &record[i];
        int many, blocks;
        for (k = 0; k < i; k++)
            if (debug_alike(&record[k], r))
                break;
        if (k < i)
            continue; /* told with an earlier one */
        if (lines == debug_most_lines) {
            left++;
            continue;
        }
        lines++;
        debug_lacks(layout, r->word, lacks, sizeof lacks);
        many = debug_warps(record, count, i, warps, sizeof warps);
        blocks = debug_more_blocks(record, count, i);
        more[0] = wait[0] = '\0';
        if (blocks)
            snprintf(more, sizeof more, " and %d more,", blocks);
        if (r->kind > 0 && r->kind < sizeof words / sizeof *words) {
            snprintf(ring, sizeof ring, "ring %.23s %s", r->ring, words[r->kind]);
            snprintf(wait, sizeof wait, " stage %u, step %u,", (unsigned)r->stage, (unsigned)r->step);
        } else {
            snprintf(ring, sizeof ring, "the barrier at 0x%x of shared memory", (unsigned)debug_place(r));
        }
        snprintf(line, sizeof line,
                 "debug %s: block (%u,%u,%u)%s %s wait%s for %s,%s parity %u: %s, after %llu ms (%s:%u)", entry,
                 (unsigned)r->block[0], (unsigned)r->block[1], (unsigned)r->block[2], more, warps,
                 many > 1 || blocks ? "" : "s", ring, wait, (unsigned)r->parity, lacks,
                 (unsigned long long)(r->waited / 1000000), file, (unsigned)r->line);
        tell(context, line);
    }
    if (left) {
        snprintf(line, sizeof line, "debug %s: and %d other waits", entry, left);
        tell(context, line);
    }
    for (i = 0; record && i < count; i++) {
        for (k = 0; k < i; k++)
            if (debug_same_block(&record[k], &record[i]) && record[k].warp == record[i].warp)
                break;
        first_block += k == i && debug_same_block(&record[i], &record[0]);
    }
    silent = count && record && record[0].warps <= 32 ? (int)record[0].warps - first_block : 0;
    if (silent > 0) {
        snprintf(line, sizeof line,
                 "debug %s: %d of the %u warps of block (%u,%u,%u) left no record: they are at a barrier without a "
                 "clock (bar.sync), or have ended", entry, silent, (unsigned)record[0].warps,
                 (unsigned)record[0].block[0], (unsigned)record[0].block[1], (unsigned)record[0].block[2]);
        tell(context, line);
    }
    free(record);
    return count;
}
