//@ -- Results that become the first operand of a product of fp8. A thread holds the pairs of columns 2 t of each 8,
//@ -- where t is its place among the four lanes of a row; of an operand it holds four neighbours of each 16.
//@ --
//@ --     columns of 16   0 1  2 3  4 5  6 7  8 9  ...        lane t of the row has
//@ --     results         t=0  t=1  t=2  t=3  t=0  ...        2 t and 8 + 2 t, as the low and the high half of a word
//@ --     operand         t=0 ....  t=1 ....  t=2  ...        4 t to 4 t + 3, from lanes 2 t % 4 and 2 t % 4 + 1
//@ --
//@ -- Of both it takes low halves where t < 2, else high ones. Two shuffles do for two words: even lanes give what the
//@ -- lower two ask for while odd ones give what the upper two do, then the other way round.
//@ param model table
//@ local dtypes, any = {}, false -- fp8 that operands are computed in
//@ for _, role in ipairs(model.role) do
//@     for _, step in ipairs(role.step) do
//@         local to = step.op == "touch" and has(step, "place") and model.place[step.place]
//@         if to and to.kind == "operand" and to.dtype:sub(1, 3) == "fp8" then dtypes[to.dtype], any = true, true end
//@     end
//@ end
//@ if any then

// Of 32 columns' two words, each of two pairs of results: the words that the operand has.
__device__ __forceinline__ void exchange_pairs(u32 &low, u32 &high)
{
    const u32 lane = threadIdx.x % 4, upper = lane / 2, odd = lane % 2, from = lane * 2 % 4;
    const u32 firsts = __byte_perm(low, high, 0x5410), seconds = __byte_perm(low, high, 0x7632);
    const u32 one = __shfl_sync(~0u, odd ? seconds : firsts, from + upper, 4);
    const u32 other = __shfl_sync(~0u, odd ? firsts : seconds, from + 1 - upper, 4);
    low = __byte_perm(one, other, upper ? 0x1054 : 0x5410);
    high = __byte_perm(one, other, upper ? 0x3276 : 0x7632);
}
//@ for _, f in ipairs { { "fp8_e4m3", "e4m3x2" }, { "fp8_e5m2", "e5m2x2" } } do
//@     local name, format = f[1], f[2]
//@     if has(dtypes, name) then

// Results of two neighbours, pair 0 to 3 of the 32 columns of two words, which are the operand's behind the last.
__device__ __forceinline__ void put_${name}(u32 &low, u32 &high, int pair, float first, float second)
{
    u16 bytes;
    asm("cvt.rn.satfinite.${format}.f32 %0, %1, %2;" : "=h"(bytes) : "f"(second), "f"(first));
    u32 &word = pair < 2 ? low : high;
    word = pair % 2 ? word | (u32)bytes << 16 : bytes;
    if (pair == 3)
        exchange_pairs(low, high);
}
//@     end
//@ end
//@ end
