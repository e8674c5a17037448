#include "bytes.h"

#include <stdarg.h>
#include <stdio.h>

const char *emu_fault_name(enum emu_fault_kind kind)
{
    static const char *const names[EMU_FAULT_COUNT] = {
#define EMU_FAULT_NAME(ID, name, text) name,
        EMU_FAULTS(EMU_FAULT_NAME)
#undef EMU_FAULT_NAME
    };
    return (unsigned)kind < EMU_FAULT_COUNT ? names[kind] : "?";
}

enum emu_fault_kind emu_fail(struct emu_fault *fault, enum emu_fault_kind kind, uint64_t address, const char *format,
                             ...)
{
    if (fault) {
        va_list list;
        fault->kind = kind;
        fault->address = address;
        va_start(list, format);
        vsnprintf(fault->text, sizeof fault->text, format, list);
        va_end(list);
    }
    return kind;
}
