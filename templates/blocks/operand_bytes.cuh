//@ -- Results that become the first operand of a product of fp8. A thread holds the pairs of columns 2 t of each 8,
//@ -- where t is its place among the four lanes of a row; of an operand it holds four neighbours of each 16.
//@ --
//@ --     columns of 16   0 1  2 3  4 5  6 7  8 9  ...        lane t of the row has
//@ --     results         t=0  t=1  t=2  t=3  t=0  ...        2 t and 8 + 2 t, as the low and the high half of a word
//@ --     operand         t=0 ....  t=1 ....  t=2  ...        4 t to 4 t + 3, from lanes 2 t % 4 and 2 t % 4 + 1
//@ --
//@ -- Of both it takes low halves where t < 2, else high ones. Two shuffles do for two words: even lanes give what the
//@ -- lower two ask for while odd ones give what the upper two do, then the other way round.
//@ -- `state`: what a thread has in hand for that from its first item to its last; else functions. `kept`: it has
//@ -- registers for it all the time. Else compilers may find it again: more registers leave room for fewer blocks.
//@ param model table
//@ param state bool
//@ param kept bool
//@ local dtypes, any = {}, false -- fp8 that operands are computed in
//@ for _, role in ipairs(model.role) do
//@     for _, step in ipairs(role.step) do
//@         local to = step.op == "touch" and has(step, "place") and model.place[step.place]
//@         if to and to.kind == "operand" and to.dtype:sub(1, 3) == "fp8" then dtypes[to.dtype], any = true, true end
//@     end
//@ end
//@ if any and state then
const pair_exchange exchange = exchange_begin();
//@ elseif any then

// What a lane asks of the four of its row, and gives them.
struct pair_exchange {
    u32 first, second;             // lanes
    u32 gives_first, gives_second; // halves of two words, as __byte_perm chooses bytes
    u32 low, high;                 // of what came first and second
};

__device__ __forceinline__ pair_exchange exchange_begin()
{
    const u32 lane = threadIdx.x % 4, upper = lane / 2, odd = lane % 2, from = lane * 2 % 4;
    pair_exchange x = {from + upper,
                       from + 1 - upper,
                       odd ? 0x7632u : 0x5410u,
                       odd ? 0x5410u : 0x7632u,
                       upper ? 0x1054u : 0x5410u,
                       upper ? 0x3276u : 0x7632u};
//@ if kept then
    // As the compiler knows nothing of them, it finds them once, and not in each turn.
    asm volatile("" : "+r"(x.first), "+r"(x.second), "+r"(x.gives_first), "+r"(x.gives_second));
    asm volatile("" : "+r"(x.low), "+r"(x.high));
//@ end
    return x;
}

// Of 32 columns' two words, each of two pairs of results: the words that the operand has.
__device__ __forceinline__ void exchange_pairs(const pair_exchange &x, u32 &low, u32 &high)
{
    const u32 one = __shfl_sync(~0u, __byte_perm(low, high, x.gives_first), x.first, 4);
    const u32 other = __shfl_sync(~0u, __byte_perm(low, high, x.gives_second), x.second, 4);
    low = __byte_perm(one, other, x.low);
    high = __byte_perm(one, other, x.high);
}
//@ for _, f in ipairs { { "fp8_e4m3", "e4m3x2" }, { "fp8_e5m2", "e5m2x2" } } do
//@     local name, format = f[1], f[2]
//@     if has(dtypes, name) then

// Results of two neighbours, pair 0 to 3 of the 32 columns of two words, which are the operand's behind the last.
__device__ __forceinline__ void put_${name}(const pair_exchange &x, u32 &low, u32 &high, int pair, float first,
                                           float second)
{
    u16 bytes;
    asm("cvt.rn.satfinite.${format}.f32 %0, %1, %2;" : "=h"(bytes) : "f"(second), "f"(first));
    u32 &word = pair < 2 ? low : high;
    word = pair % 2 ? word | (u32)bytes << 16 : bytes;
    if (pair == 3)
        exchange_pairs(x, low, high);
}
//@     end
//@ end
//@ end
