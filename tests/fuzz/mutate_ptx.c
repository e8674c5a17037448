/* Mutations of PTX for fuzz_ptx and fuzz_load. Bytes turned at random rarely get past the lexer; these keep to lines
   and words: instructions are moved, doubled, dropped and taken from another input, words are put in place of words of
   their kind, numbers become edges. One in eight is libFuzzer's own. Linked with libFuzzer only. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/ptx/ptx.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t *out,
                                 size_t most, unsigned seed);

static const char *const mnemonics[] = {
#define OPCODE(id, mnemonic, reason) mnemonic,
#define FORM(operands, modifiers)
#include "emu/ptx/ptx_opcodes.def"
#undef OPCODE
#undef FORM
};

static const char *const numbers[] = {
    "0", "1", "2", "-1", "3", "4", "7", "8", "15", "16", "17", "31", "32", "33", "63", "64", "127", "128", "255", "256",
    "1024", "4095", "65535", "65536", "1048576", "2147483647", "2147483648", "-2147483648", "4294967295", "4294967296",
    "68719476736", "68719476737", "9223372036854775807", "-9223372036854775808", "18446744073709551615",
    "18446744073709551616", "0x100000400", "0x200000100", "0x300000000", "0x500000000", "0x700000000000", "0f7F800000",
    "0fFFC00000", "0d7FF0000000000000", "0d0000000000000001"};

static const char *const lines[] = {
    "bar.sync 0;", "bar.sync 3, 64;", "bar.arrive 1, 32;", "barrier.cluster.arrive;", "barrier.cluster.wait;", "ret;",
    "exit;", "trap;", "setmaxnreg.inc.sync.aligned.u32 232;", "setmaxnreg.dec.sync.aligned.u32 24;",
    "wgmma.fence.sync.aligned;", "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;",
    "cp.async.commit_group;", "cp.async.wait_group 0;", "cp.async.wait_all;", "cp.async.bulk.commit_group;",
    "cp.async.bulk.wait_group.read 0;", "fence.proxy.async;", "fence.mbarrier_init.release.cluster;", "membar.gl;",
    "griddepcontrol.wait;", "griddepcontrol.launch_dependents;", "bar.warp.sync -1;", "nanosleep.u32 10;", "{", "}",
    ".reg .b32 %fuzz<3>;", ".local .align 8 .b8 fuzz_local[64];", ".shared .align 128 .b8 fuzz_shared[256];"};

static uint64_t mutate_state;

static size_t pick(size_t below)
{
    mutate_state = mutate_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return below ? (size_t)(mutate_state >> 33) % below : 0;
}

/* Replace cut bytes at `at` by put bytes of text; the size after it, or before where it does not fit. */
static size_t splice(uint8_t *data, size_t size, size_t most, size_t at, size_t cut, const void *text, size_t put)
{
    if (size - cut + put > most)
        return size;
    memmove(data + at + put, data + at + cut, size - at - cut);
    memcpy(data + at, text, put);
    return size - cut + put;
}

struct span {
    size_t at, length;
};

/* A line, chosen by a byte in it, so that long ones are chosen more often; with its newline. */
static struct span line_of(const uint8_t *data, size_t size)
{
    struct span s = {pick(size), 0};
    while (s.at && data[s.at - 1] != '\n')
        s.at--;
    while (s.at + s.length < size && data[s.at + s.length] != '\n')
        s.length++;
    s.length += s.at + s.length < size;
    return s;
}

static int is_word(int c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
           c == '%' || c == ':';
}

/* A word from a random place on; a modifier and a negative number with what stands before them. */
static struct span word_of(const uint8_t *data, size_t size)
{
    struct span s = {pick(size), 0};
    while (s.at < size && !is_word(data[s.at]))
        s.at++;
    while (s.at && is_word(data[s.at - 1]))
        s.at--;
    while (s.at + s.length < size && is_word(data[s.at + s.length]))
        s.length++;
    if (s.at && s.length && (data[s.at - 1] == '.' || (data[s.at - 1] == '-' && data[s.at] <= '9'))) {
        s.at--;
        s.length++;
    }
    return s;
}

enum kind { EMPTY, MODIFIER, NUMBER, REGISTER, OTHER };

static enum kind kind_of(const uint8_t *data, struct span s)
{
    int c = s.length ? data[s.at] : 0;
    return !c ? EMPTY : c == '.' ? MODIFIER : c == '-' || (c >= '0' && c <= '9') ? NUMBER : c == '%' ? REGISTER : OTHER;
}

static size_t replace_word(uint8_t *data, size_t size, size_t most)
{
    struct span s = word_of(data, size), other = s;
    enum kind kind = kind_of(data, s);
    char text[160];
    if (kind == EMPTY)
        return size;
    if (kind == NUMBER && pick(2)) {
        const char *number = numbers[pick(sizeof numbers / sizeof numbers[0])];
        return splice(data, size, most, s.at, s.length, number, strlen(number));
    }
    if (kind == MODIFIER && pick(2)) {
        const char *word = NULL;
        while (!word)
            word = pick(2) ? ptx_types[1 + pick(PTX_TYPE_COUNT - 1)].text : ptx_modifier_texts[pick(PTX_MOD_COUNT)];
        int length = snprintf(text, sizeof text, ".%s", word);
        return splice(data, size, most, s.at, s.length, text, (size_t)length);
    }
    if (kind == MODIFIER && !pick(4))
        return splice(data, size, most, s.at, s.length, "", 0);
    if (kind == OTHER && !pick(4)) {
        const char *word = mnemonics[pick(sizeof mnemonics / sizeof mnemonics[0])];
        return splice(data, size, most, s.at, s.length, word, strcspn(word, "|"));
    }
    for (int tries = 0; tries < 20; tries++) {
        other = word_of(data, size);
        if (kind_of(data, other) == kind && other.length < sizeof text &&
            (kind != REGISTER || s.length < 3 || other.length < 3 || data[s.at + 1] == data[other.at + 1]))
            break;
    }
    if (other.length >= sizeof text)
        return size;
    memcpy(text, data + other.at, other.length);
    return splice(data, size, most, s.at, s.length, text, other.length);
}

static size_t move_line(uint8_t *data, size_t size, size_t most, int keep)
{
    struct span s = line_of(data, size);
    char text[1024];
    if (s.length > sizeof text)
        return size;
    memcpy(text, data + s.at, s.length);
    if (!keep)
        size = splice(data, size, most, s.at, s.length, "", 0);
    return splice(data, size, most, size ? line_of(data, size).at : 0, 0, text, s.length);
}

static size_t mutate(uint8_t *data, size_t size, size_t most)
{
    struct span s;
    const char *text;
    switch (pick(16)) {
    case 0:
        return move_line(data, size, most, 1);
    case 1:
        return move_line(data, size, most, 0);
    case 2:
        s = line_of(data, size);
        return splice(data, size, most, s.at, s.length, "", 0);
    case 3:
        text = lines[pick(sizeof lines / sizeof lines[0])];
        s = line_of(data, size);
        size = splice(data, size, most, s.at, 0, "\n", 1);
        return splice(data, size, most, s.at, 0, text, strlen(text));
    case 4:
        if (size > 23 && !memcmp(data, "//fuzz ", 7)) {
            data[7 + pick(16)] = (uint8_t)"0123456789abcdef"[pick(16)];
            return size;
        }
        return splice(data, size, most, 0, 0, "//fuzz 0000000000000000\n", 24);
    case 5:
        return LLVMFuzzerMutate(data, size, most);
    default:
        return replace_word(data, size, most);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    mutate_state = seed;
    if (size < 2 || !pick(8))
        return LLVMFuzzerMutate(data, size, most);
    for (size_t n = 1 + pick(4); n && size; n--)
        size = mutate(data, size, most);
    return size ? size : LLVMFuzzerMutate(data, size, most);
}

/* Some lines of b into a. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t *out,
                                 size_t most, unsigned seed)
{
    mutate_state = seed;
    if (a_size > most)
        a_size = most;
    memcpy(out, a, a_size);
    for (size_t n = 1 + pick(4); n && a_size && b_size; n--) {
        struct span from = line_of(b, b_size);
        for (size_t more = pick(4); more && from.at + from.length < b_size; more--)
            do
                from.length++;
            while (from.at + from.length < b_size && b[from.at + from.length - 1] != '\n');
        a_size = splice(out, a_size, most, line_of(out, a_size).at, 0, b + from.at, from.length);
    }
    return a_size;
}
