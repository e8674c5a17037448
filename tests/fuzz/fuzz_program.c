/* libFuzzer target of random programs: the bytes are what the generator of tests/emu/random draws, the first bit of the
   first of them chooses between programs over tiles and specs of the family gemm. What it writes is read, traced,
   derived, proved and emitted; no rule refuses it but those that a generator cannot foresee; and the meaning of small
   sizes is held against the naive twin and the first kernel's. With $FUZZ_PROGRAM_RUN set it is compiled, too, and runs
   on the emulator at all sizes: that takes NVRTC, a C compiler and seconds. README.md says how to run it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/random/random_run.h"
#include "emu/random/random_spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], *said = NULL;
    size_t bytes = 0;
    if (size == 0)
        return 0;
    int file = memfd_create("program.lua", 0);
    FILE *spec = file < 0 ? NULL : fdopen(dup(file), "w"), *out = open_memstream(&said, &bytes);
    if (!spec || !out)
        abort();
    bool gemm = data[0] & 1, whole = getenv("FUZZ_PROGRAM_RUN") != NULL;
    (gemm ? random_gemm_write_bytes : random_spec_write_bytes)(data + 1, size - 1, spec);
    if (fclose(spec) != 0)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const struct random_run run = {.path = path, .seed = data[0], .plan = !whole, .mean = !whole, .specs = gemm};
    int bad = random_run(&run, out);
    fclose(out);
    if (bad) {
        char line[4096];
        fputs(said, stderr);
        rewind(spec = fdopen(dup(file), "r"));
        while (fgets(line, sizeof line, spec))
            fputs(line, stderr);
        abort();
    }
    free(said);
    close(file);
    return 0;
}
