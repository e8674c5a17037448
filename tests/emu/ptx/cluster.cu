// Clusters: distributed shared memory, mbarriers, bulk and tensor copies, elect, griddepcontrol.
struct alignas(64) map { unsigned long long bytes[16]; };
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128) cluster(const __grid_constant__ map m,
                                                                                    float *out, int n)
{
    extern __shared__ __align__(1024) unsigned char tile[];
    __shared__ alignas(8) unsigned long long bar[2];
    unsigned b = (unsigned)__cvta_generic_to_shared(bar), s = (unsigned)__cvta_generic_to_shared(tile), rank, remote, p;
    asm("mov.u32 %0, %cluster_ctarank;" : "=r"(rank));
    asm volatile("griddepcontrol.wait;" ::: "memory");
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; mbarrier.init.shared.b64 [%0+8], 2;" ::"r"(b));
        asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;" ::: "memory");
    }
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    asm volatile("{ .reg .pred q; elect.sync _|q, 0xffffffff; selp.u32 %0, 1, 0, q; }" : "=r"(p));
    if (p) {
        asm volatile("prefetch.tensormap [%0];" ::"l"(&m));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "n"(8192));
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
                     ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5, %6;" ::"r"(s), "l"(&m), "r"(n), "r"(0), "r"(b),
                     "h"((short)3), "l"(0x14F0000000000000ll) : "memory");
        asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], "
                     "[%1, {%2, %2, %2, %2}], [%3], {%4, %4};" ::"r"(s), "l"(&m), "r"(n), "r"(b), "h"((short)1));
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(s),
                     "l"(out), "r"(b));
    }
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%0], %1, 1000; @!p bra W; }"
                 ::"r"(b), "r"(0) : "memory");
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(b + 8), "r"(rank ^ 1));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote) : "memory");
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %1}, [%0];" ::"r"(remote), "r"(n));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.cg.shared.global [%0], [%1], 16, %2; "
                 "cp.async.commit_group; cp.async.wait_group 0; cp.async.mbarrier.arrive.noinc.shared.b64 [%3];"
                 ::"r"(s), "l"(out), "r"(n), "r"(b) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, 0}], [%2]; cp.async.bulk.commit_group; "
                 "cp.async.bulk.wait_group.read 0; cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group "
                 "[%0, {%1, 0}], [%2];" ::"l"(&m), "r"(n), "r"(s) : "memory");
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%0], [%1], 64;" ::"l"(out), "r"(s));
    asm volatile("griddepcontrol.launch_dependents; setmaxnreg.dec.sync.aligned.u32 40;");
    out[threadIdx.x] = tile[threadIdx.x];
}
