// What does a tensor load bring whose box lies outside of its map, wholly or in part, and does it matter what the map's
// base address is? Maps "from nowhere" begin at an address in no allocation, and the last coordinate leads to memory.
// Cases: boxes of a row of 32 words in slices of 8 rows (rank 2: slices of a row).
// Outcomes: zeros for what is outside, what lies there for the rest; anything else; the bytes do not come.
enum { PLACE = 16384 }; // as in probes.c
struct maps {
    struct {
        __align__(64) unsigned char bytes[128];
    } map[2][4][2]; // by where it begins (1: in memory), rank - 2, rows of the box - 1
};
struct box {
    int in_memory, rank, rows, column, row,
        slice; // slice 0: the one that lies in memory; 1: behind the last; -1: before the first
};
static __constant__ box boxes[] = {
    {1, 3, 1, 0, -1, 0}, {1, 3, 1, 0, 8, 0},  {0, 3, 1, 0, 3, 0},  {0, 3, 2, 0, -1, 0},
    {0, 3, 1, 0, -1, 0}, {0, 3, 1, 0, 8, 0},  {0, 3, 1, 32, 3, 0}, {0, 3, 1, 0, 3, 1},
    {0, 3, 1, 0, 3, -1}, {0, 2, 1, 32, 0, 0}, {0, 4, 1, 0, -1, 0}, {0, 5, 1, 0, -1, 0},
};

#define LOAD(rank, coordinates, ...)                                                                                   \
    asm volatile("cp.async.bulk.tensor." rank ".shared::cluster.global.tile.mbarrier::complete_tx::bytes"              \
                 " [%0], [%1, " coordinates "], [%2];" ::"r"(at(words)),                                               \
                 "l"(map), "r"(bar), __VA_ARGS__                                                                       \
                 : "memory")

extern "C" __global__ void __launch_bounds__(32) probe(const ask q, const __grid_constant__ maps m)
{
    __shared__ u64 barrier;
    __shared__ __align__(128) u32 words[64];
    const u32 bar = at(&barrier), lane = threadIdx.x;
    const box b = boxes[q.which];
    const void *map = &m.map[b.in_memory][b.rank - 2][b.rows - 1];
    const int last = b.in_memory ? 1 : 256, slice = b.slice < 0 ? -1 : last + b.slice;
    const bool beside = b.column || b.slice;
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
            right &= words[32 * i + lane] == (beside || b.row + i < 0 || b.row + i > 7 ? 0 : 1);
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
