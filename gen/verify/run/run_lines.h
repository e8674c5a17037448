/* The lines of a kernel's CUDA text that no launch on the emulator has executed, or not in every way; by the rules of
 * run_coverage.h. */
#ifndef TW_GEN_VERIFY_RUN_RUN_LINES_H
#define TW_GEN_VERIFY_RUN_RUN_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "device.h"

/* A line without the blanks around it; not terminated. */
struct line_text {
    const char *begin;
    size_t length;
};

enum line_fault { LINE_LEFT, LINE_IF, LINE_LOOP };

struct line_verdict {
    enum line_fault kind;
    const char *file;      /* base name; as long as the kernel is loaded */
    uint32_t line, last;   /* last: of LINE_LEFT, of as many lines as follow each other */
    struct line_text text; /* of the first line */
};

/* source: the text that the kernel was compiled from; its #line directives count. *verdict, in the order of the lines,
 * points into source, and is the caller's to free. TW_OK, or TW_ERROR_MEMORY: then there is nothing to free. */
int lines_judge(struct tw_runtime *rt, const struct tw_kernel *kernel, const char *source,
                struct line_verdict **verdict, int *count);

#endif
