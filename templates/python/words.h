//@ -- What differs between compilers, and between interpreters with and without a lock.
#if defined(__GNUC__)
#define APART __attribute__((noinline, cold))
#define ONCE static __attribute__((noinline)) /* its text is there once, for several calls in turn */
#define INLINE static inline __attribute__((always_inline))
#else
#define APART
#define ONCE static
#define INLINE static inline
#endif

/* What several threads read and one of them writes once: without the lock of the interpreter such stores publish. */
#if defined(Py_GIL_DISABLED)
#define READ(from) __atomic_load_n(&(from), __ATOMIC_ACQUIRE)
#define PUBLISH(to, value) __atomic_store_n(&(to), (value), __ATOMIC_RELEASE)
#else
#define READ(from) (from)
#define PUBLISH(to, value) ((to) = (value))
#endif
