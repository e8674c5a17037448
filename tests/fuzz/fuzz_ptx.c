/* libFuzzer target of the PTX parser: whatever the text, no crash, no leak, and a module whose every index is in range.
   clang -fsanitize=fuzzer,address,undefined; a corpus is a folder of .ptx files. */
#include <stdint.h>
#include <stdlib.h>

#include "emu/ptx/ptx.h"

#include "../emu/ptx_dump.h"

static void *memory_alloc(void *self, size_t bytes)
{
    (void)self;
    return malloc(bytes);
}

static void *memory_realloc(void *self, void *old, size_t bytes)
{
    (void)self;
    return realloc(old, bytes);
}

static void memory_free(void *self, void *pointer)
{
    (void)self;
    free(pointer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tw_memory memory = {NULL, memory_alloc, memory_realloc, memory_free};
    struct tw_error error = {""};
    struct ptx_module *module;
    char *text = malloc(size ? size : 1); /* exactly as long: a read behind it is seen */
    if (!text)
        return 0;
    memcpy(text, data, size);
    int status = ptx_parse(&memory, text, size, &module, &error);
    free(text); /* a module refers to nothing of the text */
    if (status != TW_OK) {
        if (module || !error.text[0])
            abort();
        return 0;
    }
    if (check_module(module))
        abort();
    char line[64]; /* short: cutting is tried too */
    for (uint32_t f = 0; f < module->function_count; f++)
        for (uint32_t i = 0; i < module->functions[f].instruction_count; i++)
            ptx_print(module, &module->functions[f], &module->functions[f].instructions[i], line, sizeof line);
    ptx_free(module);
    return 0;
}
