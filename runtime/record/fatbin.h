/* Fat binaries: the container in which nvcc puts PTX and cubins of several architectures. */
#ifndef LIBCUDA_FATBIN_H
#define LIBCUDA_FATBIN_H

#include <stddef.h>
#include <stdint.h>

enum { FATBIN_WHY = 200 };

#define FATBIN_MAGIC UINT32_C(0xBA55ED50)

/* Whether an image begins with a number, of which it may end before. */
int cu_image_begins(const void *image, uint32_t magic);

/* The bytes of a fat binary that begins here, as its header says; 0: none does. */
size_t cu_fatbin_bytes(const void *image);

/* The PTX of it that fits an architecture best, a zero behind it; the caller frees it. NULL, and why has a sentence,
   where it holds none, or is damaged. bytes are all that is read. */
char *cu_fatbin_ptx(const void *fatbin, size_t bytes, const char *arch, size_t *count, char why[FATBIN_WHY]);

#endif
