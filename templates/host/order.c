//@ -- How the file is read, and what its marks say.
//@ param host table
//@ local NAME = host.name
/* Read it from here down, in the order in which a program calls it:
 *
 *     load     the driver; the variants for the device, compiled where they are text; what launches ask of the driver
 *     check    the arguments, before any driver call: sizes, addresses, strides
//@ if host.tuned then
 *     choose   the set-up that was the quickest at such sizes
//@ end
//@ if host.map_count > 0 then
 *     patch    a copy of the variant's launch: tensor maps, pointers, sizes, the grid
//@ else
 *     patch    a copy of the variant's launch: pointers, sizes, the grid
//@ end
 *     launch   one driver call
 *
 * Check and patch are what every launch runs. What most arguments need of them is one stretch of code without a call
 * (INLINE, TOGETHER), and all else is kept apart from it (APART): between two launches the driver takes the caches for
 * itself, and what is brought back should be little and lie together. */
#if defined(__GNUC__)
#define APART __attribute__((noinline))
#define TOGETHER __attribute__((hot))
#define INLINE static inline __attribute__((always_inline))
#define ALIGNED __attribute__((aligned(64)))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define ASSUME(fact) do { if (!(fact)) __builtin_unreachable(); } while (0)
#else
#define APART
#define TOGETHER
#define INLINE static inline
#define ALIGNED
#define LIKELY(condition) (condition)
#define ASSUME(fact) ((void)0)
#endif
