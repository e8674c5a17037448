/* Findings: one line each, counted where they come again; and the launch that fails by them. */
#ifndef EMU_REPORT_H
#define EMU_REPORT_H

#include "machine.h"

/* A finding at an operation. Ends the launch where fatal is set or hazards are. Always returns NULL. */
const struct emu_op *emu_report_at(struct emu_warp *warp, const struct emu_op *op, const char *name, uint64_t address,
                                   int fatal, const char *format, ...) TW_PRINTF(6, 7);

/* The same of one of the hazard engine's. The number of the report, plus 1; 0: no memory. */
struct emu_hazard_report;
size_t emu_report_found(struct emu_launch *launch, const struct emu_hazard_report *found);

/* The launch has ended: one that had findings fails by the first. */
void emu_reports_end(struct emu_launch *launch);

/* "MNEMONIC at FILE:LINE in FILE:LINE (PTX line N), block (x, y, z), warp w, lanes .." into out. */
void emu_place(const struct emu_warp *warp, const struct emu_op *op, char *out, size_t out_bytes);

/* The launch's name for what lies at an address in shared memory, "ring ab full barrier, stage 2". 0: it has none.
   stage may be NULL; -1: the range has none. */
int emu_region_name(const struct emu_launch *launch, uint64_t address, char *out, size_t room, int *stage);

/* "shared memory +N of rank R (NAME, stage S)", or the address. Returns its length. */
size_t emu_address_text(const struct emu_launch *launch, uint64_t address, char *out, size_t room);

/* The launch ends with this status; the first call counts. */
void emu_fail_launch(struct emu_launch *launch, int status, const char *format, ...) TW_PRINTF(3, 4);

#endif
