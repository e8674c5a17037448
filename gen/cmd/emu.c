/* tilewright emu: any kernel of a .cu or .ptx file, on the emulator, or with the same arguments on a GPU. */
#include "emu/emu.h"
#include "emu/hazards.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "architecture.h"
#include "cmd/cmd.h"
#include "cmd/emu/emu_args.h"
#include "cmd/emu/emu_load.h"
#include "cmd/emu/emu_replay.h"
#include "common/json.h"
#include "common/options.h"
#include "common/tell.h"
#include "verify/run/finding.h"

enum { MOST_SMS = 1024 };

static const char help_arguments[] =
    "\n"
    "Arguments, one --arg each, in the order of the kernel's parameters:\n"
    "  5, -1, 1.5                 a number of the parameter's type\n"
    "  i32:5 u64:9 f32:1.5 bf16:1 one of this type: i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64\n"
    "  buf:BYTES[,fill=F][,dump=FILE][,name=NAME][,offset=N]\n"
    "                             the address of a new buffer, or N bytes behind it; FILE gets all its\n"
    "                             bytes after the launch\n"
    "  buffer:BYTES,name=NAME,... no argument: a buffer for others to name, as by --buffer\n"
    "  ref:NAME[+N]               the address of a buffer again\n"
    "  map:CALL                   a tensor map: a call of 'tensormap encode' as JSON, with \"buffer\":\"NAME\" and\n"
    "                             \"offset\":N for addr; or words, buffer=NAME dtype=bf16 dim=64,64 box=64,8;\n"
    "                             or @FILE with either\n"
    "  bytes:HEX                  a struct as it lies in memory\n"
    "  struct:{A,B,...}           a struct of such arguments, each aligned as C does\n"
    "Bytes may be written 4*1024, 64K, 2*(1M+16). A buffer is not initialised unless F says so:\n";

static const struct {
    const char *word, *behind, *doc;
} fills[] = {
#define EMU_FILL(word, behind, read, doc) {word, behind, doc},
#include "cmd/emu/emu_fills.def"
#undef EMU_FILL
};

static const char help_examples[] =
    "\n"
    "Examples:\n"
    "  tilewright emu add.cu --grid 4 --block 256 --arg buf:4K,fill=iota:f32 --arg buf:4K,fill=ones:f32 \\\n"
    "      --arg buf:4K,dump=sum.bin --arg 1024\n"
    "  tilewright emu add.ptx --entry add --grid 4 --block 256 --args add.args\n"
    "  tilewright emu reduce.cu --entry tools::sum --grid 1 --block 128 --shared 512 \\\n"
    "      --arg buf:512,fill=normal:f32:7,name=x --arg ref:x\n"
    "  tilewright emu load.cu --grid 1 --block 128 --complete late --buffer 8K,name=A,fill=integer:bf16 \\\n"
    "      --arg 'map:buffer=A dtype=bf16 dim=64,64 box=64,64 swizzle=128B'\n"
    "  tilewright emu kernel.cu --grid 8 --block 384 --cluster 2 --shared 200K \\\n"
    "      --buffer 32K,name=A,fill=normal:bf16 \\\n"
    "      --arg 'struct:{map:@a.json,buf:64K,name=D,dump=D.bin,i64:256,i32:3,f32:0.5}'\n"
    "  tilewright emu race.cu --grid 1 --block 64 --arg buf:256,fill=zero --hazards strict --json\n"
    "  tilewright emu poll.cu --grid 2 --block 32 --arg buf:8,fill=zero --complete random --seed 7 --limit 1000000\n"
    "  tilewright emu grid.cu --grid 8 --block 64 --cooperative --nvrtc -std=c++20 --set scale=0.5\n"
    "  tilewright emu add.cu --grid 4 --block 256 --args add.args --device cuda\n"
    "  tilewright emu --replay records/add.7.record --blocks 0:2 --as f32 --rtol 1e-5\n";

static void print_help(void)
{
    fputs(help_arguments, stdout);
    for (size_t i = 0; i < sizeof fills / sizeof *fills; i++) {
        int written = printf("  %s%s", fills[i].word, fills[i].behind);
        printf("%*s%s\n", written < 29 ? 29 - written : 1, "", fills[i].doc);
    }
    fputs(help_examples, stdout);
}

/* The command under way. */
struct emulation {
    struct tw_runtime rt;
    struct tell tell;
    struct emu_program program;
    struct emu_args args;
    struct emu_replay replay; /* its path: NULL without --replay */
    struct tw_device *device;
    struct tw_kernel *kernel;
    struct tw_launch launch;
    struct emu_options options;
    struct option_list includes, defines, own, arguments, buffers, settings;
    const char *arch, *entry, *args_file, *device_name;
    bool json, stats, cooperative, on_emu;
    char *output; /* what the kernel printed, under --json */
    size_t output_bytes, output_room;
    double seconds;
};

static int fail(const struct emulation *e, int status, const struct tw_error *error)
{
    return tell_status(&e->tell, status, error);
}

/* ---- the device ------------------------------------------------------------------------------------------------- */

/* What the emulator found, with what to do where a name comes for the first time. */
static void show_reports(const struct tw_device *device)
{
    const struct emu_report *r;
    uint64_t told = 0;
    fflush(stdout);
    for (size_t i = 0; (r = emu_device_report(device, i)); i++) {
        enum emu_hazard_name number = emu_hazard_find(r->name);
        uint64_t bit = number < EMU_HAZARD_COUNT ? UINT64_C(1) << number : 0;
        fputs(r->text, stderr);
        if (r->count > 1)
            fprintf(stderr, "; %" PRIu64 " times", r->count);
        if (r->more)
            fprintf(stderr, "; and %" PRIu64 " more of this name at other places", r->more);
        putc('\n', stderr);
        if (bit & ~told)
            fprintf(stderr, "  do: %s\n", r->todo);
        told |= bit;
    }
}

static void keep_output(void *context, const char *text, size_t bytes)
{
    struct emulation *e = context;
    if (e->output_room - e->output_bytes <= bytes) {
        size_t room = 2 * e->output_room + bytes + 4096;
        char *grown = tw_realloc(&e->rt, e->output, room);
        if (!grown)
            return;
        e->output = grown;
        e->output_room = room;
    }
    memcpy(e->output + e->output_bytes, text, bytes);
    e->output_bytes += bytes;
    e->output[e->output_bytes] = '\0';
}

/* What a .ptx of this target runs on here: the same architecture, or the next one up where the emulator lacks it. NULL
 * where none will do. */
static const char *arch_for(const char *target)
{
    const struct tw_architecture *a = tw_architecture_find(target);
    if (a)
        return a->name;
    struct tw_architecture_name wanted, own;
    if (tw_architecture_parse(target, &wanted) != 0 || wanted.suffix)
        return NULL;
    for (a = tw_architectures; a->name; a++)
        if (tw_architecture_parse(a->name, &own) == 0 && !own.suffix && wanted.number <= own.number)
            return a->name;
    return NULL;
}

/* Whether code for `target` runs on `arch`: the same name, or a plain target that is no newer. */
static bool runs_on(const char *target, const char *arch)
{
    struct tw_architecture_name wanted, own;
    if (strcmp(target, arch) == 0)
        return true;
    return tw_architecture_parse(target, &wanted) == 0 && tw_architecture_parse(arch, &own) == 0 && !wanted.suffix &&
           wanted.number <= own.number;
}

static int open_device(struct emulation *e)
{
    const char *target = e->program.is_ptx ? e->program.module->target : NULL;
    struct tw_error error;
    int status;
    if (!e->on_emu) {
        int ordinal = e->device_name[4] == ':' ? atoi(e->device_name + 5) : 0;
        status = tw_device_open_cuda(&e->rt, ordinal, &e->device, &error);
        return status == TW_OK ? 0 : fail(e, status, &error);
    }
    e->options.arch = e->arch ? e->arch : target ? arch_for(target) : "sm_90a";
    if (target && !e->options.arch) {
        char names[160];
        tell_file(&e->tell, e->program.path, 0, "its .target is %s, and the emulator has %s", target,
                  tw_architecture_names(names, sizeof names));
        return 1;
    }
    status = tw_device_open_emu(&e->rt, &e->options, &e->device, &error);
    if (status == TW_ERROR_INVALID)
        return options_fault("emu", "--arch %s: %s", e->options.arch, error.text);
    if (status != TW_OK)
        return fail(e, status, &error);
    if (target && !runs_on(target, e->options.arch)) {
        tell_fault(&e->tell, "--arch %s: the .target of %s is %s, which does not run there", e->options.arch,
                   e->program.path, target);
        return 1;
    }
    return 0;
}

static int load_kernel(struct emulation *e)
{
    struct emu_program *p = &e->program;
    struct tw_load load = {.entry = p->entry, .name = p->path, .ptx = p->ptx, .ptx_bytes = p->ptx_bytes,
                           .cubin = p->compiled.cubin, .cubin_bytes = p->compiled.cubin_bytes};
    struct tw_error error;
    int status = tw_device_load(e->device, &load, &e->kernel, &error);
    e->launch.kernel = e->kernel;
    return status == TW_OK ? 0 : emu_program_fault(p, status, &error);
}

/* ---- arguments -------------------------------------------------------------------------------------------------- */

/* Of a fault that begins with the file of arguments, and maybe a line of it. */
static int fail_line(const struct emulation *e, int status, const struct tw_error *error)
{
    const char *rest = error->text + strlen(e->args_file);
    char *end;
    unsigned long line = strtoul(rest + (*rest == ':'), &end, 10);
    if (line && *end == ':')
        rest = end;
    else
        line = 0;
    tell_file(&e->tell, e->args_file, line, "%s", rest + strspn(rest, ": "));
    return tw_status_exit(status);
}

static int read_arguments(struct emulation *e)
{
    struct tw_error error;
    char where[32];
    const char *before = "";
    int status = e->args_file ? emu_args_read_file(&e->args, e->args_file, &error) : TW_OK;
    if (status != TW_OK) {
        /* Of a line of it the text says where. */
        if (status == TW_ERROR_INVALID && strncmp(error.text, e->args_file, strlen(e->args_file)) == 0)
            return fail_line(e, status, &error);
        before = "--args ";
    }
    for (int i = 0; i < e->arguments.count && status == TW_OK; i++) {
        snprintf(where, sizeof where, "--arg %d:", i + 1);
        status = emu_args_add(&e->args, e->arguments.item[i], where, &error);
    }
    for (int i = 0; i < e->buffers.count && status == TW_OK; i++) {
        snprintf(where, sizeof where, "--buffer %d:", i + 1);
        char *text = tw_format(&e->rt, "buffer:%s", e->buffers.item[i]);
        status = text ? emu_args_add(&e->args, text, where, &error)
                      : tw_fail(&error, TW_ERROR_MEMORY, "out of memory");
        tw_free(&e->rt, text);
    }
    for (int i = 0; i < e->settings.count && status == TW_OK; i++) {
        snprintf(where, sizeof where, "--set %d:", i + 1);
        status = emu_args_set(&e->args, e->settings.item[i], where, &error);
    }
    if (status == TW_OK)
        return 0;
    tell_fault(&e->tell, "%s%s", before, error.text);
    return status == TW_ERROR_NOT_FOUND ? 1 : tw_status_exit(status);
}

static void tell_parameters(const struct emulation *e)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return;
    emu_args_print_parameters(out, e->program.module, e->program.kernel);
    if (fclose(out) == 0)
        tell_lines(&e->tell, text);
    free(text);
}

static int place_arguments(struct emulation *e)
{
    struct tw_error error;
    for (int i = 0; i < e->args.setting_count; i++)
        if (!(e->args.setting[i].variable = emu_program_variable(&e->program, e->args.setting[i].name, "--set")))
            return 1;
    int status = emu_args_check(&e->args, e->program.module, e->program.kernel, &error);
    if (status != TW_OK) {
        fail(e, status, &error);
        tell_parameters(e);
        return tw_status_exit(status);
    }
    status = emu_args_place(&e->args, e->device, e->program.module, e->program.kernel, &e->launch, &error);
    return status == TW_OK ? 0 : fail(e, status, &error);
}

/* ---- the launch ------------------------------------------------------------------------------------------------- */

static uint64_t blocks_of(const struct tw_launch *launch)
{
    if (launch->block_count)
        return launch->block_count;
    return (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
}

static json_object *triple(const uint32_t v[3])
{
    json_object *list = json_object_new_array();
    for (int i = 0; list && i < 3; i++)
        json_object_array_add(list, json_object_new_int64(v[i]));
    return list;
}

static void add_results(const struct emulation *e, bool completed, const struct emu_statistics *s)
{
    json_object *o = e->tell.result, *hazards = json_object_new_array();
    const struct emu_report *r;
    json_add_truth(o, "completed", completed);
    json_add_text(o, "kernel", e->program.entry);
    json_add_text(o, "device", e->device->ops->kind);
    json_add_text(o, "name", e->device->name);
    json_add_text(o, "arch", e->arch ? e->arch : e->device->arch);
    json_object_object_add(o, "grid", triple(e->launch.grid));
    json_object_object_add(o, "block", triple(e->launch.block));
    json_add_number(o, "registers", e->kernel->registers);
    json_add_number(o, "static_shared", e->kernel->static_shared);
    json_add_real(o, "seconds", e->seconds);
    json_add_number(o, "blocks", s->blocks);
    if (e->on_emu) {
        json_add_number(o, "warp_instructions", s->warp_instructions);
        json_add_number(o, "thread_instructions", s->thread_instructions);
        json_add_number(o, "peak_bytes", s->peak_bytes);
        json_add_text(o, "output", e->output ? e->output : "");
        for (size_t i = 0; hazards && (r = emu_device_report(e->device, i)); i++)
            json_object_array_add(hazards, finding_object(r));
        json_object_object_add(o, "hazards", json_object_get(hazards));
    }
    json_object_put(hazards);
}

static void print_stats(const struct emulation *e, const struct emu_statistics *s)
{
    printf("registers: %" PRIu32 " a thread\nstatic shared memory: %" PRIu32 " bytes\nlocal memory: %" PRIu32
           " bytes a thread\nseconds: %.6f\n",
           e->kernel->registers, e->kernel->static_shared, e->kernel->local_bytes, e->seconds);
    if (e->on_emu)
        printf("warp-instructions: %" PRIu64 "\nmillion thread-instructions a second: %.1f\npeak bytes of resident "
               "blocks: %zu\n",
               s->warp_instructions, e->seconds > 0 ? (double)s->thread_instructions / e->seconds * 1e-6 : 0.0,
               s->peak_bytes);
}

/* Of hazards that were not looked for nothing is said. */
static void print_completed(const struct emulation *e, const struct emu_statistics *s)
{
    printf("completed: %" PRIu64 " block%s, %" PRIu64 " thread-instructions", s->blocks, s->blocks == 1 ? "" : "s",
           s->thread_instructions);
    if (e->options.hazards != EMU_HAZARDS_OFF)
        printf(", %" PRIu64 " hazard%s", s->reports, s->reports == 1 ? "" : "s");
    putchar('\n');
}

/* Of a record that completed here: what memory holds beside what it held there. */
static int compare(struct emulation *e, bool completed, int result)
{
    int compared = completed && e->replay.path ? emu_replay_compare(&e->replay, e->device) : 0;
    return result ? result : compared;
}

static int launch(struct emulation *e)
{
    struct emu_statistics s = {0};
    struct tw_error error = {""}, dumped;
    double start = e->rt.process.now(e->rt.process.self);
    int status = tw_device_launch(e->device, &e->launch, &error);
    if (status == TW_OK)
        status = tw_device_synchronize(e->device, &error);
    e->seconds = e->rt.process.now(e->rt.process.self) - start;
    fflush(stdout);
    if (e->on_emu)
        emu_device_statistics(e->device, &s);
    else if (status == TW_OK)
        s.blocks = blocks_of(&e->launch);
    if (e->on_emu && !e->json)
        show_reports(e->device);
    /* A kernel that went on over hazards has completed all the same. */
    bool completed = status == TW_OK || (status == TW_ERROR_LAUNCH && s.reports && s.blocks == blocks_of(&e->launch));
    bool told = strncmp(error.text, "hazard ", 7) == 0;
    if (status != TW_OK && !told && !e->program.is_ptx && strncmp(error.text, "PTX line ", 9) == 0)
        emu_program_fault(&e->program, status, &error);
    else if (status != TW_OK && !told)
        fail(e, status, &error);
    int result = tw_status_exit(status);
    if (completed && emu_args_dump(&e->args, e->device, &dumped) != TW_OK) {
        fail(e, TW_ERROR_FILE, &dumped);
        result = 3;
    }
    if (e->json) {
        add_results(e, completed, &s);
        return compare(e, completed, result);
    }
    if (e->stats)
        print_stats(e, &s);
    if (completed && e->on_emu)
        print_completed(e, &s);
    else if (completed)
        printf("completed: %" PRIu64 " block%s on %s\n", s.blocks, s.blocks == 1 ? "" : "s", e->device->name);
    return compare(e, completed, result);
}

/* What a record says, in place of a file and arguments. */
static int replay(struct emulation *e)
{
    int status = emu_replay_read(&e->replay, &e->program);
    uint32_t sms = e->replay.record.launch.sms;
    if (status == 0 && !e->options.sm_count && sms <= MOST_SMS)
        e->options.sm_count = (int)sms;
    if (status == 0)
        status = open_device(e);
    if (status == 0)
        status = emu_program_choose(&e->program, e->replay.record.entry);
    if (status == 0)
        status = emu_replay_place(&e->replay, e->device);
    if (status == 0)
        status = load_kernel(e);
    if (status == 0)
        status = emu_replay_launch(&e->replay, e->device, &e->program, &e->launch);
    return status == 0 ? launch(e) : status;
}

static int go(struct emulation *e)
{
    if (e->replay.path)
        return replay(e);
    int status = read_arguments(e);
    if (status == 0)
        status = emu_program_read(&e->program);
    if (status == 0)
        status = open_device(e);
    if (status == 0)
        status = emu_program_compile(&e->program, e->arch ? e->arch : e->device->arch,
                                     e->on_emu ? TW_OUTPUT_PTX : TW_OUTPUT_PTX | TW_OUTPUT_CUBIN, &e->includes,
                                     &e->defines, &e->own);
    if (status == 0)
        status = emu_program_choose(&e->program, e->entry);
    if (status == 0 && !e->launch.block[0]) {
        memcpy(e->launch.block, e->program.kernel->reqntid, sizeof e->launch.block);
        if (!e->launch.block[0])
            status = options_fault("emu", "--block is missing, and the kernel has no .reqntid");
    }
    if (status == 0)
        status = load_kernel(e);
    if (status == 0)
        status = place_arguments(e);
    return status == 0 ? launch(e) : status;
}

/* ---- options ---------------------------------------------------------------------------------------------------- */

/* "X", "X,Y" or "X,Y,Z"; what is left out is 1. */
static bool read_triple(const char *text, uint32_t out[3])
{
    out[1] = out[2] = 1;
    for (int i = 0; i < 3; i++) {
        char *end;
        unsigned long long value = strtoull(text, &end, 10);
        if (*text < '0' || *text > '9' || value > INT32_MAX || (*end && *end != ','))
            return false;
        out[i] = (uint32_t)value;
        if (!*end)
            return true;
        text = end + 1;
    }
    return false;
}

/* Finds a word; its number, or -1. */
static int word_number(const char *word, const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0)
            return i;
    return -1;
}

static bool known_device(const char *name)
{
    return strcmp(name, "emu") == 0 || strcmp(name, "cuda") == 0 ||
           (strncmp(name, "cuda:", 5) == 0 && name[5] && strspn(name + 5, "0123456789") == strlen(name + 5) &&
            strlen(name) < 8);
}

/* The options that are words and sizes. */
struct words {
    const char *grid, *block, *cluster, *shared, *complete, *hazards, *stack, *heap;
    struct emu_replay_words replay;
};

/* What a record says is not said again, and what belongs to one is not said without it. -1, or a status. */
static int check_replay(struct emulation *e, const struct words *w, int operands)
{
    const struct emu_replay_words *r = &w->replay;
    const char *alone = r->blocks ? "--blocks" : r->as ? "--as" : r->atol ? "--atol" : r->rtol ? "--rtol" : NULL;
    const char *said = operands                                       ? "a file"
                       : e->entry                                     ? "--entry"
                       : w->grid                                      ? "--grid"
                       : w->block                                     ? "--block"
                       : w->cluster                                   ? "--cluster"
                       : w->shared                                    ? "--shared"
                       : e->arguments.count || e->args_file           ? "arguments"
                       : e->buffers.count                             ? "--buffer"
                       : e->settings.count                            ? "--set"
                       : e->cooperative                               ? "--cooperative"
                       : e->includes.count + e->defines.count         ? "--include or --define"
                       : e->own.count                                 ? "--nvrtc"
                       : strcmp(e->device_name, "emu") != 0           ? "--device"
                                                                      : NULL;
    if (!e->replay.path && alone)
        return options_fault("emu", "%s is of a record: write --replay FILE", alone);
    if (e->replay.path && said)
        return options_fault("emu", "--replay %s and %s: the record says it all", e->replay.path, said);
    return e->replay.path ? emu_replay_words(&e->replay, r) : -1;
}

static int read_words(struct emulation *e, const struct words *w)
{
    static const char *const completions[] = {"eager", "late", "random"};
    static const char *const hazards[] = {"off", "on", "fatal", "strict"};
    uint64_t shared = 0, stack = 0, heap = 0;
    const char *why;
    int completion = word_number(w->complete, completions, 3), hazard = word_number(w->hazards, hazards, 4);
    if (!known_device(e->device_name))
        return options_fault("emu", "--device %s: write emu, cuda or cuda:N", e->device_name);
    if (completion < 0)
        return options_fault("emu", "--complete %s: write eager, late or random", w->complete);
    if (hazard < 0)
        return options_fault("emu", "--hazards %s: write on, off, fatal or strict", w->hazards);
    if (!w->grid && !e->replay.path)
        return options_fault("emu", "--grid is missing: the blocks, X, X,Y or X,Y,Z");
    if (w->grid && !read_triple(w->grid, e->launch.grid))
        return options_fault("emu", "--grid %s: write X, X,Y or X,Y,Z, each 0 to 2147483647", w->grid);
    if (w->block && (!read_triple(w->block, e->launch.block) || !e->launch.block[0] || !e->launch.block[1] ||
                     !e->launch.block[2]))
        return options_fault("emu", "--block %s: write X, X,Y or X,Y,Z, each 1 or more", w->block);
    if (w->cluster && (!read_triple(w->cluster, e->launch.cluster) || !e->launch.cluster[0] ||
                       !e->launch.cluster[1] || !e->launch.cluster[2]))
        return options_fault("emu", "--cluster %s: write X, X,Y or X,Y,Z, each 1 or more", w->cluster);
    if (w->shared && !emu_read_size(w->shared, &shared, &why))
        return options_fault("emu", "--shared %s: %s", w->shared, why);
    if (w->stack && !emu_read_size(w->stack, &stack, &why))
        return options_fault("emu", "--stack %s: %s", w->stack, why);
    if (w->heap && (!emu_read_size(w->heap, &heap, &why) || !heap))
        return options_fault("emu", "--heap %s: %s", w->heap, heap ? why : "write 1 or more bytes");
    if (shared > INT32_MAX)
        return options_fault("emu", "--shared %s: more than any block can have", w->shared);
    if (stack > INT32_MAX || (w->stack && !stack))
        return options_fault("emu", "--stack %s: write 1 to 2147483647 bytes a thread", w->stack);
    for (int i = 0; i < e->own.count; i++) {
        const char *own = e->own.item[i];
        if (*own != '-')
            return options_fault("emu", "--nvrtc %s: an option begins with -", own);
        if (strncmp(own, "-arch", 5) == 0 || strncmp(own, "--gpu-arch", 10) == 0)
            return options_fault("emu", "--nvrtc %s: write --arch", own);
    }
    e->launch.flags = e->cooperative ? TW_LAUNCH_COOPERATIVE : 0;
    e->launch.shared_bytes = (uint32_t)shared;
    e->options.stack_bytes = (size_t)stack;
    e->options.heap_bytes = (size_t)heap;
    e->options.completion = (enum emu_completion)completion;
    e->options.hazards = (enum emu_hazards)hazard;
    e->on_emu = strcmp(e->device_name, "emu") == 0;
    return -1;
}

static int start(struct emulation *e, uint64_t sms)
{
    struct tw_error error;
    int status = tell_open(&e->tell, "emu", e->json);
    if (status != 0)
        return status;
    status = tw_runtime_init(&e->rt, &error);
    if (status != TW_OK)
        return tell_close(&e->tell, fail(e, status, &error));
    e->program.rt = e->args.rt = e->replay.rt = &e->rt;
    e->program.tell = e->replay.tell = &e->tell;
    e->options.sm_count = (int)sms;
    if (e->json) {
        e->options.print = keep_output;
        e->options.print_context = e;
    }
    status = go(e);
    tw_device_unload(e->device, e->kernel);
    emu_args_free(&e->args, e->device);
    tw_device_close(e->device);
    emu_program_free(&e->program);
    emu_replay_free(&e->replay);
    tw_free(&e->rt, e->output);
    tw_runtime_close(&e->rt);
    return tell_close(&e->tell, status);
}

int cmd_emu(int argc, char **argv)
{
    static const struct emulation none;
    struct emulation *e = malloc(sizeof *e); /* its lists are long */
    struct words w = {.complete = "eager", .hazards = "on"};
    uint64_t sms = 0;
    int operands, status;
    const char *path;
    if (!e) {
        fputs("tilewright emu: out of memory\n", stderr);
        return 3;
    }
    *e = none;
    e->device_name = "emu";
    e->options.seed = 1;
    const struct option_row table[] = {
        {"--entry", OPTION_TEXT, &e->entry, "NAME",
         "the kernel, by its name in PTX or C++; needed where there are several"},
        {"--grid", OPTION_TEXT, &w.grid, "X,Y,Z", "blocks; what is left out is 1"},
        {"--block", OPTION_TEXT, &w.block, "X,Y,Z", "threads of a block"},
        {"--cluster", OPTION_TEXT, &w.cluster, "X,Y,Z", "blocks of a cluster"},
        {"--shared", OPTION_TEXT, &w.shared, "BYTES", "dynamic shared memory of a block"},
        {"--arg", OPTION_LIST, &e->arguments, "ARGUMENT", "the next parameter; repeatable"},
        {"--buffer", OPTION_LIST, &e->buffers, "BYTES,name=A,...",
         "a buffer that maps and ref: name and that is no argument itself; repeatable"},
        {"--args", OPTION_TEXT, &e->args_file, "FILE",
         "arguments, one a line, before those of --arg; # begins a comment"},
        {"--arch", OPTION_TEXT, &e->arch, "A",
         "compile for and emulate this architecture; sm_90a, or the PTX's .target"},
        {"--include", OPTION_LIST, &e->includes, "DIR",
         "where headers are looked for, before the toolkit's; repeatable"},
        {"--define", OPTION_LIST, &e->defines, "NAME=V", "a macro for the .cu file; repeatable"},
        {"--nvrtc", OPTION_LIST, &e->own, "OPTION", "an option of NVRTC for the .cu file: -std=c++20; repeatable"},
        {"--set", OPTION_LIST, &e->settings, "NAME=VALUE",
         "what a __device__ or __constant__ variable holds before the launch, as in --arg; repeatable"},
        {"--cooperative", OPTION_FLAG, &e->cooperative, NULL,
         "all blocks are resident at once: grids may be synchronised"},
        {"--device", OPTION_TEXT, &e->device_name, "emu|cuda[:N]", "where to run; emu"},
        {"--complete", OPTION_TEXT, &w.complete, "eager|late|random",
         "when the emulator's asynchronous operations happen; eager"},
        {"--seed", OPTION_NUMBER, &e->options.seed, "N", "of --complete random; 1"},
        {"--hazards", OPTION_TEXT, &w.hazards, "on|off|fatal|strict",
         "what the emulator does about hazards: tell, nothing, stop; on"},
        {"--sms", OPTION_NUMBER, &sms, "N", "multiprocessors of the emulator; 0, as by default: the architecture's"},
        {"--stack", OPTION_TEXT, &w.stack, "BYTES", "local memory that a thread may use on the emulator; 512K"},
        {"--heap", OPTION_TEXT, &w.heap, "BYTES", "what malloc of the kernel may hold on the emulator; 8M"},
        {"--limit", OPTION_NUMBER, &e->options.instruction_limit, "N",
         "stop the emulator after N instructions of warps; no limit"},
        {"--replay", OPTION_TEXT, &e->replay.path, "FILE", "a recorded launch in place of a file and arguments"},
        {"--blocks", OPTION_TEXT, &w.replay.blocks, "A:B",
         "of its grid run the blocks A to B - 1, and compare what they write"},
        {"--as", OPTION_TEXT, &w.replay.as, "TYPE", "where bytes differ, read elements of this type: bf16, f32, ..."},
        {"--atol", OPTION_TEXT, &w.replay.atol, "X", "by which they may differ"},
        {"--rtol", OPTION_TEXT, &w.replay.rtol, "X", "times what was recorded, the same"},
        {"--json", OPTION_FLAG, &e->json, NULL, "one object, with what the kernel printed and all hazards: help json"},
        {"--stats", OPTION_FLAG, &e->stats, NULL, "registers, memory, seconds, before the last line"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    status = options_parse("emu", table, argc, argv, &path, 1, &operands);
    if (status == 0)
        print_help();
    if (status < 0)
        status = check_replay(e, &w, operands);
    if (status < 0 && !operands && !e->replay.path)
        status = options_fault("emu", "which file? A .cu or a .ptx is wanted, or --replay FILE");
    if (status < 0 && sms > MOST_SMS)
        status = options_fault("emu", "--sms %" PRIu64 ": write 1 to %d", sms, MOST_SMS);
    if (status < 0)
        status = read_words(e, &w);
    if (status < 0) {
        e->program.path = path;
        status = start(e, sms);
    }
    free(e);
    return status;
}
