//@ -- What the launcher's marks say.
#if defined(__GNUC__)
#define APART __attribute__((noinline))
#define TOGETHER __attribute__((hot))
#define INLINE static inline __attribute__((always_inline, unused))
#define ALIGNED __attribute__((aligned(64)))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define ASSUME(fact) do { if (!(fact)) __builtin_unreachable(); } while (0)
#else
#define APART
#define TOGETHER
#define INLINE static inline
#define ALIGNED
#define LIKELY(condition) (condition)
#define ASSUME(fact) ((void)(fact))
#endif
