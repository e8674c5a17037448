/* What the emulator finds, as JSON. */
#ifndef TW_GEN_VERIFY_RUN_FINDING_H
#define TW_GEN_VERIFY_RUN_FINDING_H

/* One finding, an object on stdout. */
struct emu_report;
void finding_json(const struct emu_report *report);

#endif
