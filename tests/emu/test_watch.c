/* Hazards that the executor finds in CUDA kernels: each small kernel of watch_bugs.def and watch_forms.def has its
   hazard under its name where BUG is 1 and nothing where it is 0, those of watch_correct.def have none, whatever the
   completion; a STRICT one has its hazard where hazards are strict and nothing where they are on.
   With names as arguments, these kernels alone. */
#include "tensormap/tensormap.h"

#include "execute.h"

/* What every kernel gets: x is filled, y is fresh memory, z is zero, part is the middle of a filled allocation, to
   which launches are limited (PART bytes); maps are of x (64 rows of 64 bf16, swizzle 128B) and of y (rows of 60 or 56
   bf16, 64 apart). */
struct parameters {
    _Alignas(128) uint64_t map[16];
    uint64_t rows_60[16], rows_56[16];
    uint64_t x, y, z, part;
    int32_t n, pad[7];
};
enum { BYTES = 65536, PART = 1024 };

static const char common[] =
    "struct alignas(128) params { unsigned long long map[16], rows_60[16], rows_56[16];\n"
    "  unsigned *x, *y, *z, *part; int n; };\n"
    "extern __shared__ __align__(16) unsigned shared[];\n"
    "__device__ __noinline__ void broken(const params &p) { p.y[1 << 20] = 0; }\n"
    "#define F __device__ __forceinline__\n"
    "F unsigned at(unsigned byte) { return (unsigned)__cvta_generic_to_shared(shared) + byte; }\n"
    "F unsigned read(unsigned byte)\n"
    "{ unsigned v; asm volatile(\"ld.shared.u32 %0, [%1];\" : \"=r\"(v) : \"r\"(at(byte)) : \"memory\"); return v; }\n"
    "F void copy_async(unsigned to, const void *from)\n"
    "{ asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16;\" ::\"r\"(to), \"l\"(from) : \"memory\"); }\n"
    "F void copy_async_4(unsigned to, const void *from)\n"
    "{ asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4;\" ::\"r\"(to), \"l\"(from) : \"memory\"); }\n"
    "F void copy_commit() { asm volatile(\"cp.async.commit_group;\" ::: \"memory\"); }\n"
    "F void copy_wait_0() { asm volatile(\"cp.async.wait_group 0;\" ::: \"memory\"); }\n"
    "F void copy_wait_1() { asm volatile(\"cp.async.wait_group 1;\" ::: \"memory\"); }\n"
    "F void copy_wait_all() { asm volatile(\"cp.async.wait_all;\" ::: \"memory\"); }\n"
    "F void barrier_init(unsigned bar, unsigned n)\n"
    "{ asm volatile(\"mbarrier.init.shared.b64 [%0], %1;\" ::\"r\"(bar), \"r\"(n) : \"memory\"); }\n"
    "F void arrive(unsigned bar)\n"
    "{ asm volatile(\"{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }\" ::\"r\"(bar) : \"memory\"); }\n"
    "F void wait(unsigned bar, unsigned parity)\n"
    "{ unsigned done; do asm volatile(\"{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2;\"\n"
    "  \" selp.u32 %0, 1, 0, p; }\" : \"=r\"(done) : \"r\"(bar), \"r\"(parity) : \"memory\"); while (!done); }\n"
    "F unsigned test(unsigned bar, unsigned long long token)\n"
    "{ unsigned done; asm volatile(\"{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2;\"\n"
    "  \" selp.u32 %0, 1, 0, p; }\" : \"=r\"(done) : \"r\"(bar), \"l\"(token) : \"memory\"); return done; }\n";

static const char hopper[] =
    "#if __CUDA_ARCH__ >= 900\n"
    "F void init_fence() { asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\"); }\n"
    "F void proxy_fence() { asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\"); }\n"
    "F void expect(unsigned bar, unsigned bytes)\n"
    "{ asm volatile(\"mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;\" ::\"r\"(bar), \"r\"(bytes) : \"memory\"); }\n"
    "F void tensor_load(unsigned to, const void *map, unsigned bar, int inner, int outer)\n"
    "{ asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0],\"\n"
    "  \" [%1, {%3, %4}], [%2];\" ::\"r\"(to), \"l\"(map), \"r\"(bar), \"r\"(inner), \"r\"(outer) : \"memory\"); }\n"
    "F void tensor_store(const void *map, unsigned from, int inner, int outer)\n"
    "{ asm volatile(\"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];\" ::\"l\"(map),\n"
    "  \"r\"(from), \"r\"(inner), \"r\"(outer) : \"memory\"); }\n"
    "F void bulk_load(unsigned to, const void *from, unsigned bytes, unsigned bar)\n"
    "{ asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\" ::\n"
    "  \"r\"(to), \"l\"(from), \"r\"(bytes), \"r\"(bar) : \"memory\"); }\n"
    "F void bulk_store(void *to, unsigned from, unsigned bytes)\n"
    "{ asm volatile(\"cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\" ::\"l\"(to), \"r\"(from),\n"
    "  \"r\"(bytes) : \"memory\"); }\n"
    "F void bulk_commit() { asm volatile(\"cp.async.bulk.commit_group;\" ::: \"memory\"); }\n"
    "F void bulk_wait() { asm volatile(\"cp.async.bulk.wait_group 0;\" ::: \"memory\"); }\n"
    "F void bulk_wait_read() { asm volatile(\"cp.async.bulk.wait_group.read 0;\" ::: \"memory\"); }\n"
    "F unsigned cluster_rank()\n{ unsigned r; asm volatile(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(r)); return r; "
    "}\n"
    "F void cluster_arrive() { asm volatile(\"barrier.cluster.arrive.aligned;\" ::: \"memory\"); }\n"
    "F void cluster_wait() { asm volatile(\"barrier.cluster.wait.aligned;\" ::: \"memory\"); }\n"
    "F void cluster_sync() { asm volatile(\"barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\" :::\n"
    "  \"memory\"); }\n"
    "F unsigned remote_read(unsigned address, unsigned rank)\n"
    "{ unsigned v; asm volatile(\"{ .reg .b32 r; mapa.shared::cluster.u32 r, %1, %2; "
    "ld.shared::cluster.u32 %0, [r];\"\n"
    "  \" }\"\n"
    "  : \"=r\"(v) : \"r\"(address), \"r\"(rank) : \"memory\"); return v; }\n"
    "F unsigned long long descriptor(unsigned address, unsigned swizzle)\n"
    "{ return (address & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | (unsigned long long)swizzle << 62; }\n"
    "F void wgmma_fence() { asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\"); }\n"
    "F void wgmma_commit() { asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\"); }\n"
    "F void wgmma_wait(float (&d)[4])\n{ asm volatile(\"wgmma.wait_group.sync.aligned 0;\" : \"+f\"(d[0]), "
    "\"+f\"(d[1]),\n"
    "  \"+f\"(d[2]), \"+f\"(d[3]) :: \"memory\"); }\n"
    "F void wgmma(float (&d)[4], unsigned long long a, unsigned long long b)\n"
    "{ asm volatile(\"wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;\"\n"
    "  : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3]) : \"l\"(a), \"l\"(b)); }\n"
    "#endif\n";

static const char head[] =
    "extern \"C\" __global__ void __launch_bounds__(THREADS, 1) k(const __grid_constant__ params p)\n"
    "{ const int t = threadIdx.x;\n";

struct kernel {
    const char *id, *hazard, *arch;
    unsigned grid, block, shared, cluster;
    const char *text;
};

static const struct kernel bugs[] = {
#define BUG(id, hazard, arch, grid, block, shared, cluster, ...)                                                       \
    {#id, hazard, arch, grid, block, shared, cluster, #__VA_ARGS__},
#define STRICT(id, hazard, arch, grid, block, shared, cluster, ...)
#include "watch_bugs.def"
#include "watch_forms.def"
#undef BUG
#undef STRICT
};
static const struct kernel strict_bugs[] = {
#define BUG(id, hazard, arch, grid, block, shared, cluster, ...)
#define STRICT(id, hazard, arch, grid, block, shared, cluster, ...)                                                    \
    {#id, hazard, arch, grid, block, shared, cluster, #__VA_ARGS__},
#include "watch_forms.def"
#undef BUG
#undef STRICT
};
static const struct kernel correct[] = {
#define CORRECT(id, arch, grid, block, shared, cluster, ...)                                                           \
    {#id, "", arch, grid, block, shared, cluster, #__VA_ARGS__},
#include "watch_correct.def"
#undef CORRECT
};

static void encode(uint64_t *map, uint64_t address, uint64_t inner, uint32_t rows, uint32_t swizzle)
{
    struct tw_tensormap_call call = {.func = TW_TENSORMAP_TILED,
                                     .dtype = (uint32_t)tw_dtype_info(TW_BF16)->tensormap,
                                     .rank = 2,
                                     .addr = address,
                                     .dim = {inner, rows},
                                     .stride = {128},
                                     .box = {64, rows},
                                     .estride = {1, 1},
                                     .swizzle = swizzle};
    assert_int_equal(tw_tensormap_encode(&call, 90, map), TW_OK);
}

/* Runs the kernel; what was found, as "NAME NAME ", into found. */
static void run_kernel(const struct kernel *kernel, int bug, const struct emu_options *options, char *found,
                       size_t room)
{
    struct lab lab;
    struct parameters p = {.n = 64};
    struct tw_error error;
    static uint32_t x[BYTES / 4], zero[BYTES / 4];
    static char source[32768];
    for (unsigned i = 0; i < BYTES / 4; i++)
        x[i] = i * 2654435761u >> 8;
    int bytes = snprintf(source, sizeof source, "#define BUG %d\n#define THREADS %u\n%s%s%s%s\n}\n", bug, kernel->block,
                         common, hopper, head, kernel->text);
    assert_in_range(bytes, 1, sizeof source - 1);
    lab_open_with(&lab, kernel->arch, options);
    p.x = lab_alloc(&lab, x, BYTES);
    p.y = lab_alloc(&lab, NULL, BYTES);
    p.z = lab_alloc(&lab, zero, BYTES);
    p.part = lab_alloc(&lab, x, 3 * PART) + PART;
    assert_int_equal(tw_device_limit(lab.device, p.part, PART, &error), TW_OK);
    encode(p.map, p.x, 64, 64, 3);
    encode(p.rows_60, p.y, 60, 8, 0);
    encode(p.rows_56, p.y, 56, 8, 0);
    struct tw_kernel *k = lab_load(&lab, source, "k");
    int status = lab_try(&lab, k, kernel->grid, kernel->block, kernel->shared, kernel->cluster, &p, sizeof p, &error);
    size_t n = 0;
    const struct emu_report *report;
    *found = 0;
    for (size_t i = 0; (report = emu_device_report(lab.device, i)) && n < room; i++)
        n += (size_t)snprintf(found + n, room - n, "%s ", report->name);
    if (status && !n)
        fail_msg("%s: %s", kernel->id, error.text);
    assert_true((status != 0) == (n != 0));
    tw_device_unload(lab.device, k);
    lab_close(&lab);
}

static const struct emu_options modes[] = {
    {.completion = EMU_EAGER, .hazards = EMU_HAZARDS_ON},
    {.completion = EMU_LATE, .hazards = EMU_HAZARDS_ON},
    {.completion = EMU_RANDOM, .hazards = EMU_HAZARDS_ON, .seed = 3},
    {.completion = EMU_RANDOM, .hazards = EMU_HAZARDS_ON, .seed = 8},
};
enum { MODES = sizeof modes / sizeof modes[0] };

enum { COUNT = sizeof bugs / sizeof bugs[0], STRICT_COUNT = sizeof strict_bugs / sizeof strict_bugs[0] };
enum { CORRECT_COUNT = sizeof correct / sizeof correct[0] };

static char **asked; /* names; NULL: all */

static int wanted(const struct kernel *kernel)
{
    for (char **name = asked; name && *name; name++)
        if (!strcmp(*name, kernel->id))
            return 1;
    return !asked;
}

/* The kernels in all modes: that their hazards are found, or with hazard 0 that there are none. */
static void all_modes(const struct kernel *kernels, size_t count, int bug, int strict, int hazard)
{
    int wrong = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t mode = 0; mode < MODES && wanted(&kernels[i]); mode++) {
            struct emu_options options = modes[mode];
            options.hazards = strict ? EMU_HAZARDS_STRICT : EMU_HAZARDS_ON;
            char found[400], name[40] = "";
            run_kernel(&kernels[i], bug, &options, found, sizeof found);
            if (hazard)
                snprintf(name, sizeof name, "%s ", kernels[i].hazard);
            if (hazard ? !strstr(found, name) : *found != 0) {
                print_error("%s%s, mode %zu: %s expected, found: %s\n", kernels[i].id, bug ? "" : " without its bug",
                            mode, hazard ? kernels[i].hazard : "nothing", found);
                wrong++;
            }
        }
    assert_int_equal(wrong, 0);
}

static void bugs_are_found(void **state)
{
    (void)state;
    all_modes(bugs, COUNT, 1, 0, 1);
}

static void twins_are_clean(void **state)
{
    (void)state;
    all_modes(bugs, COUNT, 0, 0, 0);
}

static void correct_kernels_are_clean(void **state)
{
    (void)state;
    all_modes(correct, CORRECT_COUNT, 0, 0, 0);
}

static void strict_ones_are_found(void **state)
{
    (void)state;
    all_modes(strict_bugs, STRICT_COUNT, 1, 1, 1);
}

static void strict_ones_are_silent_else(void **state)
{
    (void)state;
    all_modes(strict_bugs, STRICT_COUNT, 1, 0, 0);
    all_modes(strict_bugs, STRICT_COUNT, 0, 1, 0);
}

/* A kernel without launch bounds: ptxas ignores its setmaxnreg, whatever it asks for. */
static void registers_need_bounds(void **state)
{
    (void)state;
    static const char *const bounds[] = {"", "__launch_bounds__(384)", "__launch_bounds__(384, 1)", "__maxnreg__(160)"};
    for (unsigned i = 0; i < 4; i++) {
        struct lab lab;
        struct tw_error error;
        char source[600];
        snprintf(source, sizeof source,
                 "extern \"C\" __global__ void %s k() {\n"
                 "  if (threadIdx.x < 128) asm volatile(\"setmaxnreg.inc.sync.aligned.u32 240;\");\n"
                 "  else if (threadIdx.x < 160) asm volatile(\"setmaxnreg.dec.sync.aligned.u32 24;\"); }\n",
                 bounds[i]);
        lab_open_with(&lab, "sm_90a", &modes[0]);
        struct tw_kernel *k = lab_load(&lab, source, "k");
        int status = lab_try(&lab, k, 1, 384, 0, 1, NULL, 0, &error);
        const struct emu_report *report = emu_device_report(lab.device, 0);
        assert_true(i < 2 ? !status && !report : status && report && !strcmp(report->name, "REG-POOL"));
        tw_device_unload(lab.device, k);
        lab_close(&lab);
    }
}

/* A barrier of CUDA's own class has a text of its own: its init is not the user's to change. */
static void cuda_barriers_are_told(void **state)
{
    (void)state;
    for (int bug = 1; bug >= 0; bug--) {
        struct lab lab;
        struct tw_error error;
        static uint32_t x[256];
        char source[8192];
        int bytes =
            snprintf(source, sizeof source,
                     "%s%s#line 100 \"/usr/include/cuda/__barrier/barrier_block_scope.h\"\n"
                     "F void init(unsigned bar, unsigned n) { barrier_init(bar, n); }\n#line 1 \"/test/user.cu\"\n"
                     "extern \"C\" __global__ void k(unsigned *x) { const unsigned bar = at(0);\n"
                     "  if (threadIdx.x == 0) { init(bar, 1); if (!%d) proxy_fence(); }\n  __syncthreads();\n"
                     "  if (threadIdx.x == 0) { expect(bar, 512); bulk_load(at(128), x, 512, bar); }\n"
                     "  wait(bar, 0); }\n",
                     common, hopper, bug);
        assert_in_range(bytes, 1, sizeof source - 1);
        lab_open_with(&lab, "sm_90a", &modes[0]);
        uint64_t address = lab_alloc(&lab, x, sizeof x);
        struct tw_kernel *k = lab_load(&lab, source, "k");
        int status = lab_try(&lab, k, 1, 32, 1024, 1, &address, sizeof address, &error);
        const struct emu_report *report = emu_device_report(lab.device, 0);
        if (bug)
            assert_true(status && report && !strcmp(report->name, "BARRIER-INIT") &&
                        strstr(report->text, "it is a cuda::barrier, whose init makes no such fence"));
        else
            assert_true(!status && !report);
        tw_device_unload(lab.device, k);
        lab_close(&lab);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bugs_are_found),
        cmocka_unit_test(twins_are_clean),
        cmocka_unit_test(correct_kernels_are_clean),
        cmocka_unit_test(strict_ones_are_found),
        cmocka_unit_test(strict_ones_are_silent_else),
        cmocka_unit_test(registers_need_bounds),
        cmocka_unit_test(cuda_barriers_are_told),
    };
    asked = argc > 1 ? argv + 1 : NULL;
    return cmocka_run_group_tests_name("emu watch", tests, NULL, NULL);
}
