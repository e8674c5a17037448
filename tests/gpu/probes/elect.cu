// Which lane does elect.sync choose? Cases: of the whole warp; of any part of it.
// Outcomes: the lowest; the highest; another.
extern "C" __global__ void __launch_bounds__(32) probe(const ask q)
{
    const u32 lane = threadIdx.x;
    for (u32 round = 0; round < q.rounds; round++) {
        u32 mask = dice(round, 0xffffffff) & dice(round + 12345, 0xffffffff);
        mask = q.which == 0 ? 0xffffffff : mask ? mask : 0x10;
        if (mask >> lane & 1) {
            u32 leader, chosen;
            asm volatile("{\n\t.reg .pred p;\n\telect.sync %0|p, %2;\n\tselp.u32 %1, 1, 0, p;\n\t}"
                         : "=r"(leader), "=r"(chosen)
                         : "r"(mask)
                         : "memory");
            if (chosen)
                outcome(q, leader != lane ? 2 : lane == __ffs(mask) - 1 ? 0 : lane == 31 - __clz(mask) ? 1 : 2);
        }
        __syncwarp();
    }
}
