// What does a tensor load bring whose box lies outside of its map, wholly or in part, and does it matter what the map's
// base address is? A map "from nowhere" begins at an address in no allocation, and its last slice lies in memory; of
// one "to nowhere" it is the other way round. Cases: boxes of one or two rows of 32 words in slices of 8 rows (rank 2:
// slices of a row). Outcomes: zeros for what is outside, what lies there for the rest; anything else; the bytes do not
// come.
enum { PLACE = 16384 }; // as in probes.c
struct maps {
    struct {
        __align__(64) unsigned char bytes[128];
    } map[3][4][2]; // by where it begins and where its last slice lies, rank - 2, rows of the box - 1
};
enum { FROM_NOWHERE, IN_MEMORY, TO_NOWHERE };
struct box {
    int map, rank, rows, column, row, slice; // slice 0: the last; 1: one behind it; -1: one before the first
};
static __constant__ box boxes[] = {
    {IN_MEMORY, 3, 1, 0, -1, 0},    {IN_MEMORY, 3, 1, 0, 8, 0},      {TO_NOWHERE, 3, 1, 0, -1, 0},
    {TO_NOWHERE, 3, 1, 0, 8, 0},    {FROM_NOWHERE, 3, 1, 0, 3, 0},   {FROM_NOWHERE, 3, 2, 0, -1, 0},
    {FROM_NOWHERE, 3, 2, 0, 7, 0},  {FROM_NOWHERE, 3, 1, -16, 3, 0}, {FROM_NOWHERE, 3, 1, 16, 3, 0},
    {FROM_NOWHERE, 3, 1, 0, -1, 0}, {FROM_NOWHERE, 3, 1, 0, 8, 0},   {FROM_NOWHERE, 3, 1, 32, 3, 0},
    {FROM_NOWHERE, 3, 1, 0, 3, 1},  {FROM_NOWHERE, 3, 1, 0, 3, -1},  {FROM_NOWHERE, 2, 1, 32, 0, 0},
    {FROM_NOWHERE, 4, 1, 0, -1, 0}, {FROM_NOWHERE, 5, 1, 0, -1, 0},
};

#define LOAD(rank, coordinates, ...)                                                                                   \
    asm volatile("cp.async.bulk.tensor." rank ".shared::cluster.global.tile.mbarrier::complete_tx::bytes"              \
                 " [%0], [%1, " coordinates "], [%2];" ::"r"(at(words)),                                               \
                 "l"(map), "r"(bar), __VA_ARGS__                                                                       \
                 : "memory")

// Whether a word of the box lies in the map.
WORD u32 inside(const box &b, int lane, int row)
{
    return b.slice == 0 && b.column + lane >= 0 && b.column + lane < 32 && b.row + row >= 0 && b.row + row < 8;
}

extern "C" __global__ void __launch_bounds__(32) probe(const ask q, const __grid_constant__ maps m)
{
    __shared__ u64 barrier;
    __shared__ __align__(128) u32 words[64];
    const u32 bar = at(&barrier), lane = threadIdx.x;
    const box b = boxes[q.which];
    const void *map = &m.map[b.map][b.rank - 2][b.rows - 1];
    const int last = b.map == IN_MEMORY ? 1 : 256, slice = b.slice < 0 ? -1 : last + b.slice;
    for (u32 i = lane; i < 2048; i += 32)
        ((u32 *)(q.memory + PLACE))[i] = 1;
    for (u32 round = 0; round < q.rounds; round++) {
        words[lane] = words[32 + lane] = 7;
        if (!lane)
            bar_init(bar, 1);
        proxy_fence();
        __syncwarp();
        if (!lane) {
            bar_arrive_expect(bar, b.rows * 128);
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
        const bool came = bar_comes(q, bar, 0);
        bool right = true;
        for (int i = 0; i < b.rows; i++)
            right &= words[32 * i + lane] == inside(b, lane, i);
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
