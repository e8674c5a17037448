/* Which vector instructions of the host the emulator's arithmetic uses. Results never depend on it. */
#ifndef EMU_VECTORS_H
#define EMU_VECTORS_H

enum emu_vectors { EMU_VECTORS_ANY, EMU_VECTORS_AVX2, EMU_VECTORS_AVX512 };

/* The widest that this processor has, within the limit. */
enum emu_vectors emu_vectors(void);

/* For tests of the narrower ways. Kernels that are loaded keep theirs. Not thread-safe. */
void emu_vectors_limit(enum emu_vectors most);

#endif
