/* What the emulator finds, as JSON. */
#ifndef TW_GEN_VERIFY_RUN_FINDING_H
#define TW_GEN_VERIFY_RUN_FINDING_H

struct emu_report;
struct json_object;

/* One finding, which the caller puts; NULL where there is no memory. */
struct json_object *finding_object(const struct emu_report *report);

#endif
