#include "emit/host/host.h"

#include <stdio.h>
#include <string.h>

#include "emit/host/host_choice.h"
#include "emit/host/host_facts.h"
#include "emit/host/host_maps.h"
#include "emit/host/host_parts.h"
#include "emit/host/host_python.h"
#include "emit/template/text.h"
#include "plan/map_pointers.h"
#include "plan/reads.h"
#include "tensormap/tensormap.h"

/* ---- the facts as the templates see them: `host` ---------------------------------------------------------------- */

static void formula(const struct host_facts *f, const struct sink *s, const char *key, const struct plan *p, int node)
{
    const char *c = host_formula(f, p, node);
    *f->no_memory = *f->no_memory || !c;
    sink_text(s, key, c ? c : "");
}

/* A size for people. */
static void words(const struct sink *s, const char *key, const struct plan *p, const int *node, int count)
{
    char line[1024] = "";
    size_t at = 0;
    for (int i = 0; i < count && at < sizeof line; i++) {
        char one[256];
        expr_print_lua(&p->graph, node[i], p->symbol, one, sizeof one);
        at += (size_t)snprintf(line + at, sizeof line - at, "%s%s", i ? ", " : "", one);
    }
    sink_text(s, key, line);
}

/* A text becomes string literals: chunks of fewer bytes than any compiler refuses, each of lines that a person reads.
 */
enum { CHUNK_BYTES = 4000, LITERAL_COLUMNS = 112 };

/* Stands for itself in a literal, whatever stands before it. */
static bool is_plain(char c)
{
    static const bool special[128] = {['"'] = true, ['\\'] = true, ['?'] = true, [127] = true};
    return (unsigned char)c >= ' ' && (unsigned char)c < 128 && !special[(unsigned char)c];
}

/* Characters from the first on that stand for themselves, eight at a time. */
static size_t plain_length(const char *text, size_t length)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
    size_t at = 0;
    for (uint64_t word; at + sizeof word <= length; at += sizeof word) {
        memcpy(&word, text + at, sizeof word);
        /* The high bit of a byte: it is of 128 or more; below a blank; 127; a quote, a backslash, a question mark. A
         * byte behind such a one may be taken for one too, which the loop below sees to. */
        const uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\', question = word ^ ones * '?';
        const uint64_t last = word ^ ones * 127, small = word - ones * ' ';
        if ((word | small | (quote - ones) | (backslash - ones) | (question - ones) | (last - ones)) & high)
            break;
    }
    while (at < length && is_plain(text[at]))
        at++;
    return at;
}

/* Writes the character as it stands in a literal. Returns its length. */
static size_t put_character(char out[8], const char *data, size_t at)
{
    unsigned char c = (unsigned char)data[at];
    bool trigraph = c == '?' && at && data[at - 1] == '?';
    if (is_plain(data[at])) {
        *out = data[at];
        return 1;
    }
    if (c == '\n' || c == '"' || c == '\\' || trigraph) {
        out[0] = '\\';
        out[1] = c == '\n' ? 'n' : (char)c;
        return 2;
    }
    return (size_t)snprintf(out, 8, c < 32 || c > 126 ? "\\%03o" : "%c", c);
}

static void add_literal(struct emit_text *lines, const char *literal, size_t length)
{
    text_string(lines, lines->length ? "\n\"" : "\"");
    text_add(lines, literal, length);
    text_string(lines, "\"");
}

/* Adds the text's first line, which begins a line of the whole, where it is short and of plain characters, quotes,
 * backslashes and single question marks, as most are. Returns its bytes, or 0. */
static size_t add_plain_line(struct emit_text *lines, const char *data, size_t bytes)
{
    const char *stop = memchr(data, '\n', bytes < LITERAL_COLUMNS - 1 ? bytes : LITERAL_COLUMNS - 1);
    if (!stop || !text_reserve(lines, LITERAL_COLUMNS + 8))
        return 0;
    char *to = lines->data + lines->length;
    if (lines->length)
        *to++ = '\n';
    *to++ = '"';
    const char *const last = to + LITERAL_COLUMNS - 2; /* where the line's end must begin */
    for (const char *c = data; c < stop;) {
        size_t plain = plain_length(c, (size_t)(stop - c));
        if (plain > (size_t)(last - to))
            return 0;
        memcpy(to, c, plain);
        to += plain;
        c += plain;
        if (c == stop)
            break;
        const bool escaped = *c == '"' || *c == '\\', alone = *c == '?' && (c == data || c[-1] != '?');
        if (!(escaped || alone) || last - to < 1 + escaped)
            return 0;
        if (escaped)
            *to++ = '\\';
        *to++ = *c++;
    }
    memcpy(to, "\\n\"", 4);
    lines->length = (size_t)(to - lines->data) + 3;
    return (size_t)(stop - data) + 1;
}

/* The literals of one chunk: a line each, longer ones cut behind a blank. */
static void literals(struct emit_text *lines, const char *data, size_t bytes)
{
    char line[LITERAL_COLUMNS + 8];
    size_t length = 0, blank = 0; /* of what stands in line, and up to behind the last blank */
    size_t after = 0;             /* where data goes on behind that blank */
    for (size_t at = 0; at < bytes; at++) {
        for (size_t taken = 1; taken && length == 0 && at < bytes;)
            at += taken = add_plain_line(lines, data + at, bytes - at);
        if (at == bytes)
            return;
        for (; at + 1 < bytes && length < LITERAL_COLUMNS && is_plain(data[at]); at++) {
            line[length++] = data[at];
            if (data[at] == ' ') {
                blank = length;
                after = at + 1;
            }
        }
        size_t more = put_character(line + length, data, at);
        if (length + more > LITERAL_COLUMNS) {
            add_literal(lines, line, blank ? blank : length);
            at = blank ? after : at;
            length = blank = 0;
            more = put_character(line, data, at);
        }
        length += more;
        if (data[at] == ' ') {
            blank = length;
            after = at + 1;
        }
        if (data[at] == '\n' || at + 1 == bytes) {
            add_literal(lines, line, length);
            length = blank = 0;
        }
    }
}

/* As long as a literal may be, up to the end of a paragraph where there is one, else of a line. */
static size_t chunk_length(const char *data, size_t bytes)
{
    if (bytes <= CHUNK_BYTES)
        return bytes;
    const char *line = memrchr(data + 1, '\n', CHUNK_BYTES - 1), *end = line;
    while (end && end >= data + CHUNK_BYTES / 2 && end[-1] != '\n')
        end = memrchr(data + 1, '\n', (size_t)(end - data) - 1);
    if (end && end >= data + CHUNK_BYTES / 2)
        return (size_t)(end - data) + 1;
    return line ? (size_t)(line - data) + 1 : CHUNK_BYTES;
}

static int count_chunks(const char *data, size_t bytes)
{
    int count = 0;
    for (size_t at = 0; data && at < bytes; at += chunk_length(data + at, bytes - at))
        count++;
    return count;
}

/* The text as the lines of an array, a comma behind each chunk. */
static void chunks(const struct host_facts *f, const struct sink *s, const char *key, const char *data, size_t bytes)
{
    struct emit_text lines = {.arena = f->arena};
    text_reserve(&lines, bytes + bytes / 4);
    for (size_t at = 0; data && at < bytes;) {
        size_t length = chunk_length(data + at, bytes - at);
        literals(&lines, data + at, length);
        text_string(&lines, ",");
        at += length;
    }
    *f->no_memory = *f->no_memory || lines.failed;
    sink_text(s, key, lines.length ? lines.data : "");
}

static void byte_rows(const struct sink *s, const char *key, const unsigned char *data, size_t bytes)
{
    enum { ROW = 23 };
    char row[5 * ROW + 1];
    sink_array(s, key);
    for (size_t at = 0; data && at < bytes; at += ROW) {
        char *to = row;
        for (size_t i = at; i < bytes && i < at + ROW; i++)
            to += sprintf(to, "0x%02x,", data[i]);
        sink_text(s, NULL, row);
    }
    sink_end(s);
}

/* ---- arguments ------------------------------------------------------------------------------------------------- */

static bool is_mapped(const struct host_facts *f, int tensor)
{
    for (int i = 0; i < f->model->image_count; i++)
        if (f->model->image[i].plan->tensor[tensor].map >= 0)
            return true;
    return false;
}

/* What a tensor map can hold. */
static const double most_extent = (double)(UINT64_C(1) << TW_TENSORMAP_DIM_BITS);
static const double stride_end = (double)(UINT64_C(1) << TW_TENSORMAP_STRIDE_BITS);

bool host_may_be_null(const struct host_facts *f, int tensor)
{
    if (f->plan->tensor[tensor].out || is_mapped(f, tensor))
        return false;
    for (int i = 0; i < f->model->image_count && f->plan->item_count > 0; i++) {
        const struct plan *p = f->model->image[i].plan;
        int *scratch = arena_alloc(f->arena, ((size_t)p->fused.count + 1) * sizeof *scratch);
        if (!scratch)
            *f->no_memory = true;
        if (!scratch || !reads_may_skip(p, tensor, scratch))
            return false;
    }
    return true;
}

/* Maps of its slices in any variant; 0: none has them. */
static int maps_of(const struct host_facts *f, int tensor)
{
    int maps = 0;
    for (int i = 0; i < f->model->image_count && !maps; i++)
        maps = f->model->image[i].plan->tensor[tensor].maps;
    return maps;
}

static bool may_be_negative(const struct host_facts *f, int tensor, int d)
{
    return !expr_is_natural(&f->plan->graph, f->plan->tensor[tensor].dim[d]);
}

static bool may_be_large(const struct host_facts *f, int tensor, int d)
{
    return is_mapped(f, tensor) && host_bound(f, f->plan, f->plan->tensor[tensor].dim[d]) > most_extent;
}

static void tensor(const struct host_facts *f, const struct sink *s, int index)
{
    const struct plan *p = f->plan;
    const struct plan_tensor *t = &p->tensor[index];
    int align = host_align(f->model->image[0].plan, index), best = align;
    for (int i = 1; i < f->model->image_count; i++) {
        int asked = host_align(f->model->image[i].plan, index);
        align = asked < align ? asked : align;
        best = asked > best ? asked : best;
    }
    sink_object(s, NULL);
    sink_text(s, "name", t->name);
    sink_text(s, "dtype", tw_dtype_name(t->dtype));
    sink_integer(s, "bytes", (int64_t)tw_dtype_bytes(t->dtype));
    sink_integer(s, "rank", t->rank);
    sink_integer(s, "out", t->out);
    sink_boolean(s, "pointers", t->pointers);
    sink_integer(s, "maps", maps_of(f, index));
    sink_integer(s, "align", align);
    sink_integer(s, "best_align", best);
    sink_boolean(s, "may_be_null", host_may_be_null(f, index));
    words(s, "shape", p, t->dim, t->rank);
    words(s, "slices", p, t->dim, 1);
    words(s, "slice", p, t->dim + 1, t->rank - 1);
    words(s, "default_stride", p, t->stride + t->pointers, t->rank - 1 - t->pointers);
    sink_array(s, "dim");
    for (int d = 0; d < t->rank; d++) {
        sink_object(s, NULL);
        sink_integer(s, "index", d);
        formula(f, s, "c", p, t->dim[d]);
        sink_boolean(s, "may_be_negative", may_be_negative(f, index, d));
        sink_boolean(s, "may_be_large", may_be_large(f, index, d));
        sink_end(s);
    }
    sink_end(s);
    sink_array(s, "stride");
    for (int d = t->pointers; d + 1 < t->rank; d++) {
        sink_object(s, NULL);
        sink_integer(s, "index", d);
        formula(f, s, "c", p, t->stride[d]);
        sink_boolean(s, "bounded",
                     expr_is_natural(&p->graph, t->stride[d]) &&
                         host_bound(f, p, t->stride[d]) * (double)tw_dtype_bytes(t->dtype) < stride_end);
        sink_end(s);
    }
    sink_end(s);
    sink_end(s);
}

static void arguments(const struct host_facts *f, const struct sink *s)
{
    const struct plan *p = f->plan;
    int rank = 1;
    bool has_stride = false;
    sink_array(s, "tensor");
    for (int i = 0; i < p->tensor_count; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        tensor(f, s, i);
        rank = t->rank > rank ? t->rank : rank;
        rank = map_rank(t) > rank ? map_rank(t) : rank;
        has_stride = has_stride || t->rank - t->pointers > 1;
    }
    sink_end(s);
    sink_integer(s, "rank", f->shared ? SPEC_MAX_RANK : rank);
    sink_boolean(s, "has_stride", has_stride);
    sink_array(s, "symbol");
    int symbols = 0;
    for (int i = 0; i + 1 < p->symbol_count; i++) {
        if (!host_is_argument(p, i))
            continue;
        sink_object(s, NULL);
        sink_text(s, "name", p->symbol[i]);
        sink_integer(s, "index", i);
        sink_integer(s, "multiple", p->symbol_multiple ? p->symbol_multiple[i] : 1);
        sink_integer(s, "limit", f->limit[i]);
        sink_end(s);
        symbols++;
    }
    sink_end(s);
    sink_integer(s, "symbol_count", symbols);
    sink_array(s, "scalar");
    for (int i = 0; i < p->scalar_count; i++) {
        sink_object(s, NULL);
        sink_text(s, "name", p->scalar[i].name);
        sink_text(s, "dtype", tw_dtype_name(p->scalar[i].dtype));
        sink_text(s, "c_type", tw_dtype_info(p->scalar[i].dtype)->c_type);
        sink_end(s);
    }
    sink_end(s);
    for (int list = 0; list < 2; list++) {
        const struct host_guard *g = list ? f->divisor : f->guard;
        int count = list ? f->divisor_count : f->guard_count;
        sink_array(s, list ? "divisor" : "guard");
        for (int i = 0; i < count; i++) {
            sink_object(s, NULL);
            sink_text(s, "c", g[i].c);
            sink_text(s, "what", g[i].what);
            sink_end(s);
        }
        sink_end(s);
        sink_integer(s, list ? "divisor_count" : "guard_count", count);
    }
}

/* ---- images ---------------------------------------------------------------------------------------------------- */

static void xyz(const struct sink *s, const char *key, const int *value)
{
    static const char *const axis[3] = {"x", "y", "z"};
    sink_object(s, key);
    for (int i = 0; i < 3; i++)
        sink_integer(s, axis[i], value[i] > 0 ? value[i] : 1);
    sink_end(s);
}

/* "384 threads, 197632 bytes of shared memory, ring ab of 4 stages, cluster 2 x 1 x 1, 168 registers" */
static void cost(const struct sink *s, const struct host_image *image)
{
    const struct plan *p = image->plan;
    const int *cluster = p->launch.cluster;
    char line[1024];
    size_t at = (size_t)snprintf(line, sizeof line, "%d threads, %d bytes of shared memory", p->launch.block,
                                 p->launch.shared_bytes);
    for (int i = 0; i < p->ring_count && at < sizeof line; i++)
        at += (size_t)snprintf(line + at, sizeof line - at, ", ring %s of %d stage%s", p->ring[i].name,
                               p->ring[i].stages, p->ring[i].stages == 1 ? "" : "s");
    if ((cluster[0] > 1 || cluster[1] > 1 || cluster[2] > 1) && at < sizeof line)
        at += (size_t)snprintf(line + at, sizeof line - at, ", cluster %d x %d x %d", cluster[0] > 0 ? cluster[0] : 1,
                               cluster[1] > 0 ? cluster[1] : 1, cluster[2] > 0 ? cluster[2] : 1);
    if (image->registers >= 0 && at < sizeof line)
        snprintf(line + at, sizeof line - at, ", %d registers a thread", image->registers);
    sink_text(s, "cost", line);
}

/* What the variant asks of each tensor. */
static void rules(const struct host_facts *f, const struct sink *s, const struct plan *p)
{
    sink_array(s, "rule");
    for (int i = 0; i < p->tensor_count; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        int bytes = (int)tw_dtype_bytes(t->dtype), align = host_align(p, i);
        sink_object(s, NULL);
        sink_text(s, "tensor", t->name);
        sink_boolean(s, "pointers", t->pointers);
        sink_integer(s, "rank", t->rank);
        sink_integer(s, "bytes", bytes);
        sink_integer(s, "align", align);
        sink_integer(s, "mask", align - 1);
        sink_integer(s, "whole_rows", t->whole_rows && align > bytes);
        sink_integer(s, "map", t->map >= 0);
        sink_boolean(s, "one_map", !t->maps && maps_of(f, i)); /* or none, where others have one of each slice */
        sink_array(s, "fixed");
        for (int d = 0; d + 1 < t->rank; d++)
            if (t->fixed[d]) {
                sink_object(s, NULL);
                sink_integer(s, "dim", d);
                sink_integer(s, "stride", t->fixed[d]);
                sink_end(s);
            }
        sink_end(s);
        sink_end(s);
    }
    sink_end(s);
}

static void params(const struct host_facts *f, const struct sink *s, const struct plan *p, int image)
{
    sink_array(s, "param");
    for (int i = 0; i < p->param_count; i++) {
        static const char *const kind[] = {"map", "pointer", "dim", "stride", "scalar", "workspace"};
        const struct plan_param *q = &p->param[i];
        sink_object(s, NULL);
        sink_text(s, "kind", kind[q->kind]);
        sink_integer(s, "offset", q->offset);
        sink_integer(s, "bytes", q->bytes);
        sink_integer(s, "index", q->index);
        sink_integer(s, "word", q->offset / 8);
        if (q->kind == PLAN_PARAM_MAP)
            sink_integer(s, "map", f->map_of[image][q->index]);
        if (q->kind == PLAN_PARAM_MAP || q->kind == PLAN_PARAM_POINTER || q->kind == PLAN_PARAM_STRIDE)
            sink_text(s, "tensor", p->tensor[q->tensor].name);
        if (q->kind == PLAN_PARAM_MAP) {
            sink_integer(s, "rank", p->tensor[q->tensor].rank);
            sink_boolean(s, "pointers", p->tensor[q->tensor].pointers);
            sink_integer(s, "maps", p->tensor[q->tensor].maps);
        }
        if (q->kind == PLAN_PARAM_DIM)
            sink_text(s, "symbol", p->symbol[q->index]);
        if (q->kind == PLAN_PARAM_SCALAR)
            sink_text(s, "scalar", p->scalar[q->index].name);
        sink_end(s);
    }
    sink_end(s);
}

/* How much workspace a launch wants depends on how many blocks it has. */
static bool workspace_by_grid(const struct plan *p)
{
    return p->workspace && host_reads(p, plan_number(p->workspace), p->symbol_count - 1);
}

/* Images of windows by spatial dims: how many pixels a window takes with its padding, and how many a dim may have for
 * the walk over windows. */
static void pictures(const struct sink *s, const struct plan *p)
{
    sink_array(s, "picture");
    for (int i = 0; i < p->tensor_count; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        for (int d = 0; d < t->window.dims; d++) {
            sink_object(s, NULL);
            sink_text(s, "tensor", t->name);
            sink_boolean(s, "mapped", t->map >= 0);
            sink_integer(s, "dim", d + 1);
            sink_integer(s, "takes", -window_room(&t->window, d));
            sink_integer(s, "longest", INT32_MAX - (int64_t)t->window.after[d] + window_reach(&t->window, d));
            sink_end(s);
        }
    }
    sink_end(s);
}

static void image(const struct host_facts *f, const struct sink *s, int index)
{
    const struct host_image *m = &f->model->image[index];
    const struct plan *p = m->plan;
    const struct host_target *t = &f->target[f->target_of[index]];
    char name[512];
    sink_object(s, NULL);
    sink_text(s, "id", f->id[index]);
    sink_text(s, "arch", p->arch);
    sink_text(s, "variant", p->variant);
    snprintf(name, sizeof name, "%s%s", p->variant[0] ? ", " : "", p->variant);
    sink_text(s, "label", name);
    sink_text(s, "entry", p->entry);
    cost(s, m);
    sink_integer(s, "variant_index", index - t->first);
    sink_integer(s, "setup", m->setup);
    sink_integer(s, "threads", p->launch.block);
    sink_integer(s, "shared_bytes", p->launch.shared_bytes);
    sink_integer(s, "registers", m->registers);
    sink_integer(s, "blocks_per_sm", p->blocks_per_sm > 0 ? p->blocks_per_sm : 1);
    sink_integer(s, "param_bytes", p->param_bytes);
    sink_integer(s, "map_count", p->map_count);
    xyz(s, "cluster", p->launch.cluster);
    sink_boolean(s, "programmatic", p->launch.programmatic);
    sink_object(s, "grid");
    for (int i = 0; i < 3; i++)
        formula(f, s, i == 0 ? "x" : i == 1 ? "y" : "z", p, p->launch.grid[i]);
    sink_end(s);
    if (p->workspace)
        formula(f, s, "workspace", p, plan_number(p->workspace));
    if (p->items)
        formula(f, s, "items", p, plan_number(p->items));
    pictures(s, p);
    if (p->list) {
        formula(f, s, "list", p, p->list->records);
        sink_integer(s, "list_threads", PLAN_LIST_THREADS);
    }
    sink_boolean(s, "workspace_by_grid", workspace_by_grid(p));
    rules(f, s, p);
    params(f, s, p, index);
    sink_integer(s, "source_chunks", count_chunks(m->source, m->source_bytes));
    sink_integer(s, "ptx_chunks", count_chunks(m->ptx, m->ptx_bytes));
    sink_integer(s, "cubin_bytes", m->cubin ? (int64_t)m->cubin_bytes : 0);
    if (f->data) {
        chunks(f, s, "source", m->source, m->source_bytes);
        chunks(f, s, "ptx", m->ptx, m->ptx_bytes);
        byte_rows(s, "cubin", m->cubin, m->cubin_bytes);
    }
    sink_end(s);
}

static void targets(const struct host_facts *f, const struct sink *s)
{
    sink_array(s, "target");
    for (int i = 0; i < f->target_count; i++) {
        const struct host_target *t = &f->target[i];
        int last = t->first + t->own - 1, shared = 0;
        char name[512];
        for (int n = t->first; n <= last; n++) {
            const struct plan *p = f->model->image[n].plan;
            shared = p->launch.shared_bytes > shared ? p->launch.shared_bytes : shared;
        }
        sink_object(s, NULL);
        sink_text(s, "id", t->id);
        sink_text(s, "arch", t->id);
        snprintf(name, sizeof name, "compute_%s", t->id + 3);
        sink_text(s, "virtual", name);
        sink_integer(s, "number", i + 1);
        sink_integer(s, "major", t->major);
        sink_integer(s, "minor", t->minor);
        sink_integer(s, "exact", t->exact);
        sink_integer(s, "newer", t->newer);
        sink_integer(s, "first", t->first);
        sink_integer(s, "count", t->count);
        sink_integer(s, "shared_bytes", shared);
        sink_array(s, "image");
        for (int n = t->first; n <= last; n++)
            sink_text(s, NULL, f->id[n]);
        sink_end(s);
        sink_array(s, "setup");
        for (int n = last + 1; n < t->first + t->count; n++)
            sink_text(s, NULL, f->id[n]);
        sink_end(s);
        sink_text(s, "last", f->id[last]);
        rules(f, s, f->model->image[last].plan);
        sink_end(s);
    }
    sink_end(s);
}

/* What the arguments ask of the launcher. */
static void find_parts(const struct host_facts *f, struct host_parts *parts)
{
    const struct plan *p = f->plan;
    for (int i = 0; i < p->tensor_count; i++) {
        parts->operands = parts->operands || p->tensor[i].pointers || maps_of(f, i) || host_may_be_null(f, i);
        for (int d = 0; d < p->tensor[i].rank; d++)
            parts->operands = parts->operands || may_be_negative(f, i, d) || may_be_large(f, i, d);
    }
    for (int i = 0; i + 1 < p->symbol_count; i++)
        parts->sizes = parts->sizes || host_is_argument(p, i);
}

static void walk(const void *model, const struct sink *s)
{
    const struct host_facts *f = model;
    const struct host_model *m = f->model;
    int64_t workspace = 0, words_of_params = 1, variants = 1;
    struct host_parts parts = {.debug = f->debug, .tuned = f->choice_count > 0, .maps = f->map_count > 0};
    bool by_grid = false, of_sizes = false;
    int64_t maps = 1;
    for (int i = 0; i < m->image_count; i++) {
        const struct plan *p = m->image[i].plan;
        workspace = p->workspace_bytes > workspace ? p->workspace_bytes : workspace;
        by_grid = by_grid || workspace_by_grid(p);
        of_sizes = of_sizes || p->workspace;
        maps = p->map_count > maps ? p->map_count : maps;
        parts.lists = parts.lists || p->list;
        parts.counted = parts.counted || p->items;
        parts.programmatic = parts.programmatic || p->launch.programmatic;
        for (int n = 0; n < 3; n++)
            parts.clusters = parts.clusters || p->launch.cluster[n] > 1;
        words_of_params = (p->param_bytes + 7) / 8 > words_of_params ? (p->param_bytes + 7) / 8 : words_of_params;
        parts.large = parts.large || p->param_bytes > 4096;
        parts.cubin = parts.cubin || m->image[i].cubin;
        parts.source = parts.source || m->image[i].source;
        parts.ptx = parts.ptx || m->image[i].ptx;
        for (int n = 0; n < p->tensor_count; n++) {
            parts.windows = parts.windows || p->tensor[n].window.dims > 0;
            parts.pointers = parts.pointers || p->tensor[n].pointers;
            parts.arrays = parts.arrays || p->tensor[n].maps > 0;
            for (int d = 0; d + 1 < p->tensor[n].rank; d++)
                parts.fixed = parts.fixed || p->tensor[n].fixed[d];
        }
    }
    parts.text = parts.source || parts.ptx;
    parts.workspace = workspace > 0;
    find_parts(f, &parts);
    for (int i = 0; i < f->target_count; i++)
        variants = f->target[i].count > variants ? f->target[i].count : variants;
    sink_object(s, NULL);
    sink_text(s, "name", m->name);
    sink_integer(s, "generator", f->generator);
    sink_text(s, "needs", parts.source ? ", with NVRTC of CUDA 12.8 or newer to compile the kernel at load" : "");
    sink_integer(s, "variants", variants);
    sink_integer(s, "param_words", words_of_params);
    sink_integer(s, "workspace", workspace);
    sink_text(
        s, "workspace_is",
        by_grid
            ? " on the device that it is\n * loaded for, whose multiprocessors count: what args.workspace is to hold"
        : workspace ? ": what args.workspace is to hold"
                    : "");
    sink_integer(s, "most_maps", maps);
    sink_boolean(s, "workspace_of_sizes", of_sizes);
    sink_boolean(s, "lists", parts.lists);
    sink_boolean(s, "debug", f->debug);
    sink_boolean(s, "body", false);
    sink_boolean(s, "has_source", parts.source);
    sink_boolean(s, "has_text", parts.text);
    host_parts(s, f->shared ? &host_all_parts : &parts, f->shared ? NULL : m->name);
    arguments(f, s);
    host_maps(f, s);
    host_choice(f, s);
    if (f->python)
        host_python(f, s);
    sink_array(s, "image");
    for (int i = 0; i < m->image_count; i++)
        image(f, s, i);
    sink_end(s);
    targets(f, s);
    sink_array(s, "option");
    for (int i = 0; i < m->option_count; i++) {
        struct emit_text lines = {.arena = f->arena};
        literals(&lines, m->option[i], strlen(m->option[i]));
        *f->no_memory = *f->no_memory || lines.failed;
        sink_text(s, NULL, lines.data ? lines.data : "\"\"");
    }
    sink_end(s);
    sink_end(s);
}

/* ---- emission -------------------------------------------------------------------------------------------------- */

/* One text of a pair. */
struct text {
    const char *template;
    bool data; /* the kernels' own text and bytes are in it */
    bool python;
    char **out;
    size_t length;
};

static int emit_texts(const struct host_model *model, const struct emit_options *options, struct text *text, int count,
                      struct diag_set *diags)
{
    struct arena arena = {.memory = options->memory};
    bool no_memory = false;
    struct host_facts facts = {
        .model = model,
        .plan = model->image[0].plan,
        .generator = options->generator_version,
        .debug = options->debug_ms > 0,
        .shared = model->shared,
        .arena = &arena,
        .no_memory = &no_memory,
    };
    struct emit_model emitted = {.root = "host", .walk = walk, .model = &facts, .kernel = model->name};
    struct emit_options plain = *options; /* what is shipped carries no #line */
    plain.line_directives = false;
    for (int i = 0; i < count; i++)
        *text[i].out = NULL;
    int status = host_decide(&facts, diags);
    if (!status && text[0].python)
        status = host_check_python(&facts, count > 2, diags);
    for (int i = 0; i < count && !status; i++) {
        facts.data = text[i].data;
        facts.python = text[i].python;
        status = emit_expand(text[i].template, &emitted, &plain, text[i].out, &text[i].length, diags);
    }
    if (no_memory)
        status = 3;
    for (int i = 0; i < count && status; i++)
        if (*text[i].out)
            *text[i].out = memory_resize(&options->memory, *text[i].out, text[i].length + 1, 0);
    arena_free(&arena);
    return status;
}

int emit_host(const struct host_model *model, const struct emit_options *options, char **header, char **source,
              struct diag_set *diags)
{
    struct text text[] = {{"host/kernel.h", false, false, header, 0}, {"host/kernel.c", true, false, source, 0}};
    return emit_texts(model, options, text, 2, diags);
}

int emit_host_caller(const struct host_model *model, const struct emit_options *options, char **caller,
                     struct diag_set *diags)
{
    struct text text = {"host/caller.c", false, false, caller, 0};
    return emit_texts(model, options, &text, 1, diags);
}

int emit_host_python(const struct host_model *model, const struct emit_options *options, bool torch,
                     struct host_python_texts *out, struct diag_set *diags)
{
    struct text text[] = {{"python/module.c", false, true, &out->module, 0},
                          {"python/module.pyi", false, true, &out->stub, 0},
                          {"python/torch.py", false, true, &out->torch, 0},
                          {"python/torch.cpp", false, true, &out->in_place, 0}};
    out->torch = out->in_place = NULL;
    return emit_texts(model, options, text, torch ? 4 : 2, diags);
}
