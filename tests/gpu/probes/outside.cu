// What does a tensor load bring whose box lies outside of its map, wholly or in part, and what does a store write? Does
// it matter what the map's base address is, and what lies where the coordinates lead? Of a map "from nowhere" the base
// is an address in no allocation, and its last slice lies in memory; "from elsewhere" it is in another allocation; of
// one "to nowhere" the base is in memory and the last slice is not. Cases: boxes of one or two rows of 32 words in
// slices of 8 rows (rank 2: slices of a row), or of a row of two slices. Outcomes: zeros for what is outside, what lies
// there for the rest; anything else; the bytes do not come.
enum { PLACE = 16384 + 16 }; // as in probes.c
struct maps {
    struct {
        __align__(64) unsigned char bytes[128];
    } map[4][4][3]; // by where it begins and its last slice lies, rank - 2, shape
};
enum { FROM_NOWHERE, IN_MEMORY, TO_NOWHERE, FROM_ELSEWHERE };
enum { ROW, ROWS, SLICES };
struct box {
    int map, rank, shape, column, row, slice; // slice 0: the last; 1: one behind it; -1: one before the first
    bool store;
};
static __constant__ box boxes[] = {
    {IN_MEMORY, 3, ROW, 0, -1, 0},           {IN_MEMORY, 3, ROW, 0, 8, 0},
    {TO_NOWHERE, 3, ROW, 0, -1, 0},          {TO_NOWHERE, 3, ROW, 0, 8, 0},
    {FROM_ELSEWHERE, 3, ROW, 0, -1, 0},      {FROM_ELSEWHERE, 3, ROW, 0, 8, 0},
    {FROM_ELSEWHERE, 3, ROWS, 0, -1, 0},     {FROM_NOWHERE, 3, ROW, 0, 3, 0},
    {FROM_NOWHERE, 3, ROWS, 0, -1, 0},       {FROM_NOWHERE, 3, ROWS, 0, 7, 0},
    {FROM_NOWHERE, 3, ROW, -16, 3, 0},       {FROM_NOWHERE, 3, ROW, 16, 3, 0},
    {FROM_NOWHERE, 3, SLICES, 0, 3, 0},      {FROM_NOWHERE, 3, ROW, 0, -1, 0},
    {FROM_NOWHERE, 3, ROW, 0, 8, 0},         {FROM_NOWHERE, 3, ROW, 32, 3, 0},
    {FROM_NOWHERE, 3, ROW, 0, 3, 1},         {FROM_NOWHERE, 3, ROW, 0, 3, -1},
    {FROM_NOWHERE, 2, ROW, 32, 0, 0},        {FROM_NOWHERE, 4, ROW, 0, -1, 0},
    {FROM_NOWHERE, 4, ROWS, 0, 7, 0},        {FROM_NOWHERE, 5, ROW, 0, -1, 0},
    {FROM_NOWHERE, 3, ROWS, 0, -1, 0, true}, {FROM_NOWHERE, 3, ROWS, 0, 7, 0, true},
    {FROM_NOWHERE, 3, ROW, 0, -1, 0, true},  {FROM_NOWHERE, 3, ROW, 0, 8, 0, true},
};

#define LOAD(rank, coordinates, ...)                                                                                   \
    asm volatile("cp.async.bulk.tensor." rank ".shared::cluster.global.tile.mbarrier::complete_tx::bytes"              \
                 " [%0], [%1, " coordinates "], [%2];" ::"r"(at(words)),                                               \
                 "l"(map), "r"(bar), __VA_ARGS__                                                                       \
                 : "memory")

// Whether a word of the box lies in the map.
WORD u32 inside(const box &b, int lane, int part)
{
    const int row = b.row + (b.shape == ROWS ? part : 0), slice = b.slice + (b.shape == SLICES ? part : 0);
    return slice == 0 && b.column + lane >= 0 && b.column + lane < 32 && row >= 0 && row < 8;
}

extern "C" __global__ void __launch_bounds__(32) probe(const ask q, const __grid_constant__ maps m)
{
    __shared__ u64 barrier;
    __shared__ __align__(128) u32 words[64];
    const u32 bar = at(&barrier), lane = threadIdx.x;
    const box b = boxes[q.which];
    const void *map = &m.map[b.map][b.rank - 2][b.shape];
    const int last = b.map == IN_MEMORY ? 1 : 256, slice = b.slice < 0 ? -1 : last + b.slice;
    const int parts = b.shape == ROW ? 1 : 2;
    u32 *const far = (u32 *)(q.memory + PLACE);
    for (u32 round = 0; round < q.rounds; round++) {
        for (int i = (int)lane - 256; i < 2048; i += 32)
            far[i] = 1;
        words[lane] = words[32 + lane] = 7;
        if (!lane)
            bar_init(bar, 1);
        proxy_fence();
        __syncwarp();
        if (!lane && b.store) {
            asm volatile(
                "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map),
                "r"(b.column), "r"(b.row), "r"(slice), "r"(at(words))
                : "memory");
            bulk_commit();
            bulk_wait();
        } else if (!lane) {
            bar_arrive_expect(bar, parts * 128);
            if (b.rank == 2)
                LOAD("2d", "{%3, %4}", "r"(b.column), "r"(slice));
            else if (b.rank == 3)
                LOAD("3d", "{%3, %4, %5}", "r"(b.column), "r"(b.row), "r"(slice));
            else if (b.rank == 4)
                LOAD("4d", "{%3, %4, %5, %6}", "r"(b.column), "r"(b.row), "r"(0), "r"(slice));
            else
                LOAD("5d", "{%3, %4, %5, %6, %7}", "r"(b.column), "r"(b.row), "r"(0), "r"(0), "r"(slice));
        }
        __syncwarp();
        const bool came = b.store || bar_comes(q, bar, 0);
        bool right = true;
        for (int i = 0; i < parts && !b.store; i++)
            right &= words[32 * i + lane] == inside(b, lane, i);
        // Of a store: the rows of the map that the box holds, and no other.
        for (int row = -8; row < 16 && b.store; row++) {
            const int part = row - b.row;
            const bool held = part >= 0 && part < parts && inside(b, lane, part);
            right &= ((volatile u32 *)far)[32 * row + (int)lane] == (held ? 7 : 1);
        }
        right = __all_sync(0xffffffff, right);
        if (!lane) {
            outcome(q, !came ? 2 : right ? 0 : 1);
            if (came)
                bar_end(bar);
        }
        if (!__all_sync(0xffffffff, came))
            break;
    }
}
