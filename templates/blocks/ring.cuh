//@ -- A ring of stages that bulk copies fill, or threads: a full and an empty mbarrier a stage.
//@ -- cluster_m, cluster_n: the block at (rm, rn) of the cluster, rank rm + cluster_m * rn, shares its operands with
//@ -- the blocks of its row and of its column: they fill this block's stages and this block fills theirs. 0: they are
//@ -- others, and `release` is that of ring_shared.cuh.
//@ param ring table
//@ param roles table
//@ param full_offset int
//@ param empty_offset int
//@ param cluster_m int
//@ param cluster_n int
//@ local blocks = cluster_m * cluster_n
//@ local written = ring.filler == "arrive"
//@ local line, member, count, several = "", "", "", false -- several: groups of such blocks, one behind the other
//@ local stages = ring.stages == 1 and "1 stage" or ring.stages .. " stages"
//@ local function site(kind)
//@     return debug_ms() > 0 and ", \"" .. ring.name .. "\", " .. kind .. ", p.stage, p.step, line" or ""
//@ end
//@ local at_full, at_empty, at_end = site(1), site(2), site(3) -- kind of debug_record
//@ if debug_ms() > 0 then
//@     line, member, count = ", int line = __builtin_LINE()", "\nu32 step;  // stages gone past", "\n    ++p.step;"
//@ end
//@ -- Where wgmma reads, its wait is every thread's; where threads read, a warp's first lane waits for the others.
//@ -- fenced: by a step of their own, which stands in front of the release.
//@ local full_phase, empty_phase, expected, threads_read, fenced, asked = 0, 1, ring.tx_bytes, true, false, false
//@ local reused = 0 -- bytes of a stage that do not come where the item before left its tile
//@ for _, role in ipairs(roles) do
//@     local steps = role.step
//@     for i = 1, #steps do
//@         local op, step = steps[i].op, steps[i]
//@         if op == "wait_full" then full_phase = step.ring == ring.name and step.phase or full_phase
//@         elseif op == "wait_empty" then empty_phase = step.ring == ring.name and step.phase or empty_phase
//@         elseif op == "expect" then
//@             expected = step.ring == ring.name and step.count or expected
//@             reused = step.ring == ring.name and has(step, "reuse") and step.reuse or reused
//@         elseif op == "read" and step.count > 0 then threads_read = false
//@         elseif op == "fill" and has(step, "place") then several = true
//@         elseif op == "ask" then asked = asked or step.ring == ring.name
//@         elseif op == "fence_async" then fenced = fenced or step.call == ring.name .. "_read" end
//@     end
//@ end
//@ fenced = fenced and threads_read -- else it is a tensor's, which may have the ring's name: operand_load.cuh

//@ if written then
// Ring ${ring.name}: ${stages} that threads write.
//@ else
// Ring ${ring.name}: ${stages} of ${ring.tx_bytes} bytes.
//@ end
struct ${ring.name}_position {
    u32 stage; // below ${ring.stages}
    u32 phase; // flips when the ring wraps${member}
};

//@ op advance ring = ring.name
__device__ __forceinline__ void ${ring.name}_advance(${ring.name}_position &p)
{${count}
    if (++p.stage == ${ring.stages}) {
        p.stage = 0;
        p.phase ^= 1;
    }
}

__device__ __forceinline__ u32 ${ring.name}_full(u32 stage)
{
    return shared_address(${full_offset} + 8 * stage);
}

__device__ __forceinline__ u32 ${ring.name}_empty(u32 stage)
{
    return shared_address(${empty_offset} + 8 * stage);
}

// By one thread, before anybody waits.
__device__ __forceinline__ void ${ring.name}_init()
{
    for (u32 stage = 0; stage < ${ring.stages}; ++stage) {
        barrier_init(${ring.name}_full(stage), ${ring.full_arrivals});
        barrier_init(${ring.name}_empty(stage), ${ring.empty_arrivals});
    }
}

// Filler: the stage may be written.
//@ op wait_empty ring = ring.name, phase = empty_phase, by = "one"
__device__ __forceinline__ void ${ring.name}_wait_empty(${ring.name}_position p${line})
{
    barrier_wait(${ring.name}_empty(p.stage), p.phase ^ ${empty_phase}${at_empty});
}

//@ if written and #ring.tensor > 0 then
// Filler, every thread: its copies are there, and what reads the stage next sees them.
__device__ __forceinline__ void ${ring.name}_fence()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Filler, every warp: it has written its part of the stage.
__device__ __forceinline__ void ${ring.name}_arrive(${ring.name}_position p)
{
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        barrier_arrive(${ring.name}_full(p.stage));
}
//@ elseif written then
// Filler: the stage is written.
//@ op part
__device__ __forceinline__ void ${ring.name}_arrive(${ring.name}_position p)
{
    barrier_arrive(${ring.name}_full(p.stage));
}
//@ elseif reused > 0 then
//@     local rest = expected - reused
// Filler: announces the bytes of the whole stage; left: but for the tiles that are there still, of the item before.
//@ op expect ring = ring.name, count = expected, by = "one"
__device__ __forceinline__ void ${ring.name}_expect(${ring.name}_position p, bool left)
{
    barrier_arrive_expect(${ring.name}_full(p.stage), left ? ${rest} : ${expected});
}
//@ else
// Filler: announces the bytes of the whole stage.
//@ op expect ring = ring.name, count = expected, by = "one"
__device__ __forceinline__ void ${ring.name}_expect(${ring.name}_position p)
{
    barrier_arrive_expect(${ring.name}_full(p.stage), ${expected});
}
//@ end

//@ if asked then
// Drainer: whether the stage has arrived already.
//@ op ask ring = ring.name, phase = full_phase
__device__ __forceinline__ void ${ring.name}_ask(${ring.name}_position p, u32 &came)
{
    came = barrier_is_over(${ring.name}_full(p.stage), p.phase ^ ${full_phase});
}

// Drainer: the stage has arrived. came: who asked knows that it has.
//@ op wait_full ring = ring.name, phase = full_phase
__device__ __forceinline__ void ${ring.name}_wait_full(${ring.name}_position p, u32 &came${line})
{
    if (!came)
        barrier_wait(${ring.name}_full(p.stage), p.phase ^ ${full_phase}${at_full});
    came = 0; // of the next stage nothing is known
}

//@ else
// Drainer: the stage has arrived.
//@ op wait_full ring = ring.name, phase = full_phase
__device__ __forceinline__ void ${ring.name}_wait_full(${ring.name}_position p${line})
{
    barrier_wait(${ring.name}_full(p.stage), p.phase ^ ${full_phase}${at_full});
}

//@ end
//@ if fenced then
// Drainer, every thread: what it has read of the stage is read before the next bulk copy writes there, which would else
// overtake the reads: an arrival alone does not hold it back (seen on an H200).
//@ op fence_async ring = ring.name
__device__ __forceinline__ void ${ring.name}_read()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
}

//@ end
//@ if fenced then
// Drainer, every warp: nobody in it reads the stage any more, the one that was taken last.
//@ op release ring = ring.name
__device__ __forceinline__ void ${ring.name}_release(u32 stage)
{
    if (threadIdx.x % 32 == 0)
        barrier_arrive(${ring.name}_empty(stage));
}
//@ elseif blocks > 1 then
// Drainer, every warp: nobody here reads the stage any more. Tells every block that fills it, and advances.
//@ op release ring = ring.name
__device__ __forceinline__ void ${ring.name}_release(${ring.name}_position &p)
{
    const u32 lane = threadIdx.x % 32;
//@ local first = ""
//@ if several then
//@     first = "own / " .. blocks .. " * " .. blocks .. " + "
    u32 own;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(own));
//@ end
//@ if cluster_n == 1 or cluster_m == 1 then
    if (lane < ${blocks})
//@ elseif several then
    const u32 among = own % ${blocks};
    if (lane < ${blocks} && (lane % ${cluster_m} == among % ${cluster_m} || lane / ${cluster_m} == among / ${cluster_m}))
//@ else
    u32 own;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(own));
    if (lane < ${blocks} && (lane % ${cluster_m} == own % ${cluster_m} || lane / ${cluster_m} == own / ${cluster_m}))
//@ end
        barrier_arrive_remote(${ring.name}_empty(p.stage), ${first}lane);
    ${ring.name}_advance(p);
}

//@ end
//@ if blocks ~= 1 then
// Filler, at its end: waits until every stage is released, so that no other block arrives here after this one's exit.
//@ op drain ring = ring.name, by = "one"
__device__ __forceinline__ void ${ring.name}_drain(${ring.name}_position p${line})
{
    for (u32 i = 0; i < ${ring.stages}; ++i) {
        barrier_wait(${ring.name}_empty(p.stage), p.phase ^ ${empty_phase}${at_end});
        ${ring.name}_advance(p);
    }
}
//@ elseif not fenced then
// Drainer, every warp: nobody in it reads the stage any more. Advances.
//@ op release ring = ring.name
__device__ __forceinline__ void ${ring.name}_release(${ring.name}_position &p)
{
//@ if threads_read and not written then
    // The next bulk copy would else overtake the reads: an arrival alone does not hold it back (seen on an H200).
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
//@ elseif written then
    __syncwarp();
//@ end
    if (threadIdx.x % 32 == 0)
        barrier_arrive(${ring.name}_empty(p.stage));
    ${ring.name}_advance(p);
}
//@ end
