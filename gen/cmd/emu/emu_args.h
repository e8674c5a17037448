/* The arguments of `tilewright emu`: scalars, buffers, tensor maps and structs of these, written as text, held against
 * the parameters that a kernel has in its PTX, and laid out as a launch wants them. */
#ifndef TW_GEN_CMD_EMU_EMU_ARGS_H
#define TW_GEN_CMD_EMU_EMU_ARGS_H

#include <stdbool.h>
#include <stdio.h>

#include "device.h"
#include "dtype.h"
#include "emu/ptx/ptx.h"
#include "spec/fill.h"

enum { EMU_ARGS_NONE = -1, EMU_PARAMETER_BYTES = 32764 }; /* what a launch can carry at most (CUDA 12.1, sm_70 on) */

/* What one argument, or one member of a struct, is. */
enum emu_value_kind {
    EMU_VALUE_SCALAR, /* bytes of a known type */
    EMU_VALUE_BARE,   /* a number whose type the parameter says */
    EMU_VALUE_BYTES,  /* bytes:HEX */
    EMU_VALUE_BUFFER, /* address of a buffer of its own */
    EMU_VALUE_REF,    /* address of a buffer by name */
    EMU_VALUE_MAP,    /* 128 bytes of a tensor map */
    EMU_VALUE_STRUCT  /* members, each at its natural alignment */
};

struct emu_value {
    enum emu_value_kind kind;
    const char *text;      /* as written */
    unsigned char data[8]; /* SCALAR */
    const char *rest;      /* BARE: the number; BYTES: digits; REF: name; MAP: the call */
    size_t bytes, align;   /* 0: BARE */
    uint64_t offset;       /* added to an address */
    int buffer;            /* BUFFER */
    int child, next;       /* STRUCT's first member; the next member, or the next argument: EMU_ARGS_NONE ends */
    const char *where;     /* "--arg 2:", "FILE:7:" */
};

enum emu_fill { EMU_FILL_NONE, EMU_FILL_BYTE, EMU_FILL_TYPED, EMU_FILL_HEX, EMU_FILL_FILE, EMU_FILL_MAP };

struct emu_buffer {
    const char *name;      /* "" where it has none */
    size_t bytes;
    uint64_t address;      /* once allocated */
    enum emu_fill fill;
    unsigned char byte;    /* BYTE */
    enum tw_dtype dtype;   /* TYPED */
    struct fill values;    /* TYPED; FILL_DRAWN: integers */
    const char *rest;      /* HEX: digits; FILE: path; MAP: the call */
    uint64_t seed;         /* TYPED */
    const char *dump;      /* path, or NULL */
    const char *where, *text;
    int number;            /* among all buffers, from 0 */
};

/* What a variable of the module holds before the launch. */
struct emu_setting {
    const char *name;
    int value;
    const struct ptx_variable *variable; /* NULL: not found yet */
};

/* Zero-initialised but for rt is empty. */
struct emu_args {
    struct tw_runtime *rt;
    struct emu_value *value;
    struct emu_buffer *buffer;
    int value_count, buffer_count, value_room, buffer_room;
    int first, last, count; /* the arguments: value[first], .next, ... */
    struct emu_setting *setting;
    int setting_count, setting_room;
    char **kept;           /* strings */
    size_t kept_count, kept_room;
    unsigned char *params; /* once packed */
    uint32_t *offsets;
};

/* Bytes from "4*(1024+16)", "64K": decimal or 0x numbers, K M G, + - * / and parentheses. False, with *why, where it is
 * no such number. */
bool emu_read_size(const char *text, uint64_t *value, const char **why);

/* Adds the next argument, or a buffer that is none: "buffer:BYTES,name=A,...". `where` is for messages, and is copied.
 * TW_ERROR_INVALID, TW_ERROR_MEMORY. */
int emu_args_add(struct emu_args *args, const char *text, const char *where, struct tw_error *error);

/* Adds "NAME=VALUE", VALUE as an argument's: what a __device__ or __constant__ variable holds. A name comes once. */
int emu_args_set(struct emu_args *args, const char *text, const char *where, struct tw_error *error);

/* Adds the arguments of a file, one a line; lines that are empty or begin with # are none. */
int emu_args_read_file(struct emu_args *args, const char *path, struct tw_error *error);

/* Number and bytes against the kernel's parameters, and bytes against the variables that are set, which the caller has
 * found; gives bare numbers their type. */
int emu_args_check(struct emu_args *args, const struct ptx_module *module, const struct ptx_function *kernel,
                   struct tw_error *error);

/* Lists a kernel's parameters: index, type, bytes, alignment. */
void emu_args_print_parameters(FILE *out, const struct ptx_module *module, const struct ptx_function *kernel);

/* Allocates and fills the buffers, makes the tensor maps for this device, and fills in params, params_bytes, offsets
 * and offset_count of the launch, which point into args; writes the variables that are set of the launch's kernel. */
int emu_args_place(struct emu_args *args, struct tw_device *device, const struct ptx_module *module,
                   const struct ptx_function *kernel, struct tw_launch *launch, struct tw_error *error);

/* Writes the buffers that have a dump file, all of them or none. */
int emu_args_dump(struct emu_args *args, struct tw_device *device, struct tw_error *error);

/* Frees the buffers on the device, and everything else. device may be NULL if nothing was placed. */
void emu_args_free(struct emu_args *args, struct tw_device *device);

/* ---- what the files of emu_args share ---- */

/* A copy of length bytes, zero-terminated, that lives as long as args; NULL without memory. */
char *emu_args_keep(struct emu_args *args, const char *text, size_t length);

/* Length of the first piece of a list: up to a comma outside of (), [], {} and "". */
size_t emu_args_piece(const char *text);

/* The options of a buffer behind its size: ",fill=...,dump=..." */
int emu_args_read_buffer(struct emu_args *args, struct emu_buffer *buffer, const char *options,
                         uint64_t *offset, struct tw_error *error);

/* Fills a placed buffer. */
int emu_args_fill(struct emu_args *args, const struct emu_buffer *buffer, struct tw_device *device,
                  struct tw_error *error);

/* The buffer of that name, or NULL. */
const struct emu_buffer *emu_args_find(const struct emu_args *args, const char *name);

/* The 128 bytes of a tensor map from its text: JSON, words or @FILE. Buffers have their addresses. */
int emu_args_map(struct emu_args *args, const char *text, const char *where, const struct tw_device *device,
                 uint64_t map[16], struct tw_error *error);

/* Digits into bytes; spaces between them are allowed. False where they are no bytes, or more than `room`. */
bool emu_args_hex(const char *digits, unsigned char *out, size_t room, size_t *count);

#endif
