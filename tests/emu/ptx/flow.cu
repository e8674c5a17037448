// Divergent and nested loops, a switch through brx.idx, labels repeated in scopes, predicates.
extern "C" __global__ void flow(int *out, int n)
{
    int t = threadIdx.x, sum = 0;
    for (int i = 0; i < (t & 7); i++) {
        if (i == n)
            continue;
        for (int j = i; j < 20; j += 3) {
            if ((j ^ t) == 9)
                break;
            sum += j * i;
        }
    }
    while (sum > 1000)
        sum = sum & 1 ? sum * 3 + 1 : sum / 2;
    switch (out[t]) {
    case 0: sum += out[1] * 3; break;
    case 1: sum = out[2] / 5; break;
    case 2: out[3] = sum; break;
    case 3: out[4] ^= sum; return;
    case 4: sum -= out[9] % 3;
    case 5: sum++; break;
    case 6: __nanosleep(20); break;
    default: sum = -sum;
    }
    asm volatile("{ .reg .pred p; .reg .b32 n; mov.b32 n, 4;\n L: sub.s32 n, n, 1; setp.gt.s32 p, n, 0; @p bra L;\n"
                 "  { .reg .b32 n; mov.b32 n, 2;\n L: sub.s32 n, n, 1; setp.ne.s32 p, n, 0; @p bra L; @!p bra DONE; }\n"
                 " DONE: }" :::"memory");
    asm volatile("{ .reg .pred p; .reg .b32 n; mov.b32 n, 4;\n L: sub.s32 n, n, 1; setp.gt.s32 p, n, 0; @p bra L; }");
    asm volatile("{ .reg .b32 i; ts: .branchtargets A, B, C; and.b32 i, %1, 1; brx.idx i, ts;\n A: add.s32 %0, %0, 1; bra C;"
                 "\n B: add.s32 %0, %0, 2;\n C: }" : "+r"(sum) : "r"(t));
    out[t] = sum;
}
