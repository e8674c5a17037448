//@ -- A ring of which each consumer takes the stages of its own items alone.
//@ param ring table
//@ local count_all = debug_ms() > 0 and "\n    p.step += (u32)stages;" or ""

// Drainer: goes past so many stages, which another takes. It knows that they were full: see turn_wait.
//@ op part
__device__ __forceinline__ void ${ring.name}_skip(${ring.name}_position &p, int stages)
{${count_all}
    const u32 at = p.stage + (u32)stages;
    p.phase ^= at / ${ring.stages} & 1;
    p.stage = at % ${ring.stages};
}
