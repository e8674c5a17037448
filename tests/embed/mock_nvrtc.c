/* Built as libnvrtc.so.12: a "cubin" is the word CUBIN and the source, PTX the word PTX and the source. A source that
 * holds `#error` does not compile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mock_driver.h"

enum { FAILED = 6 };

struct program {
    char *source;
};

int nvrtcVersion(int *major, int *minor);
int nvrtcCreateProgram(void **program, const char *source, const char *name, int headers, const char *const *header,
                       const char *const *header_name);
int nvrtcDestroyProgram(void **program);
int nvrtcCompileProgram(void *program, int options, const char *const *option);
int nvrtcGetCUBINSize(void *program, size_t *bytes);
int nvrtcGetCUBIN(void *program, char *bytes);
int nvrtcGetPTXSize(void *program, size_t *bytes);
int nvrtcGetPTX(void *program, char *text);
int nvrtcGetProgramLogSize(void *program, size_t *bytes);
int nvrtcGetProgramLog(void *program, char *text);

int nvrtcVersion(int *major, int *minor)
{
    *major = 12;
    *minor = 9;
    return mock_call() ? FAILED : 0;
}

int nvrtcCreateProgram(void **program, const char *source, const char *name, int headers, const char *const *header,
                       const char *const *header_name)
{
    struct program *p;
    (void)header;
    (void)header_name;
    if (mock_call() || headers || name[0] != '/')
        return FAILED;
    p = malloc(sizeof *p);
    p->source = malloc(strlen(source) + 1);
    strcpy(p->source, source);
    *program = p;
    mock.programs++;
    return 0;
}

int nvrtcDestroyProgram(void **program)
{
    struct program *p = *program;
    free(p->source);
    free(p);
    *program = NULL;
    mock.programs--;
    return 0;
}

int nvrtcCompileProgram(void *program, int options, const char *const *option)
{
    struct program *p = program;
    size_t at = 0;
    if (mock_call() || strstr(p->source, "#error"))
        return FAILED;
    for (int i = 0; i < options; i++)
        at += (size_t)snprintf(mock.compile_options + at, sizeof mock.compile_options - at, "%s ", option[i]);
    return 0;
}

static int text(void *program, const char *word, char *out, size_t *bytes)
{
    struct program *p = program;
    if (mock_call())
        return FAILED;
    if (bytes)
        *bytes = strlen(word) + strlen(p->source) + 1;
    if (out)
        sprintf(out, "%s%s", word, p->source);
    return 0;
}

int nvrtcGetCUBINSize(void *program, size_t *bytes)
{
    return text(program, "CUBIN ", NULL, bytes);
}

int nvrtcGetCUBIN(void *program, char *bytes)
{
    return text(program, "CUBIN ", bytes, NULL);
}

int nvrtcGetPTXSize(void *program, size_t *bytes)
{
    return text(program, "PTX ", NULL, bytes);
}

int nvrtcGetPTX(void *program, char *out)
{
    return text(program, "PTX ", out, NULL);
}

int nvrtcGetProgramLogSize(void *program, size_t *bytes)
{
    (void)program;
    *bytes = mock.has_nvrtc_log ? sizeof "line 1: #error" : 1;
    return mock_call() ? FAILED : 0;
}

int nvrtcGetProgramLog(void *program, char *out)
{
    (void)program;
    strcpy(out, mock.has_nvrtc_log ? "line 1: #error" : "");
    return mock_call() ? FAILED : 0;
}
