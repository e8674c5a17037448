//@ -- What the launcher's marks say.
#if defined(__GNUC__)
#define MARK(...) __attribute__((__VA_ARGS__))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#else
#define MARK(...)
#define LIKELY(condition) (condition)
#endif
#define APART MARK(noinline)
#define COLD MARK(noinline, cold)
#define TOGETHER MARK(noinline, hot)
#define INLINE static inline MARK(always_inline, unused)
#define ALIGNED MARK(aligned(64))
