/* Status codes and error texts. Every function of libtilewright that can fail returns an int status: TW_OK (0) or a
   positive code of status.def, and describes the failure in a struct tw_error that the caller owns. */
#ifndef TW_STATUS_H
#define TW_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

enum tw_status {
#define STATUS(name, exit_status, text) name,
#include "status.def"
#undef STATUS
    TW_STATUS_COUNT
};

/* Detail of a failure, in one or more lines without a trailing newline. Meaningful only after a status other than
   TW_OK; longer texts are cut and end in "...". */
struct tw_error {
    char text[1024];
};

#if defined(__GNUC__)
#define TW_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define TW_PRINTF(format_index, first)
#endif

/* The code's name ("TW_ERROR_FILE") and its general text ("file operation failed"). Static strings; a number that is no
   status gives "TW_ERROR_UNKNOWN" and "unknown status". Thread-safe. */
const char *tw_status_name(int status);
const char *tw_status_text(int status);

/* Exit status of a program whose work ended with this status: 0, 1 (input) or 3 (environment). */
int tw_status_exit(int status);

/* Write the detail of a failure into *error (nothing if error is NULL) and return status, so that a function can end in
   `return tw_fail(error, TW_ERROR_FILE, "...", ...)`. Touches no memory but *error. */
int tw_fail(struct tw_error *error, int status, const char *format, ...) TW_PRINTF(3, 4);

#ifdef __cplusplus
}
#endif

#endif
