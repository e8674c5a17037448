//@ -- Profile builds: what stamps the clock behind the steps of the roles, in the grid's first block and its middle
//@ -- one. One thread of each instance of a role stamps. gen/verify/profile.c reads what is written here.
//@ -- room: words of an instance, those that are no stamps among them.
//@ param roles table
//@ param room int
//@ local executors = 0
//@ for _, role in ipairs(roles) do executors = executors + role.instances end
//@ local regions, last = 2 * executors, executors - 1
// Each instance has ${room} words: its stamps, each the clock and, added at bit 52, the number of the step that has
// just been made, 0 where a step was left out; and seven numbers: clock at its beginning and its end, bytes of room
// left (below 0: there was not enough), nanoseconds at beginning and end, multiprocessor + 1, blocks of the grid and
// above it which this is. The last four are the last instance's alone: others go on at once.
extern "C" {
__device__ u64 tilewright_profile[${regions} * ${room}];
}

// All 64 bits are made use of: of 32 the compiler makes a slower read.
__device__ __forceinline__ u64 profile_clock()
{
    u64 now;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now));
    return now;
}

__device__ __forceinline__ u64 profile_time()
{
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

__device__ __forceinline__ u64 profile_place()
{
    u32 multiprocessor;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
    return multiprocessor + 1;
}

// The stamp that was taken last, which is written when the next one is taken: who reads the clock need not wait for it.
// Addresses have one upper half, so that a stamp adds and compares 32 bits. Steps that are made one behind the other
// have a frame of words, in which each has its place: the first one alone asks for room and goes on by all of them.
struct profile_stamps {
    u64 to;    // behind the frame that was begun last
    u64 stamp; // 0 before the first one
    u32 limit; // lower half of the address behind the stamps; 0: this thread stamps nothing
    bool room; // for the frame
};

__device__ __forceinline__ void profile_put(const profile_stamps &s, u32 number, u64 value)
{
    asm volatile("{\n"
                 ".reg .b64 at;\n"
                 "mov.b64 at, {%0, %1};\n"
                 "st.global.b64 [at], %2;\n"
                 "}"
                 :
                 : "r"(s.limit + number * 8), "r"((u32)(s.to >> 32)), "l"(value)
                 : "memory");
}

// began: the clock when the kernel began. Grids of Plans have one dimension.
__device__ __forceinline__ profile_stamps profile_begin(u64 began, u32 executor, bool one)
{
    const u32 blocks = gridDim.x, block = blockIdx.x;
    if (!one || (block != 0 && block != blocks / 2))
        return {0, 0, 0, false};
    const u32 region = (block == 0 ? 0 : ${executors}) + executor;
    const u64 at = __cvta_generic_to_global(tilewright_profile + region * ${room});
    // A clock's highest bit is 0, which the compiler does not know: of an address that it can tell to be one for all
    // lanes it makes a uniform register, and copies it for each stamp.
    const profile_stamps s = {at + (began >> 63), 0, (u32)at + (${room} - 7) * 8, false};
    profile_put(s, 0, began);
    if (executor == ${last}) {
        profile_put(s, 3, profile_time());
        profile_put(s, 5, profile_place());
        profile_put(s, 6, (u64)block << 32 | blocks);
    }
    return s;
}

// The step is made, whose place is SLOT of a frame of SLOTS. Without a branch: threads that stamp nothing come by, too.
template <u32 STEP, int SLOT = 0, int SLOTS = 1> __device__ __forceinline__ void profile_mark(profile_stamps &s)
{
    if (SLOT == 0) {
        asm("{\n"
            ".reg .b32 low, high;\n"
            "mov.b64 {low, high}, %0;\n"
            "add.u32 low, low, %1;\n"
            "mov.b64 %0, {low, high};\n"
            "}"
            : "+l"(s.to)
            : "n"(SLOTS * 8));
        s.room = (u32)s.to <= s.limit;
    }
    asm volatile("{\n"
                 ".reg .pred room;\n"
                 ".reg .b32 low, high;\n"
                 "setp.ne.u32 room, %2, 0;\n"
                 "@room st.global.b64 [%1+%3], %0;\n"
                 "mov.u64 %0, %%clock64;\n"
                 "mov.b64 {low, high}, %0;\n"
                 "add.u32 high, high, %4;\n"
                 "mov.b64 %0, {low, high};\n"
                 "}"
                 : "+l"(s.stamp)
                 : "l"(s.to), "r"((u32)s.room), "n"(8 * (SLOT - SLOTS)), "n"(STEP << 20));
}

__device__ __forceinline__ void profile_end(profile_stamps s, u32 executor)
{
    profile_mark<0>(s); // the last one is written
    if (s.limit == 0)
        return;
    profile_put(s, 1, profile_clock());
    profile_put(s, 2, (u64)(i64)(int)(s.limit - (u32)s.to));
    if (executor == ${last})
        profile_put(s, 4, profile_time());
}
