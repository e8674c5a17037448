/* CUDA to PTX for the corpus: compile FILE.cu ARCH OUT.ptx. Compiles as the tests of the emulator do. */
#include <stdio.h>
#include <string.h>

#include "find_cuda.h"
#include "hooks.h"
#include "nvrtc.h"

int main(int argc, char **argv)
{
    const char *options[10] = {"-lineinfo", "--device-int128"};
    char include[8][4200];
    struct tw_places headers = {0};
    struct tw_runtime rt;
    struct tw_error error = {""};
    struct tw_compiled compiled = {0};
    unsigned char *source = NULL;
    size_t bytes;
    FILE *out = NULL;
    int status = 1;
    if (argc != 4 || tw_runtime_init(&rt, &error) != TW_OK) {
        fputs("usage: compile FILE.cu ARCH OUT.ptx\n", stderr);
        return 2;
    }
    size_t count = 2;
    tw_find_headers(&rt, &headers, &error); /* kernels that need none are compiled without */
    for (size_t i = 0; i < headers.count && i < 8; i++) {
        snprintf(include[i], sizeof include[i], "-I%s", headers.items[i].folder);
        options[count++] = include[i];
    }
    if (tw_read_file(&rt, argv[1], 0, &source, &bytes, &error) == TW_OK) {
        struct tw_compile_request request = {.source = (const char *)source,
                                             .source_bytes = bytes,
                                             .name = argv[1],
                                             .entry = "",
                                             .arch = argv[2],
                                             .options = options,
                                             .option_count = count,
                                             .outputs = TW_OUTPUT_PTX};
        if (tw_compile(&rt, &request, &compiled, &error) == TW_OK && (out = fopen(argv[3], "wb")) != NULL) {
            status = fputs(compiled.ptx, out) < 0;
            status |= fclose(out) != 0;
        }
    }
    if (status)
        fprintf(stderr, "%s: %s\n", argv[1], error.text[0] ? error.text : "cannot be written");
    tw_compiled_free(&rt, &compiled);
    tw_places_free(&rt, &headers);
    tw_free(&rt, source);
    tw_runtime_close(&rt);
    return status;
}
