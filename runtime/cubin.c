/* A cubin is an ELF64 little-endian file (machine 190). Figures of a kernel stand in attribute lists, sections
   .nv.info (about several symbols) and .nv.info.ENTRY. An attribute is

       byte 0   1        2    3           4 ...
       +--------+--------+----+-----------+----------------------------+
       | format | number | 16-bit value   |                            |   format 1, 2, 3: the value itself
       | 4      | number | 16-bit size    | size bytes                 |   format 4
       +--------+--------+----+-----------+----------------------------+

   (as printed by cuobjdump -elf; numbers checked against ptxas -v of CUDA 13.0, in tests/unit/runtime/test_cubin.c). */
#include "cubin.h"

#include <stdbool.h>
#include <string.h>

#include "architecture.h"

enum {
    ATTRIBUTE_MAX_THREADS = 0x05,  /* x, y, z */
    ATTRIBUTE_PARAM_CBANK = 0x0a,  /* symbol, 16-bit offset, 16-bit size */
    ATTRIBUTE_REQNTID = 0x10,      /* x, y, z */
    ATTRIBUTE_FRAME_SIZE = 0x11,   /* symbol, bytes */
    ATTRIBUTE_MIN_STACK = 0x12,    /* symbol, bytes */
    ATTRIBUTE_KPARAM = 0x17,       /* one for each parameter */
    ATTRIBUTE_REGCOUNT = 0x2f,     /* symbol, registers */
    ATTRIBUTE_BARRIERS = 0x4c,     /* count in the low byte */
    ATTRIBUTE_NOTES = 0x55,        /* pairs (kind, offset of an instruction); kind 1: it spills or refills registers */
};

enum {
    EHDR_BYTES = 64,
    SHDR_BYTES = 64,
    SYM_BYTES = 24,
    TYPE_SYMTAB = 2,
    TYPE_NOBITS = 8,
    KERNEL_BIT = 0x10, /* of a symbol's st_other: an entry point (STO_CUDA_ENTRY) */
};

/* From sm_90 on the system keeps the first KiB of a block's shared memory; .nv.shared.ENTRY counts it, and the section
   .nv.shared.reserved.0 says that it is kept. */
enum { RESERVED_SHARED = TW_ARCH_SHARED_RESERVED };

#define NO_SYMBOL UINT32_MAX

struct span {
    const unsigned char *at;
    size_t bytes;
};

struct section {
    uint32_t type, link, info;
    uint64_t bytes;   /* sh_size, also without bits in the file */
    struct span span; /* empty without bits */
    struct span name; /* without the zero */
};

struct elf {
    struct span file;
    uint64_t table;    /* offset of the section headers */
    unsigned count;
    struct span names; /* .shstrtab */
};

static unsigned u16(const unsigned char *p)
{
    return (unsigned)p[0] | (unsigned)p[1] << 8;
}

static uint32_t u32(const unsigned char *p)
{
    return (uint32_t)u16(p) | (uint32_t)u16(p + 2) << 16;
}

static uint64_t u64(const unsigned char *p)
{
    return (uint64_t)u32(p) | (uint64_t)u32(p + 4) << 32;
}

static bool cut(struct span whole, uint64_t offset, uint64_t bytes, struct span *part)
{
    if (offset > whole.bytes || bytes > whole.bytes - offset)
        return false;
    part->at = whole.at + offset;
    part->bytes = (size_t)bytes;
    return true;
}

/* The zero-terminated string at offset of a string table. */
static bool string_at(struct span table, uint64_t offset, struct span *text)
{
    const unsigned char *end;

    if (offset >= table.bytes)
        return false;
    end = memchr(table.at + offset, 0, table.bytes - (size_t)offset);
    if (!end)
        return false;
    text->at = table.at + offset;
    text->bytes = (size_t)(end - text->at);
    return true;
}

static bool read_section(const struct elf *elf, unsigned index, struct section *s)
{
    struct span h;

    if (index >= elf->count || !cut(elf->file, elf->table + (uint64_t)index * SHDR_BYTES, SHDR_BYTES, &h))
        return false;
    memset(s, 0, sizeof *s);
    s->type = u32(h.at + 4);
    s->bytes = u64(h.at + 32);
    s->link = u32(h.at + 40);
    s->info = u32(h.at + 44);
    s->span.at = elf->file.at;
    if (s->type && s->type != TYPE_NOBITS && !cut(elf->file, u64(h.at + 24), s->bytes, &s->span))
        return false;
    s->name.at = elf->file.at;
    return !elf->names.bytes || string_at(elf->names, u32(h.at), &s->name);
}

static bool open_elf(const void *bytes, size_t count, struct elf *elf)
{
    static const unsigned char magic[6] = {0x7f, 'E', 'L', 'F', 2 /* 64 bit */, 1 /* little-endian */};
    const unsigned char *h = bytes;
    struct section names;

    memset(elf, 0, sizeof *elf);
    if (count < EHDR_BYTES || memcmp(h, magic, sizeof magic) || u16(h + 58) != SHDR_BYTES)
        return false;
    elf->file.at = h;
    elf->file.bytes = count;
    elf->table = u64(h + 40);
    elf->count = u16(h + 60);
    if (elf->table > count || elf->count > (count - elf->table) / SHDR_BYTES)
        return false;
    if (!read_section(elf, u16(h + 62), &names) || !names.span.bytes)
        return false;
    elf->names = names.span;
    return true;
}

/* Is name = prefix + rest? */
static bool named(struct span name, const char *prefix, const char *rest)
{
    size_t p = strlen(prefix), r = strlen(rest);

    return name.bytes == p + r && !memcmp(name.at, prefix, p) && !memcmp(name.at + p, rest, r);
}

static int malformed(struct tw_error *error, const char *what)
{
    return tw_fail(error, TW_ERROR_CUBIN, "malformed cubin: %s", what);
}

/* One list of attributes. symbol: the entry's number, for attributes that name one; NO_SYMBOL takes none of those. */
static bool read_attributes(struct span list, uint32_t symbol, struct tw_cubin_info *info)
{
    struct span data;
    unsigned format, number;
    size_t at = 0, note;
    uint64_t product;

    while (at < list.bytes) {
        if (list.bytes - at < 4)
            return false;
        format = list.at[at];
        number = list.at[at + 1];
        data.at = list.at + at + 2;
        data.bytes = 2;
        at += 4;
        if (format == 4) {
            if (!cut(list, at, u16(data.at), &data))
                return false;
            at += data.bytes;
        } else if (format < 1 || format > 4) {
            return false;
        }
        switch (number) {
        case ATTRIBUTE_MAX_THREADS:
        case ATTRIBUTE_REQNTID:
            if (format != 4 || data.bytes < 12)
                return false;
            product = (uint64_t)u32(data.at) % 65536 * (u32(data.at + 4) % 65536) * (u32(data.at + 8) % 65536);
            *(number == ATTRIBUTE_REQNTID ? &info->required_threads : &info->max_threads) = (uint32_t)product;
            break;
        case ATTRIBUTE_PARAM_CBANK:
            if (format != 4 || data.bytes < 8)
                return false;
            info->parameter_bytes = u16(data.at + 6);
            break;
        case ATTRIBUTE_KPARAM:
            info->parameter_count++;
            break;
        case ATTRIBUTE_BARRIERS:
            info->barriers = data.at[0];
            break;
        case ATTRIBUTE_NOTES:
            for (note = 0; format == 4 && note + 8 <= data.bytes && u32(data.at + note) == 1; note += 8)
                info->spill_instructions++;
            break;
        case ATTRIBUTE_FRAME_SIZE:
        case ATTRIBUTE_MIN_STACK:
        case ATTRIBUTE_REGCOUNT:
            if (format != 4 || data.bytes < 8)
                return false;
            if (u32(data.at) != symbol)
                break;
            *(number == ATTRIBUTE_REGCOUNT ? &info->registers
              : number == ATTRIBUTE_MIN_STACK ? &info->stack : &info->frame) = u32(data.at + 4);
            break;
        default:
            break;
        }
    }
    return true;
}

/* Walk the kernels in order of the symbol table: name and number of kernel `index`, or of the one called `wanted`.
   1 found, 0 none, -1 malformed. */
static int find_kernel(const struct elf *elf, const char *wanted, unsigned index, struct span *name, uint32_t *symbol)
{
    struct section table, strings;
    struct span text;
    unsigned i, seen = 0;
    size_t k;

    for (i = 0; i < elf->count; i++) {
        if (!read_section(elf, i, &table))
            return -1;
        if (table.type != TYPE_SYMTAB)
            continue;
        if (!read_section(elf, table.link, &strings))
            return -1;
        for (k = 0; k < table.span.bytes / SYM_BYTES; k++) {
            const unsigned char *s = table.span.at + k * SYM_BYTES;

            if (!(s[5] & KERNEL_BIT) || (s[4] & 15) != 2 /* STT_FUNC */)
                continue;
            if (!string_at(strings.span, u32(s), &text))
                return -1;
            if (wanted ? named(text, "", wanted) : seen++ == index) {
                *name = text;
                *symbol = (uint32_t)k;
                return 1;
            }
        }
    }
    return 0;
}

int tw_cubin_info(const void *bytes, size_t count, const char *entry, struct tw_cubin_info *info,
                  struct tw_error *error)
{
    uint32_t symbol = NO_SYMBOL, reserved = 0, text_registers = 0;
    struct section s;
    struct span name;
    struct elf elf;
    unsigned i;
    int found;

    memset(info, 0, sizeof *info);
    if (!open_elf(bytes, count, &elf))
        return malformed(error, "no 64-bit ELF header, or its section table is cut");
    found = find_kernel(&elf, entry, 0, &name, &symbol);
    if (found < 0)
        return malformed(error, "bad symbol table");
    if (!found)
        return tw_fail(error, TW_ERROR_NOT_FOUND, "the cubin has no kernel '%s'", entry);
    for (i = 0; i < elf.count; i++) {
        if (!read_section(&elf, i, &s))
            return malformed(error, "a section lies outside the file");
        if (named(s.name, ".nv.info", "")) {
            if (!read_attributes(s.span, symbol, info))
                return malformed(error, "bad attribute in .nv.info");
        } else if (named(s.name, ".nv.info.", entry)) {
            if (!read_attributes(s.span, NO_SYMBOL, info))
                return malformed(error, "bad attribute in the kernel's .nv.info");
        } else if (named(s.name, ".text.", entry)) {
            info->code_bytes = (uint32_t)(s.bytes > UINT32_MAX ? UINT32_MAX : s.bytes);
            text_registers = s.info >> 24;
        } else if (named(s.name, ".nv.shared.", entry)) {
            info->static_shared = (uint32_t)(s.bytes > UINT32_MAX ? UINT32_MAX : s.bytes);
        } else if (named(s.name, ".nv.shared.reserved.0", "")) {
            reserved = RESERVED_SHARED;
        }
    }
    info->static_shared = info->static_shared > reserved ? info->static_shared - reserved : 0;
    if (!info->registers)
        info->registers = text_registers;
    return TW_OK;
}

int tw_cubin_entry(const void *bytes, size_t count, unsigned index, char *name, size_t name_bytes,
                   struct tw_error *error)
{
    struct span text;
    struct elf elf;
    uint32_t symbol;
    int found;

    if (!open_elf(bytes, count, &elf))
        return malformed(error, "no 64-bit ELF header, or its section table is cut");
    found = find_kernel(&elf, NULL, index, &text, &symbol);
    if (found < 0)
        return malformed(error, "bad symbol table");
    if (!found)
        return tw_fail(error, TW_ERROR_NOT_FOUND, "the cubin has no kernel number %u", index);
    if (text.bytes >= name_bytes)
        return tw_fail(error, TW_ERROR_CUBIN, "a kernel's name has %zu bytes", text.bytes);
    memcpy(name, text.at, text.bytes);
    name[text.bytes] = '\0';
    return TW_OK;
}
