//@ -- Profile builds: what stamps the clock behind the steps of the roles, in the grid's first block and its middle
//@ -- one. One thread of each instance of a role stamps. gen/verify/profile.c reads what is written here.
//@ -- room: stamps of an instance, the six at its beginning among them.
//@ param roles table
//@ param room int
//@ local executors = 0
//@ for _, role in ipairs(roles) do executors = executors + role.instances end
//@ local regions = 2 * executors
//@ local apart = 16 * regions
//@ local limit = apart * room
// Stamp i of instance r is at i * ${regions} + r: the clock, and the number of the step that has just been made. The
// first six have a number in the clock's place, of the instance: nanoseconds and clock at its beginning, then at its
// end; multiprocessor + 1, and above it the number of stamps; blocks of the grid, and above it which this is.
struct alignas(16) profile_stamp {
    u64 clock, step;
};
extern "C" {
__device__ profile_stamp tilewright_profile[${regions} * ${room}];
}

// All 64 bits: of 32 the compiler makes a slower read.
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
struct profile_stamps {
    u32 to;   // where it goes, in bytes: past the end for those that stamp nothing, and once there is no room
    u64 step; // 0: none in hand
    u64 clock;
};

// began: the clock when the kernel began. Before the first stamp none is in hand, which goes where profile_end writes.
__device__ __forceinline__ profile_stamps profile_begin(u64 began, u32 executor, bool one)
{
    const u32 blocks = gridDim.x * gridDim.y * gridDim.z;
    const u32 block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    if (!one || (block != 0 && block != blocks / 2))
        return {~0u, 0, 0};
    const u32 region = (block == 0 ? 0 : ${executors}) + executor;
    tilewright_profile[region].clock = profile_time();
    tilewright_profile[${regions} + region].clock = began;
    return {${apart} * 5 + 16 * region, 0, 0};
}

// The step is made. Without a branch: threads that stamp nothing come by, too.
__device__ __forceinline__ void profile_mark(profile_stamps &s, u64 step)
{
    asm volatile("{\n"
                 ".reg .pred room;\n"
                 ".reg .b64 to;\n"
                 "setp.lt.u32 room, %0, ${limit};\n"
                 "cvt.u64.u32 to, %0;\n"
                 "add.s64 to, to, %4;\n"
                 "@room st.global.v2.b64 [to], {%2, %1};\n"
                 "@room add.u32 %0, %0, ${apart};\n"
                 "mov.b64 %1, %3;\n"
                 "mov.u64 %2, %%clock64;\n"
                 "}"
                 : "+r"(s.to), "+l"(s.step), "+l"(s.clock)
                 : "l"(step), "l"(__cvta_generic_to_global(tilewright_profile)));
}

__device__ __forceinline__ void profile_end(profile_stamps s)
{
    profile_mark(s, 0); // the last one is written
    if (s.to == ~0u)
        return;
    const u32 blocks = gridDim.x * gridDim.y * gridDim.z;
    const u32 block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const u32 region = s.to / 16 % ${regions};
    tilewright_profile[${regions} * 2 + region].clock = profile_time();
    tilewright_profile[${regions} * 3 + region].clock = profile_clock();
    tilewright_profile[${regions} * 4 + region].clock = (u64)(s.to / ${apart} - 6) << 32 | profile_place();
    tilewright_profile[${regions} * 5 + region].clock = (u64)block << 32 | blocks;
}
