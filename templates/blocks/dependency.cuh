//@ -- Programmatic launch: a kernel that may start while the one before it in the stream still runs.
// What earlier kernels of the stream wrote is seen, and what they read may be overwritten, from here on.
__device__ __forceinline__ void dependency_wait()
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

// The next kernel may start: its blocks take the multiprocessors that this one's leave, and wait for its end.
__device__ __forceinline__ void dependency_trigger()
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
