/* One process of tests/cache_race.sh: compile one small kernel through the cache, print how it was got, the hash of its
   bytes and the time of each phase. Arguments: a text that goes into the source, so that a run can have its own key;
   then `ptx` for PTX alone. Exit status 0 only if the compile gave bytes. */
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cache.h"

static const char *const outcomes[] = {"none", "hit", "miss", "unstored"};

int main(int argc, char **argv)
{
    struct tw_compile_request request;
    struct tw_compiled compiled;
    struct tw_runtime rt;
    struct tw_error error = {""};
    char source[512];
    int status;

    memset(&compiled, 0, sizeof compiled);
    memset(&request, 0, sizeof request);
    snprintf(source, sizeof source, "// %s\nextern \"C\" __global__ void add(float *x) { x[threadIdx.x] += 1.0f; }\n",
             argc > 1 ? argv[1] : "");
    request.source = source;
    request.source_bytes = strlen(source);
    request.name = "/tilewright/add.sm_90a.cu";
    request.entry = "add";
    request.arch = "sm_90a";
    request.outputs = argc > 2 && !strcmp(argv[2], "ptx") ? TW_OUTPUT_PTX : TW_OUTPUT_CUBIN;
    status = tw_runtime_init(&rt, &error);
    if (status == TW_OK)
        status = tw_compile_cached(&rt, &request, &compiled, &error);
    if (status == TW_OK)
        printf("%s %016llx find %.4f lookup %.4f open %.4f wait %.4f compile %.4f store %.4f %s\n",
               outcomes[compiled.cache],
               (unsigned long long)(compiled.cubin ? XXH3_64bits(compiled.cubin, compiled.cubin_bytes)
                                                   : XXH3_64bits(compiled.ptx, compiled.ptx_bytes)),
               compiled.find_seconds, compiled.lookup_seconds, compiled.open_seconds, compiled.wait_seconds,
               compiled.seconds, compiled.store_seconds, compiled.note);
    else
        fprintf(stderr, "%s: %s\n", tw_status_name(status), error.text);
    tw_compiled_free(&rt, &compiled);
    tw_runtime_close(&rt);
    return tw_status_exit(status);
}
