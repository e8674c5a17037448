//@ -- Profile builds: what stamps the clock behind the steps of the roles, in the grid's first block and its middle
//@ -- one. One thread of each instance of a role stamps. gen/verify/profile.c reads what is written here.
//@ -- room: stamps of an instance, the six at its beginning among them.
//@ param roles table
//@ param room int
//@ local executors = 0
//@ for _, role in ipairs(roles) do executors = executors + role.instances end
//@ local regions = 2 * executors
//@ local apart = 8 * regions
//@ local limit = apart * room
// Stamp i of instance r is at i * ${regions} + r: the clock, and in its low 12 bits the number of the step that has
// just been made. The first six are of the instance: nanoseconds and clock at its beginning, then at its end;
// multiprocessor + 1, and above it the number of stamps; blocks of the grid, and above it which this is.
extern "C" {
__device__ u64 tilewright_profile[${regions} * ${room}];
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

// Where the thread's next stamp goes, in bytes: past the end for those that stamp nothing, and once there is no room.
// began: the clock when the kernel began.
__device__ __forceinline__ u32 profile_begin(u64 began, u32 executor, bool one)
{
    const u32 blocks = gridDim.x * gridDim.y * gridDim.z;
    const u32 block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    if (!one || (block != 0 && block != blocks / 2))
        return ~0u;
    const u32 region = (block == 0 ? 0 : ${executors}) + executor;
    tilewright_profile[region] = profile_time();
    tilewright_profile[${regions} + region] = began;
    tilewright_profile[${regions} * 4 + region] = profile_place();
    tilewright_profile[${regions} * 5 + region] = (u64)block << 32 | blocks;
    return ${apart} * 6 + 8 * region;
}

// The step is made. Without a branch: threads that stamp nothing come by, too.
__device__ __forceinline__ void profile_mark(u32 &stamps, u64 step)
{
    asm volatile("{\n"
                 ".reg .pred room;\n"
                 ".reg .b64 to, stamp;\n"
                 "mov.u64 stamp, %%clock64;\n"
                 "setp.lt.u32 room, %0, ${limit};\n"
                 "shl.b64 stamp, stamp, 12;\n"
                 "or.b64 stamp, stamp, %1;\n"
                 "cvt.u64.u32 to, %0;\n"
                 "add.s64 to, to, %2;\n"
                 "@room st.global.b64 [to], stamp;\n"
                 "@room add.u32 %0, %0, ${apart};\n"
                 "}"
                 : "+r"(stamps)
                 : "l"(step), "l"(__cvta_generic_to_global(tilewright_profile)));
}

__device__ __forceinline__ void profile_end(u32 stamps)
{
    if (stamps == ~0u)
        return;
    const u32 region = stamps / 8 % ${regions};
    tilewright_profile[${regions} * 2 + region] = profile_time();
    tilewright_profile[${regions} * 3 + region] = profile_clock();
    tilewright_profile[${regions} * 4 + region] = (u64)(stamps / ${apart} - 6) << 32 | profile_place();
}
