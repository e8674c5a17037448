/* Programs that use an emitted pair: each case returns NULL, or what went wrong. */
#ifndef TW_TESTS_EMBED_USE_H
#define TW_TESTS_EMBED_USE_H

struct use_case {
    const char *name;
    const char *(*run)(void);
};

#define USE_TEXT_2(x) #x
#define USE_TEXT(x) USE_TEXT_2(x)
#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            return __FILE__ ":" USE_TEXT(__LINE__) ": " #condition;                                                    \
    } while (0)

#endif
