#include "compile/compile.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/options.h"
#include "common/parallel.h"
#include "common/tool.h"
#include "compile/compile_host.h"
#include "emit/embed.h"
#include "emit/shelf.h"
#include "version.h"

const char *const compile_with_word[COMPILE_WITH_COUNT] = {"nvrtc", "nvcc"};

double compile_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void compile_close(struct compile *c)
{
    struct memory memory = {NULL, NULL};
    for (int i = 0; i < c->unit_count; i++) {
        struct compile_unit *unit = &c->unit[i];
        for (int w = 0; w < COMPILE_WITH_COUNT; w++)
            tw_compiled_free(&c->rt, &unit->compiled[w]);
        if (unit->source)
            memory_resize(&memory, unit->source, unit->source_bytes + 1, 0);
        plan_free(&unit->plan);
        tw_free(&c->rt, unit->why);
    }
    tw_free(&c->rt, c->unit);
    tw_free(&c->rt, c->folder);
    plan_proofs_close(c->proofs);
    shelf_close(c->shelf);
    spec_free(&c->spec);
    diag_free(&c->diags);
    compile_free_faults(c);
    tw_runtime_close(&c->rt);
}

/* ---- choosing -------------------------------------------------------------------------------------------------- */

static int check_kernel(struct compile *c, const char *name)
{
    const char **names = tw_alloc(&c->rt, sizeof *names * (size_t)(c->spec.kernel_count + 1));
    bool found = false;
    if (!names)
        return 3;
    for (int i = 0; i < c->spec.kernel_count; i++) {
        names[i] = c->spec.kernel[i].name;
        found = found || strcmp(names[i], name) == 0;
    }
    names[c->spec.kernel_count] = NULL;
    if (!found) {
        const char *near = diag_suggest(name, names), *first = c->spec.kernel_count ? names[0] : "";
        compile_say(c, DIAG_ERROR, "%s has no kernel '%s'; %s '%s'%s", c->path, name,
                    near ? "did you mean" : "its first is", near ? near : first, near ? "?" : "");
    }
    tw_free(&c->rt, names);
    return found ? 0 : 2;
}

static bool kernel_chosen(const struct compile_choice *choice, const struct spec_kernel *kernel)
{
    return !choice->kernel || strcmp(choice->kernel, kernel->name) == 0;
}

/* The architecture for the same devices, by another letter; NULL: there is none. */
static const char *same_device(const struct compile *c, const struct tw_architecture_name *name)
{
    struct tw_architecture_name known;
    for (int a = 0; c->tables.arch[a]; a++)
        if (tw_architecture_parse(c->tables.arch[a], &known) == 0 && known.number == name->number)
            return c->tables.arch[a];
    return NULL;
}

/* Words of --arch that are no architecture. 0 or 2, told on stderr. */
static int check_architecture_names(const struct compile *c, const char *list)
{
    char wanted[64];
    for (int i = 0; options_entry(list, i, wanted, sizeof wanted); i++) {
        if (!*wanted) {
            compile_say(c, DIAG_ERROR, "--arch '%s' has an empty entry; write one such as %s", list, c->tables.arch[0]);
            return 2;
        }
        if (arch_find(wanted))
            continue;
        struct tw_architecture_name name;
        const bool is_name = tw_architecture_parse(wanted, &name) == 0;
        const char *near = is_name ? same_device(c, &name) : diag_suggest(wanted, c->tables.arch);
        char known[256] = "", takes[160] = "";
        for (int a = 0; c->tables.arch[a]; a++)
            snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", a ? ", " : "", c->tables.arch[a]);
        if (is_name && !near && name.major >= 8)
            snprintf(takes, sizeof takes, "; a %d.%d takes PTX of those without a letter", name.major, name.minor);
        compile_say(c, DIAG_ERROR, "there is no architecture '%s'; %s%s%s%s", wanted,
                    near ? "did you mean '" : "known are ", near ? near : known, near ? "'?" : "", takes);
        return 2;
    }
    return 0;
}

/* Kernels of which each architecture is left out where no --arch asks for it are told of; where there are no others,
 * that is an error. Exit status. */
static int check_unasked(const struct compile *c, const struct compile_choice *choice)
{
    const struct arch *has[COMPILE_ARCHITECTURES];
    const struct spec_kernel *lacking = NULL;
    int with = 0, without = 0;
    for (int k = 0; k < c->spec.kernel_count; k++) {
        const struct spec_kernel *kernel = &c->spec.kernel[k];
        if (!kernel->sound || !kernel_chosen(choice, kernel))
            continue;
        const bool some = compile_architectures(kernel, NULL, has) > 0;
        with += some;
        without += !some;
        lacking = some || lacking ? lacking : kernel;
    }
    if (without)
        compile_say(c, with ? DIAG_NOTE : DIAG_ERROR,
                    "kernel '%s'%s is left out: its architectures say asked = true; write --arch %s", lacking->name,
                    without > 1 ? " and others" : "", lacking->arch_count ? lacking->arch[0].name : "A");
    return without && !with ? 1 : 0;
}

/* Each architecture that is asked for by name: none of the kernels has it, some have it, all have it. */
static int check_architectures(struct compile *c, const struct compile_choice *choice)
{
    const struct arch *has[COMPILE_ARCHITECTURES];
    char wanted[64];
    int status = choice->arch ? check_architecture_names(c, choice->arch) : 0;
    if (status)
        return status;
    for (int i = 0; choice->arch && options_entry(choice->arch, i, wanted, sizeof wanted); i++) {
        int with = 0, without = 0;
        const char *lacking = "";
        for (int k = 0; k < c->spec.kernel_count; k++) {
            const struct spec_kernel *kernel = &c->spec.kernel[k];
            bool found = false;
            if (!kernel_chosen(choice, kernel))
                continue;
            int count = compile_architectures(kernel, choice->arch, has);
            for (int a = 0; a < count; a++)
                found = found || strcmp(has[a]->name, wanted) == 0;
            with += found;
            without += !found;
            if (!found && !*lacking)
                lacking = kernel->name;
        }
        if (!with) {
            compile_say(c, DIAG_ERROR, "no kernel of %s has architecture '%s'", c->path, wanted);
            return 1;
        }
        if (without)
            compile_say(c, DIAG_NOTE, "%s is left out for kernel '%s'%s, which has no such architecture", wanted,
                        lacking, without > 1 ? " and others" : "");
    }
    return choice->arch ? 0 : check_unasked(c, choice);
}

/* ---- planning and emitting ------------------------------------------------------------------------------------- */

/* position: among the variants of the kernel on the architecture, set-ups behind the others. */
static bool variant_chosen(const struct compile_choice *choice, const struct compile_unit *unit, int position)
{
    char number[16];
    if (choice->own && unit->setup)
        return false;
    if (!choice->variant)
        return true;
    snprintf(number, sizeof number, "%d", position);
    if (strcmp(choice->variant, number) == 0)
        return true;
    return unit->plan.variant && strcmp(choice->variant, unit->plan.variant) == 0;
}

/* Options for the unit's template, whose folder the caller frees. 0 or 3. */
static int emit_options_of(struct compile *c, const struct spec_kernel *kernel, struct emit_options *options,
                           char **folder)
{
    const char *path = kernel->template_path, *slash = path ? strrchr(path, '/') : NULL;
    /* The author of a template is told its lines; everybody else, and who looks at a debug build, those of the text. */
    *options = (struct emit_options){.line_directives = path && c->debug_ms == 0,
                                     .debug_ms = c->debug_ms,
                                     .profile = c->profile,
                                     .pass = c->pass,
                                     .passes = c->passes,
                                     .generator_version = TW_GENERATOR,
                                     .shelf = c->shelf};
    *folder = NULL;
    if (!path)
        return 0;
    *folder = slash ? tw_format(&c->rt, "%.*s", slash == path ? 1 : (int)(slash - path), path)
                    : tw_strdup(&c->rt, c->source_folder);
    options->user_folder = *folder;
    return *folder ? 0 : 3;
}

static void drop_source(struct compile_unit *unit)
{
    struct memory memory = {NULL, NULL};
    if (unit->source)
        memory_resize(&memory, unit->source, unit->source_bytes + 1, 0);
    unit->source = NULL;
}

static int emit(struct compile *c, struct compile_unit *unit, struct diag_set *diags)
{
    struct emit_options options;
    char *folder;
    if (emit_options_of(c, unit->as, &options, &folder))
        return 3;
    int status =
        emit_template(unit->plan.template_name, &unit->plan, &options, &unit->source, &unit->source_bytes, diags);
    tw_free(&c->rt, folder);
    unit->emitted = status == 0;
    return status;
}

/* Emits a unit whose Plan has its steps in the template, and proves them. */
static int emit_with_steps(struct compile *c, struct compile_unit *unit)
{
    struct emit_options options;
    char *folder;
    if (emit_options_of(c, unit->as, &options, &folder))
        return 3;
    int status =
        emit_steps(unit->plan.template_name, &unit->plan, &options, &unit->source, &unit->source_bytes, &c->diags);
    tw_free(&c->rt, folder);
    unit->emitted = status == 0;
    return status;
}

/* No launch comes to the unit, because a variant of its kernel before it, from number `first` on, takes all that it
 * takes. */
static bool is_covered(const struct compile *c, int first, const struct compile_unit *unit)
{
    bool covered = false;
    for (int i = first; i < c->unit_count; i++)
        covered = covered || (c->unit[i].planned && host_covers(&c->unit[i].plan, &unit->plan));
    return covered;
}

/* What is planned next. */
struct wanted {
    struct compile_unit unit; /* without a Plan */
    int first;                /* unit of the kernel on the architecture */
    int position;             /* as variant_chosen has it */
};

/* Plans one unit behind those that there are; where the template holds its steps, emits it as well. 0 or 1 (faults are
 * told), 3. added: the choice wants it, and launches come to it. reads: receives which fields it heeds, or NULL. */
static int make_unit(struct compile *c, const struct wanted *w, const struct compile_choice *choice,
                     struct family_reads *reads, bool *added)
{
    struct compile_unit unit = w->unit;
    double start = compile_clock();
    int status = family_plan(&c->spec, unit.as, unit.arch, unit.variant, c->proofs, &unit.plan, &c->diags);
    if (status == 0 && family_lacks_steps(&unit.plan))
        status = emit_with_steps(c, &unit);
    c->phases.plan += compile_clock() - start;
    unit.planned = status == 0;
    if (reads) {
        reads->reads = unit.plan.reads;
        reads->known = status == 0;
    }
    if (status == 0 &&
        (!variant_chosen(choice, &unit, w->position) || (unit.setup == 0 && is_covered(c, w->first, &unit)))) {
        c->left_out += choice->own && unit.setup;
        drop_source(&unit);
        plan_free(&unit.plan);
        return 0;
    }
    c->unit[c->unit_count] = unit;
    *added = true;
    return status;
}

static int chosen_architectures(const struct compile_choice *choice, const struct spec_kernel *kernel,
                                const struct arch *out[COMPILE_ARCHITECTURES])
{
    const struct arch *has[COMPILE_ARCHITECTURES];
    int all = compile_architectures(kernel, choice->arch, has), count = 0;
    for (int i = 0; i < all; i++)
        if (!choice->arch || options_listed(choice->arch, has[i]->name))
            out[count++] = has[i];
    if (count && choice->pick) {
        out[0] = choice->pick(choice->context, out, count);
        count = 1;
    }
    return count;
}

/* What the threads that plan and emit share. One of them plans, then emits as well; the others emit what is planned. */
struct making {
    struct compile *c;
    const struct compile_choice *choice;
    int room;             /* in c->unit and again */
    bool *again;          /* by unit: there was something to say, and it is to be said in order */
    int status;           /* of planning */
    pthread_mutex_t lock; /* around c->unit_count and done; what stands before the count does not change */
    pthread_cond_t progress;
    bool done; /* there is nothing left to plan */
};

/* All architectures of the kernel, of which nothing is known yet. */
static int architectures_unread(const struct compile_choice *choice, const struct spec_kernel *kernel,
                                struct family_reads *on)
{
    const struct arch *has[COMPILE_ARCHITECTURES];
    int count = compile_architectures(kernel, choice->arch, has);
    for (int i = 0; i < count; i++)
        on[i] = (struct family_reads){.arch = has[i]};
    return count;
}

static struct family_reads *find_reads(struct family_reads *on, int count, const struct arch *arch)
{
    for (int i = 0; i < count; i++)
        if (on[i].arch == arch)
            return &on[i];
    return NULL;
}

/* One unit more, for the threads that emit to see. 0, 1 or 3. */
static int plan_one(struct making *m, const struct wanted *w, struct family_reads *reads)
{
    struct compile *c = m->c;
    bool added = false;
    if (c->unit_count == m->room)
        return 3;
    int status = make_unit(c, w, m->choice, reads, &added);
    pthread_mutex_lock(&m->lock);
    c->unit_count += added;
    pthread_cond_broadcast(&m->progress);
    pthread_mutex_unlock(&m->lock);
    return status;
}

/* The set-ups of the kernel on the architecture that can be planned. */
static int plan_setups(struct making *m, struct wanted w)
{
    struct compile *c = m->c;
    const int base = (int)(w.unit.kernel - c->spec.kernel);
    int result = 0;
    for (int i = 0; i < c->spec.setup_count && result != 3; i++) {
        const struct spec_kernel *setup = &c->spec.setup[i];
        if (setup->setup.of != base || strcmp(setup->arch[0].name, w.unit.arch->name) != 0 || !setup->sound)
            continue;
        struct family_reads on = {.arch = w.unit.arch};
        w.unit.as = setup;
        w.unit.setup++;
        const int before = c->diags.count;
        const struct diag_mark mark = diag_mark(&c->diags);
        int status = plan_one(m, &w, &on);
        status = status ? status : family_check_unread(&c->spec, setup, &on, 1, &c->diags);
        status = status ? status : compile_check_workspace(c, w.first, setup);
        w.position++;
        if (status == 1 && c->tables.options.candidates) {
            struct compile_unit *unit = &c->unit[c->unit_count - 1];
            unit->why = tw_strdup(&c->rt, c->diags.count > before ? c->diags.item[before].text : "");
            diag_take_back(&c->diags, mark, NULL);
            result = unit->why ? result : 3;
            continue;
        }
        bool elsewhere = false; /* a fault stands where the spec says it */
        for (int n = before; n < c->diags.count; n++)
            elsewhere = elsewhere || c->diags.item[n].loc.file != setup->loc.file;
        if (status == 1 && elsewhere)
            diag_report(&c->diags, DIAG_NOTE, setup->loc, setup->name, NULL, "TUNED-FIT",
                        "this set-up is at fault, tuned before the spec was changed perhaps; tune again, or take its "
                        "rows out");
        result = status == 3 ? 3 : result ? result : status;
    }
    return result;
}

static int plan_kernel(struct making *m, const struct spec_kernel *kernel)
{
    const struct arch *arch[COMPILE_ARCHITECTURES];
    struct compile *c = m->c;
    int result = 0, count = chosen_architectures(m->choice, kernel, arch);
    struct family_reads on[COMPILE_ARCHITECTURES];
    const int all = architectures_unread(m->choice, kernel, on);
    for (int a = 0; a < count; a++) {
        int variants = family_of(kernel)->variants(&c->spec, kernel, arch[a]), status = 0;
        struct wanted w = {.unit = {.kernel = kernel, .as = kernel, .family = family_of(kernel), .arch = arch[a]},
                           .first = c->unit_count};
        for (int v = 0; v < variants && status == 0; v++) { /* a second one would be told the same */
            w.unit.variant = w.position = v;
            status = plan_one(m, &w, v ? NULL : find_reads(on, all, arch[a]));
            result = status == 3 ? 3 : result ? result : status;
        }
        w.unit.variant = 0;
        w.position++;
        status = status ? status : plan_setups(m, w);
        result = status == 3 ? 3 : result ? result : status;
        if (result == 3)
            return 3;
    }
    return result || !count ? result : family_check_unread(&c->spec, kernel, on, all, &c->diags);
}

static void plan_all(struct making *m)
{
    struct compile *c = m->c;
    for (int k = 0; k < c->spec.kernel_count && m->status != 3; k++) {
        const struct spec_kernel *kernel = &c->spec.kernel[k];
        int status = kernel->sound && kernel_chosen(m->choice, kernel) ? plan_kernel(m, kernel) : 0;
        m->status = status == 3 ? 3 : m->status ? m->status : status;
    }
    pthread_mutex_lock(&m->lock);
    m->done = true;
    pthread_cond_broadcast(&m->progress);
    pthread_mutex_unlock(&m->lock);
}

/* The first of the loop's turns plans, each other one emits the unit before its number, once that is planned. */
static void make_one(void *context, int64_t i)
{
    struct making *m = context;
    struct diag_set diags = {0};
    if (i == 0) {
        plan_all(m);
        return;
    }
    pthread_mutex_lock(&m->lock);
    while (!m->done && m->c->unit_count < i)
        pthread_cond_wait(&m->progress, &m->lock);
    struct compile_unit *unit = m->c->unit_count < i ? NULL : &m->c->unit[i - 1];
    pthread_mutex_unlock(&m->lock);
    if (!unit || !unit->planned || unit->emitted)
        return;
    m->again[i - 1] = emit(m->c, unit, &diags) != 0 || diags.count > 0;
    diag_free(&diags);
}

/* Plans and emits, as much at once as there are processors. Units are independent of each other; what has faults is
 * emitted a second time, one after the other, so that its diagnostics come in the order of the units. */
static int make_all(struct making *m)
{
    struct compile *c = m->c;
    double start = compile_clock(), planned = c->phases.plan;
    parallel_for((int64_t)m->room + 1, parallel_cores(), make_one, m);
    int result = m->status;
    for (int i = 0; i < c->unit_count && result != 3; i++) {
        if (!m->again[i])
            continue;
        drop_source(&c->unit[i]);
        int status = emit(c, &c->unit[i], &c->diags);
        result = status == 3 ? 3 : result ? result : status;
    }
    c->phases.emit += compile_clock() - start - (c->phases.plan - planned);
    return result;
}

/* Plans and emits the kernels that are chosen and were read without a fault. 0 or 1 (faults are told), 3. */
static int make_units(struct compile *c, const struct compile_choice *choice)
{
    const struct arch *arch[COMPILE_ARCHITECTURES];
    struct making m = {.c = c, .choice = choice};
    for (int k = 0; k < c->spec.kernel_count; k++) {
        const struct spec_kernel *kernel = &c->spec.kernel[k];
        bool taken = kernel->sound && kernel_chosen(choice, kernel);
        int count = taken ? compile_architectures(kernel, choice->arch, arch) : 0;
        for (int a = 0; a < count; a++)
            m.room += family_of(kernel)->variants(&c->spec, kernel, arch[a]);
    }
    m.room += c->spec.setup_count;
    c->unit = tw_alloc_zeroed(&c->rt, sizeof *c->unit * ((size_t)m.room + 1));
    m.again = tw_alloc_zeroed(&c->rt, (size_t)m.room + 1);
    int result = 3;
    if (c->unit && m.again && pthread_mutex_init(&m.lock, NULL) == 0) {
        if (pthread_cond_init(&m.progress, NULL) == 0) {
            result = make_all(&m);
            pthread_cond_destroy(&m.progress);
        }
        pthread_mutex_destroy(&m.lock);
    }
    tw_free(&c->rt, m.again);
    return result;
}

int compile_open_tuned(struct compile *c, const char *command, const char *path, bool json, const char *tuned,
                       bool candidates)
{
    struct tw_error error;
    memset(c, 0, sizeof *c);
    c->command = command;
    c->path = path;
    c->started = compile_clock();
    compile_tables_fill(&c->tables);
    c->tables.options.tunes = strcmp(command, "check") == 0;
    c->tables.options.tuned = tuned;
    c->tables.options.candidates = candidates;
    if (json && compile_as_json(c))
        return 3;
    int status = tw_runtime_init(&c->rt, &error);
    if (status != TW_OK)
        return compile_fail(c, status, &error);
    if (!*path) {
        compile_say(c, DIAG_ERROR, "'': there is no such file");
        return 1;
    }
    const struct memory memory = {NULL, NULL};
    c->shelf = shelf_open(&memory);
    c->proofs = plan_proofs_open(&memory);
    status = spec_read(path, &c->tables.options, &c->spec, &c->diags);
    c->phases.read = compile_clock() - c->started;
    const char *slash = strrchr(path, '/');
    c->folder =
        slash ? tw_format(&c->rt, "%.*s", slash == path ? 1 : (int)(slash - path), path) : tw_strdup(&c->rt, "");
    c->source_folder = c->folder;
    if (!c->folder || c->diags.out_of_memory)
        return 3;
    /* A spec with faults: what is wrong with the Plans of its sound kernels is told in the same run. */
    const struct compile_choice all = {.kernel = NULL};
    return status == 1 && make_units(c, &all) == 3 ? 3 : status;
}

int compile_open_as(struct compile *c, const char *command, const char *path, bool json)
{
    return compile_open_tuned(c, command, path, json, NULL, false);
}

int compile_open(struct compile *c, const char *command, const char *path)
{
    return compile_open_as(c, command, path, false);
}

int compile_units(struct compile *c, const struct compile_choice *choice)
{
    int result = choice->kernel ? check_kernel(c, choice->kernel) : 0;
    if (result == 0)
        result = check_architectures(c, choice);
    if (result)
        return result;
    result = make_units(c, choice);
    if (result == 3 || c->diags.out_of_memory)
        return 3;
    if (c->diags.errors)
        return 1;
    if (result == 0 && c->unit_count == 0 && choice->variant) {
        compile_say(c, DIAG_ERROR, "there is no variant '%s'", choice->variant);
        return 2;
    }
    return result;
}

/* ---- compiling ------------------------------------------------------------------------------------------------- */

struct stage {
    struct compile *compile;
    enum compile_with with;
    struct compile_unit **unit;
    int count;
    atomic_int done;
};

/* A copy in which `#line` lines are empty: lines count as in the file that the user edits. NULL out of memory. */
static char *without_line_directives(struct tw_runtime *rt, const char *source, size_t bytes)
{
    char *copy = tw_alloc(rt, bytes + 1);
    if (!copy)
        return NULL;
    memcpy(copy, source, bytes);
    copy[bytes] = '\0';
    for (char *line = copy; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *word = line + strspn(line, " \t");
        if (*word != '#')
            continue;
        word++;
        word += strspn(word, " \t");
        if (strncmp(word, "line", 4) == 0 && strchr(" \t\r\n", word[4]))
            memset(line, ' ', strcspn(line, "\r\n"));
    }
    return copy;
}

static void compile_one(void *context, int64_t i)
{
    static const char *const all[] = {"all"}, *const line_info[] = {"--generate-line-info"};
    struct stage *stage = context;
    struct compile_unit *unit = stage->unit[i];
    enum compile_with with = stage->with;
    struct tw_runtime *rt = &stage->compile->rt;
    char name[512], *copy = NULL;
    snprintf(name, sizeof name, "/tilewright/%s.%s.cu", unit->plan.entry, unit->arch->name);
    if (unit->source_path && !(copy = without_line_directives(rt, unit->source, unit->source_bytes))) {
        unit->status[with] = tw_fail(&unit->error[with], TW_ERROR_MEMORY, "out of memory");
        return;
    }
    struct tw_compile_request request = {
        .source = copy ? copy : unit->source,
        .source_bytes = unit->source_bytes,
        .name = unit->source_path ? unit->source_path : name,
        .entry = unit->plan.entry,
        .arch = unit->arch->name,
        .options = line_info,
        .option_count = unit->line_info ? 1 : 0,
        .allow = all,
        .allow_count = unit->plan.allow_spills || stage->compile->debug_ms || stage->compile->profile ? 1 : 0,
        .outputs = unit->outputs ? unit->outputs : TW_OUTPUT_CUBIN,
        .generator = TW_GENERATOR,
    };
    if (with == COMPILE_NVRTC)
        unit->status[with] = tw_compile_cached(rt, &request, &unit->compiled[with], &unit->error[with]);
    else
        unit->status[with] = tool_nvcc(rt, &request, &unit->compiled[with], &unit->error[with]);
    tw_free(rt, copy);
    progress_show("[%d/%d] %s %s", atomic_fetch_add(&stage->done, 1) + 1, stage->count, unit->plan.entry,
                  unit->arch->name);
}

/* The compiler's own lines, each after `margin`. A user's template has its path in the place of the name that its
 * `#line` directives give it. What would command a terminal becomes '?'. */
static void print_log(const struct compile_unit *unit, const char *log, const char *margin)
{
    const char *path = unit->kernel->template_path, *text;
    char name[512];
    size_t length;
    if (path && emit_find_template(unit->plan.template_name, &text, &length))
        path = NULL;
    int named = snprintf(name, sizeof name, "/tilewright/templates/%s", unit->plan.template_name);
    if (named < 0 || named >= (int)sizeof name)
        path = NULL;
    for (bool start = true; *log; log++) {
        if (start && *log != '\n')
            fputs(margin, stderr);
        start = *log == '\n';
        if (path && strncmp(log, name, (size_t)named) == 0 && strchr("(:\"' \n", log[named])) {
            fputs(path, stderr);
            log += named - 1;
        } else {
            bool command = (unsigned char)*log < ' ' && *log != '\n' && *log != '\t';
            fputc(command || *log == 0x7f ? '?' : *log, stderr);
        }
        if (!start && !log[1])
            fputc('\n', stderr);
    }
}

/* A text that the compiler refuses: its own words, where it said some before it gave up. */
static void refuse(struct compile *c, const struct compile_unit *unit, enum compile_with with)
{
    const struct plan *p = &unit->plan;
    const struct tw_compiled *compiled = &unit->compiled[with];
    const char *log = compiled->log && *compiled->log && !compiled->cubin ? compiled->log : NULL;
    if (!unit->source_path)
        diag_report(&c->diags, DIAG_ERROR, p->loc, p->kernel, NULL, "COMPILE", "%s for %s does not compile by %s%s%s",
                    p->entry, unit->arch->name, compile_with_word[with], log ? "" : ": ",
                    log ? "" : unit->error[with].text);
    compile_report(c);
    if (unit->source_path) {
        const char *why = unit->error[with].text;
        size_t named = strlen(unit->source_path);
        if (strncmp(why, unit->source_path, named) == 0 && strncmp(why + named, ": ", 2) == 0)
            why += named + 2;
        fprintf(stderr, "%s: error: %s [COMPILE]\n", unit->source_path, log ? "the compiler refuses it" : why);
    }
    if (log)
        print_log(unit, log, unit->source_path ? "" : "  ");
}

/* What the compiler made of a Plan that it should not have. Returns 0, 1, or 3 after a fault of the environment. */
static int judge(struct compile *c, struct compile_unit *unit, enum compile_with with)
{
    const struct plan *p = &unit->plan;
    const struct tw_cubin_info *info = &unit->compiled[with].info;
    int exit_status = tw_status_exit(unit->status[with]), errors = c->diags.errors;
    const char *arch = unit->arch->name;

    if (unit->status[with] != TW_OK && exit_status != 1)
        return exit_status;
    if (unit->status[with] != TW_OK) {
        refuse(c, unit, with);
        return 1;
    }
    if (p->register_limit && info->registers > (uint32_t)p->register_limit)
        diag_report(&c->diags, DIAG_ERROR, p->loc, p->kernel, NULL, "REGISTERS",
                    "%s for %s takes %u registers a thread, %d are allowed; write a smaller tile", p->entry, arch,
                    info->registers, p->register_limit);
    if (p->allow_spills || c->debug_ms || c->profile)
        return c->diags.errors > errors;
    if (info->spill_instructions)
        diag_report(&c->diags, DIAG_ERROR, p->loc, p->kernel, NULL, "SPILLS",
                    "%s for %s spills registers (%u instructions); write a smaller tile, or allow_spills = true",
                    p->entry, arch, info->spill_instructions);
    else if (info->frame)
        diag_report(&c->diags, DIAG_ERROR, p->loc, p->kernel, NULL, "LOCAL",
                    "%s for %s keeps %u bytes a thread in local memory; index its arrays by constants, or write "
                    "allow_spills = true",
                    p->entry, arch, info->frame);
    return c->diags.errors > errors;
}

int compile_cubins(struct compile *c, enum compile_with with)
{
    struct stage stage = {.compile = c, .with = with};
    double start = compile_clock();
    int result = 0;

    stage.unit = tw_alloc(&c->rt, sizeof(struct compile_unit *) * (size_t)(c->unit_count + 1));
    if (!stage.unit)
        return 3;
    for (int i = 0; i < c->unit_count; i++)
        if (c->unit[i].wanted && c->unit[i].emitted)
            stage.unit[stage.count++] = &c->unit[i];
    atomic_init(&stage.done, 0);
    parallel_for(stage.count, parallel_cores(), compile_one, &stage);
    progress_clear();
    for (int i = 0; i < stage.count; i++) {
        struct compile_unit *unit = stage.unit[i];
        const struct tw_compiled *compiled = &unit->compiled[with];
        int status = judge(c, unit, with);
        if (status == 3 && result != 3)
            compile_fail(c, unit->status[with], &unit->error[with]);
        if (status > result)
            result = status;
        c->phases.find += compiled->find_seconds;
        c->phases.lookup += compiled->lookup_seconds;
        c->phases.open += compiled->open_seconds;
        c->phases.nvrtc += compiled->seconds;
        c->phases.wait += compiled->wait_seconds;
        c->phases.store += compiled->store_seconds;
        if (*compiled->note)
            compile_say(c, DIAG_NOTE, "%s: %s", unit->plan.entry, compiled->note);
    }
    tw_free(&c->rt, stage.unit);
    c->phases.compile += compile_clock() - start;
    return result;
}

long compile_shared(const struct compile_unit *unit, enum compile_with with)
{
    return (long)unit->plan.launch.shared_bytes + (long)unit->compiled[with].info.static_shared;
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

int compile_keep(struct compile *c, const struct compile_unit *unit, enum compile_with with, const char *folder,
                 struct file_set *files, struct tw_error *error)
{
    const struct tw_compiled *compiled = &unit->compiled[with];
    char stem[400], name[420], *sass;
    size_t length;
    int status = TW_OK;
    struct tw_error ignored;

    snprintf(stem, sizeof stem, "%s.%s", unit->plan.entry, unit->arch->name);
    if (compiled->ptx) {
        snprintf(name, sizeof name, "%s.ptx", stem);
        status = files_add(files, folder, name, compiled->ptx, compiled->ptx_bytes, false, error);
    }
    if (status == TW_OK && compiled->cubin) {
        snprintf(name, sizeof name, "%s.cubin", stem);
        status = files_add(files, folder, name, compiled->cubin, compiled->cubin_bytes, false, error);
    }
    /* A machine without a disassembler is none of the user's faults. */
    if (status == TW_OK && compiled->cubin &&
        tool_disassemble(&c->rt, compiled->cubin, compiled->cubin_bytes, &sass, &length, &ignored) == TW_OK) {
        snprintf(name, sizeof name, "%s.sass", stem);
        status = files_add(files, folder, name, sass, length, true, error);
    }
    return status;
}
