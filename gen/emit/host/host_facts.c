#include "emit/host/host_facts.h"

#include <ctype.h>
#include <string.h>

#include "architecture.h"
#include "emit/host/host_choice.h"
#include "emit/template/text.h"
#include "plan/map_pointers.h"
#include "plan/map_windows.h"
#include "tensormap/tensormap.h"

/* Where the kernel's own numbers are 32-bit: a tile may begin below the extent and end past it. */
static const int64_t limit_int = INT32_MAX - 1023;
static const int64_t limit_sm_count = 1 << 16;
/* Formulas whose terms may reach it are guarded; it leaves room for the rounding of doubles. */
static const double overflow = 4611686018427387904.0;

/* Words that no member and no enumerator of the emitted files can have: C99's and C++17's. */
static const char *const reserved[] = {
    "alignas",  "alignof", "and",          "and_eq",    "asm",          "auto",     "bitand",        "bitor",
    "bool",     "break",   "case",         "catch",     "char",         "char16_t", "char32_t",      "class",
    "compl",    "const",   "const_cast",   "constexpr", "continue",     "decltype", "default",       "delete",
    "do",       "double",  "dynamic_cast", "else",      "enum",         "explicit", "export",        "extern",
    "false",    "float",   "for",          "friend",    "goto",         "if",       "inline",        "int",
    "long",     "mutable", "namespace",    "new",       "noexcept",     "not",      "not_eq",        "nullptr",
    "operator", "or",      "or_eq",        "private",   "protected",    "public",   "register",      "reinterpret_cast",
    "restrict", "return",  "short",        "signed",    "sizeof",       "static",   "static_assert", "static_cast",
    "struct",   "switch",  "template",     "this",      "thread_local", "throw",    "true",          "try",
    "typedef",  "typeid",  "typename",     "union",     "unsigned",     "using",    "virtual",       "void",
    "volatile", "wchar_t", "while",        "xor",       "xor_eq",       NULL,
};

static int fault(const struct host_facts *f, struct diag_set *diags, const char *field, const char *rule,
                 const char *text)
{
    diag_report(diags, DIAG_ERROR, f->plan->loc, f->model->name, field, rule, "%s", text);
    return 1;
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

static int check_name(const struct host_facts *f, struct diag_set *diags, const char *name)
{
    bool word = name[0] && !isdigit((unsigned char)name[0]);
    for (const char *c = name; *c; c++)
        word = word && (isalnum((unsigned char)*c) || *c == '_');
    if (!word)
        return fault(f, diags, name, "HOST-NAME", "it is no name of C; write letters, digits and underscores");
    for (int i = 0; reserved[i]; i++)
        if (strcmp(reserved[i], name) == 0)
            return fault(f, diags, name, "HOST-NAME",
                         "it is a word of C or C++, and names a field of the emitted struct; "
                         "write another name");
    return 0;
}

/* The fields of NAME_args: names that C takes, each once. */
static int check_names(const struct host_facts *f, struct diag_set *diags)
{
    const struct plan *p = f->plan;
    int count = 0, status = check_name(f, diags, f->model->name);
    const char **field =
        arena_alloc(f->arena, sizeof *field * (size_t)(4 * p->tensor_count + p->symbol_count + p->scalar_count + 1));
    if (!field)
        return 3;
    for (int i = 0; i < p->tensor_count; i++) {
        field[count++] = p->tensor[i].name;
        if (p->tensor[i].pointers && !(field[count++] = arena_format(f->arena, "%s_align", p->tensor[i].name)))
            return 3;
        for (int n = 0, known = count; n < f->model->image_count && count == known; n++)
            if (f->model->image[n].plan->tensor[i].maps &&
                !(field[count++] = arena_format(f->arena, "%s_slices", p->tensor[i].name)))
                return 3;
        if (p->tensor[i].rank > 1 && !(field[count++] = arena_format(f->arena, "%s_stride", p->tensor[i].name)))
            return 3;
    }
    for (int i = 0; i + 1 < p->symbol_count; i++)
        field[count++] = p->symbol[i];
    for (int i = 0; i < p->scalar_count; i++)
        field[count++] = p->scalar[i].name;
    for (int i = 0, known = count; i < f->model->image_count && count == known; i++)
        if (f->model->image[i].plan->workspace_bytes > 0)
            field[count++] = "workspace";
    for (int i = 0; i < count; i++) {
        status |= check_name(f, diags, field[i]);
        for (int n = 0; n < i; n++)
            if (strcmp(field[i], field[n]) == 0)
                status |= fault(f, diags, field[i], "HOST-NAME",
                                "two of the kernel's sizes, tensors, strides, scalars and "
                                "its workspace have this name; rename one");
    }
    return status;
}

/* ---- formulas -------------------------------------------------------------------------------------------------- */

const char *host_formula(const struct host_facts *f, const struct plan *p, int node)
{
    if (node < 0)
        return "1";
    size_t length = expr_print_c(&p->graph, node, f->c_name, NULL, 0);
    char *text = length <= EXPR_MAX_TEXT ? arena_alloc(f->arena, length + 1) : NULL;
    if (text)
        expr_print_c(&p->graph, node, f->c_name, text, length + 1);
    return text;
}

bool host_reads(const struct plan *p, int node, int symbol)
{
    if (node < 0)
        return false;
    const struct expr_node *n = &p->graph.node[node];
    if (n->op == EXPR_SYMBOL)
        return n->integer == symbol;
    for (int i = 0; i < 3 && n->arg[i] >= 0; i++)
        if (host_reads(p, n->arg[i], symbol))
            return true;
    return false;
}

bool host_is_argument(const struct plan *p, int symbol)
{
    bool is = false;
    for (int i = 0; i < p->param_count; i++)
        is = is || (p->param[i].kind == PLAN_PARAM_DIM && p->param[i].index == symbol);
    for (int i = 0; i < 3; i++)
        is = is || host_reads(p, p->launch.grid[i], symbol);
    for (int i = 0; i < p->tensor_count; i++)
        for (int d = 0; d < p->tensor[i].rank; d++)
            is = is || host_reads(p, p->tensor[i].dim[d], symbol) || host_reads(p, p->tensor[i].stride[d], symbol);
    return is;
}

/* The largest magnitude that a formula, or any part of it, can have over the sizes that are admitted; *value is that of
 * the formula alone. */
static double peak(const struct host_facts *f, const struct plan *p, int node, double *value)
{
    const struct expr_node *n = &p->graph.node[node];
    double part[3] = {0.0, 0.0, 0.0}, most = 0.0;
    int64_t divisor;
    for (int i = 0; i < 3 && n->arg[i] >= 0; i++) {
        double below = peak(f, p, n->arg[i], &part[i]);
        most = below > most ? below : most;
    }
    switch (n->op) {
    case EXPR_CONST_INT:
        *value = n->integer < 0 ? -(double)n->integer : (double)n->integer;
        break;
    case EXPR_SYMBOL:
        *value = (double)f->limit[n->integer];
        break;
    case EXPR_MUL:
        *value = part[0] * part[1];
        break;
    case EXPR_FLOORDIV:
        *value = part[0] + 1.0;
        if (expr_is_int(&p->graph, n->arg[1], &divisor) && divisor != 0)
            *value = part[0] / part[1] + 1.0;
        break;
    case EXPR_MOD:
        *value = part[1];
        break;
    case EXPR_MIN:
    case EXPR_MAX:
        *value = part[0] > part[1] ? part[0] : part[1];
        break;
    default:
        *value = part[0] + part[1] + part[2];
        break;
    }
    return *value > most ? *value : most;
}

double host_bound(const struct host_facts *f, const struct plan *p, int node)
{
    double value;
    peak(f, p, node, &value);
    return value;
}

/* An upper bound of a formula and of all its parts as C in double: products of what is at least 1, sums for sums and
 * minima, the dividend for a quotient. */
static void bound(const struct host_facts *f, const struct plan *p, int node, struct emit_text *text)
{
    const struct expr_node *n = &p->graph.node[node];
    if (n->op == EXPR_CONST_INT) {
        text_format(text, "%.1f", n->integer < 0 ? -(double)n->integer : n->integer > 0 ? (double)n->integer : 1.0);
        return;
    }
    if (n->op == EXPR_SYMBOL) {
        if (n->integer == p->symbol_count - 1)
            text_format(text, "%.1f", (double)limit_sm_count);
        else
            text_format(text, "((double)%s + 1.0)", f->c_name[n->integer]);
        return;
    }
    text_string(text, "(");
    for (int i = 0; i < 3 && n->arg[i] >= 0 && !(i == 1 && n->op == EXPR_FLOORDIV); i++) {
        if (i)
            text_string(text, n->op == EXPR_MUL ? " * " : " + ");
        bound(f, p, n->arg[i], text);
    }
    text_string(text, ")");
}

static int add_guard(struct host_facts *f, struct host_guard **list, int *count, const char *c, const char *what)
{
    if (!c)
        return 3;
    for (int i = 0; i < *count; i++)
        if (strcmp((*list)[i].c, c) == 0)
            return 0;
    struct host_guard *grown = arena_grow(f->arena, *list, *count, sizeof *grown);
    if (!grown)
        return 3;
    *list = grown;
    grown[(*count)++] = (struct host_guard){c, what};
    return 0;
}

/* Divisors inner before outer, as nodes refer to earlier ones. */
static int guard_divisors(struct host_facts *f, const struct plan *p, int node, const char *what)
{
    const struct expr_node *n = &p->graph.node[node];
    int status = 0;
    for (int i = 0; i < 3 && n->arg[i] >= 0 && !status; i++)
        status = guard_divisors(f, p, n->arg[i], what);
    int64_t divisor;
    if (status || (n->op != EXPR_FLOORDIV && n->op != EXPR_MOD) ||
        (expr_is_int(&p->graph, n->arg[1], &divisor) && divisor != 0))
        return status;
    return add_guard(f, &f->divisor, &f->divisor_count, host_formula(f, p, n->arg[1]), what);
}

/* Sizes for which the formula or a part of it may be beyond what 64 bits hold. */
static int guard_overflow(struct host_facts *f, const struct plan *p, int node, const char *what)
{
    double value;
    struct emit_text text = {.arena = f->arena};
    if (peak(f, p, node, &value) < overflow)
        return 0;
    bound(f, p, node, &text);
    return text.failed ? 3 : add_guard(f, &f->guard, &f->guard_count, text.data, what);
}

static int guard(struct host_facts *f, const struct plan *p, int node, const char *what)
{
    if (node < 0)
        return 0;
    int status = what ? guard_overflow(f, p, node, what) : 3;
    return status ? status : guard_divisors(f, p, node, what);
}

/* A divisor of a function, which is computed where an output has elements: C that is 0 where that has no value. Those
 * within it come before it. */
static int guard_function(struct host_facts *f, const struct plan *p, int node)
{
    const char *some = "", *formula = host_formula(f, p, node);
    int status = guard_overflow(f, p, node, "a divisor of the kernel's functions");
    for (int i = 0; i < p->tensor_count && some && formula && !status; i++) {
        const char *all = "";
        for (int d = 0; d < p->tensor[i].rank && all && p->tensor[i].out; d++) {
            const char *extent = host_formula(f, p, p->tensor[i].dim[d]);
            all = extent ? arena_format(f->arena, "%s%s(%s) > 0", all, d ? " && " : "", extent) : NULL;
        }
        if (p->tensor[i].out)
            some = all ? arena_format(f->arena, "%s%s(%s)", some, *some ? " || " : "", all) : NULL;
    }
    if (status || !some || !formula)
        return status ? status : 3;
    const char *c = arena_format(f->arena, "%s ? (%s) : 1", *some ? some : "1", formula);
    return add_guard(f, &f->divisor, &f->divisor_count, c, "the kernel's functions");
}

/* The printed form of a shared node is as long as all its uses; formulas of a spec are short, what is not is refused.
 */
static bool printable(const struct host_facts *f, const struct plan *p, int node)
{
    return node < 0 || expr_print_c(&p->graph, node, f->c_name, NULL, 0) <= EXPR_MAX_TEXT / 16;
}

static int decide_formulas(struct host_facts *f, struct diag_set *diags)
{
    const struct plan *p = f->plan;
    bool short_enough = true;
    int status = 0;
    f->c_name = arena_alloc(f->arena, sizeof *f->c_name * (size_t)p->symbol_count);
    f->limit = arena_alloc(f->arena, sizeof *f->limit * (size_t)p->symbol_count);
    if (!f->c_name || !f->limit)
        return 3;
    for (int i = 0; i + 1 < p->symbol_count; i++) {
        if (!(f->c_name[i] = arena_format(f->arena, "args->%s", p->symbol[i])))
            return 3;
        f->limit[i] = SPEC_MAX_EXTENT;
        for (int n = 0; n < f->model->image_count; n++) {
            const struct plan *q = f->model->image[n].plan;
            for (int k = 0; k < q->param_count; k++)
                if (q->param[k].kind == PLAN_PARAM_DIM && q->param[k].index == i && q->param[k].bytes == 4)
                    f->limit[i] = limit_int;
        }
    }
    f->c_name[p->symbol_count - 1] = "sm_count";
    f->limit[p->symbol_count - 1] = limit_sm_count;
    for (int i = 0; i < p->tensor_count; i++)
        for (int d = 0; d < p->tensor[i].rank; d++)
            short_enough =
                short_enough && printable(f, p, p->tensor[i].dim[d]) && printable(f, p, p->tensor[i].stride[d]);
    for (int n = 0; n < f->model->image_count; n++)
        short_enough =
            short_enough && printable(f, f->model->image[n].plan, plan_number(f->model->image[n].plan->workspace));
    for (int n = 0; n < f->model->image_count; n++)
        for (int i = 0; i < 3; i++)
            short_enough =
                short_enough && printable(f, f->model->image[n].plan, f->model->image[n].plan->launch.grid[i]);
    if (!short_enough)
        return fault(f, diags, NULL, "HOST-FORMULA",
                     "a formula over the sizes is too long to be written as C; simplify it");
    for (int i = 0; i < p->tensor_count && !status; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        for (int d = 0; d < t->rank && !status; d++)
            status = guard(f, p, t->dim[d], arena_format(f->arena, "the extents of %s", t->name));
        for (int d = t->pointers; d + 1 < t->rank && !status; d++)
            status = guard(f, p, t->stride[d], arena_format(f->arena, "the strides of %s", t->name));
    }
    for (int n = 0; n < f->model->image_count; n++)
        for (int i = 0; i < 3 && !status; i++)
            status = guard(f, f->model->image[n].plan, f->model->image[n].plan->launch.grid[i], "the grid");
    for (int n = 0; n < f->model->image_count && !status; n++)
        if (f->model->image[n].plan->workspace)
            status =
                guard(f, f->model->image[n].plan, plan_number(f->model->image[n].plan->workspace), "the workspace");
    for (int n = 0; n < f->model->image_count; n++) {
        const struct plan *q = f->model->image[n].plan;
        for (int i = 0; i < q->divisor_count && !status; i++)
            status = guard_function(f, q, q->divisor[i]);
    }
    return status;
}

/* ---- targets and maps ------------------------------------------------------------------------------------------ */

static int decide_targets(struct host_facts *f, struct diag_set *diags)
{
    const struct host_model *m = f->model;
    f->target = arena_alloc(f->arena, sizeof *f->target * (size_t)m->image_count);
    f->target_of = arena_alloc(f->arena, sizeof *f->target_of * (size_t)m->image_count);
    f->id = arena_alloc(f->arena, sizeof *f->id * (size_t)m->image_count);
    if (!f->target || !f->target_of || !f->id)
        return 3;
    for (int i = 0; i < m->image_count; i++) {
        const struct host_image *image = &m->image[i];
        const struct plan *p = image->plan;
        f->id[i] = arena_format(f->arena, "%s%s%s", p->arch, p->variant[0] ? "_" : "", p->variant);
        if (!f->id[i])
            return 3;
        for (int n = 0; n < i; n++)
            if (strcmp(f->id[n], f->id[i]) == 0)
                return fault(f, diags, NULL, "HOST-VARIANT", "two Plans have the same architecture and variant");
        if (!image->source && !image->cubin)
            return fault(f, diags, NULL, "HOST-CODE", "a Plan has neither source nor cubin");
        bool same = f->target_count && strcmp(f->target[f->target_count - 1].id, p->arch) == 0;
        struct host_target *t = &f->target[f->target_count - same];
        if (!same) {
            *t = (struct host_target){.id = p->arch, .first = i, .newer = m->newer};
            struct tw_architecture_name name;
            if (tw_architecture_parse(p->arch, &name) != 0)
                return fault(f, diags, NULL, "HOST-ARCH",
                             "the Plan's architecture has another form than sm_90 or sm_90a");
            t->major = name.major;
            t->minor = name.minor;
            t->exact = name.suffix != 0;
            f->target_count++;
        }
        t->count++;
        t->own += image->setup == 0;
        t->newer = t->newer && !t->exact && (image->source || image->ptx);
        f->target_of[i] = f->target_count - 1;
    }
    if (f->target_count > 32)
        return fault(f, diags, NULL, "HOST-ARCH", "more than 32 architectures");
    return 0;
}

static bool equal_maps(const struct plan *p, const struct plan_map *a, const struct plan *q, const struct plan_map *b)
{
    return a->tensor == b->tensor && a->rank == b->rank &&
           memcmp(a->box, b->box, sizeof *a->box * (size_t)a->rank) == 0 && a->swizzle == b->swizzle &&
           a->l2_promotion == b->l2_promotion && strcmp(a->name, b->name) == 0 &&
           p->tensor[a->tensor].dtype == q->tensor[b->tensor].dtype &&
           memcmp(&p->tensor[a->tensor].window, &q->tensor[b->tensor].window, sizeof(struct spec_window)) == 0;
}

/* The image: the encoder's bytes for the constants, with zeros where launches patch. */
static int encode_image(struct host_facts *f, struct host_map *h, int capability, struct diag_set *diags)
{
    const struct tw_dtype_info *dtype = tw_dtype_info(h->tensor->dtype);
    struct tw_tensormap_call call = {
        .func = TW_TENSORMAP_TILED,
        .dtype = (uint32_t)dtype->tensormap,
        .rank = (uint32_t)h->map->rank,
        .swizzle = tw_swizzles[h->map->swizzle].tensormap,
        .l2 = (uint32_t)h->map->l2_promotion,
    };
    for (int i = 0; i < h->map->rank; i++) {
        const int dim = map_dim(h->tensor, i);
        int64_t extent;
        if (dim < 0)
            h->constant[i] = map_pointer_extent(h->tensor, i);
        else if (expr_is_int(&h->plan->graph, h->tensor->dim[dim], &extent) && extent > 0)
            h->constant[i] = (uint64_t)extent;
        const bool spatial = h->tensor->window.dims && i > 0 && i + 1 < h->map->rank;
        call.dim[i] = h->constant[i] ? h->constant[i] : spatial ? MAP_IMAGE : 1;
        call.box[i] = (uint32_t)h->map->box[i];
        call.estride[i] = 1;
    }
    map_windows(h->map, &h->tensor->window, &call);
    if (dtype->tensormap >= 0 && tw_tensormap_encode(&call, capability, h->image) == TW_OK) {
        for (int i = 0; i < h->map->rank; i++) /* extent i is half i % 2 of word 4 + i / 2: tensormap_patches.def */
            if (!h->constant[i])
                h->image[4 + i / 2] &= ~(UINT64_C(0xffffffff) << 32 * (i % 2));
        return 0;
    }
    struct tw_tensormap_verdict verdict = {0};
    char message[TW_TENSORMAP_MESSAGE] = "its dtype has no tensor map, or the bytes are not known on this architecture";
    tw_tensormap_check(&call, capability, &verdict);
    for (int i = 0; i < verdict.count; i++)
        if (!verdict.finding[i].warning) {
            tw_tensormap_message(&call, capability, &verdict.finding[i], message, sizeof message);
            break;
        }
    return fault(f, diags, h->map->name, "HOST-MAP", message);
}

static int decide_maps(struct host_facts *f, struct diag_set *diags)
{
    int status = 0;
    f->map_of = arena_alloc(f->arena, sizeof *f->map_of * (size_t)f->model->image_count);
    if (!f->map_of)
        return 3;
    for (int i = 0; i < f->model->image_count; i++) {
        const struct plan *p = f->model->image[i].plan;
        if (p->map_count && !(f->map_of[i] = arena_alloc(f->arena, sizeof **f->map_of * (size_t)p->map_count)))
            return 3;
        for (int m = 0; m < p->map_count; m++) {
            const struct plan_map *map = &p->map[m];
            const struct plan_tensor *tensor = &p->tensor[map->tensor];
            int at = 0;
            if (map->rank != map_rank(tensor))
                return fault(f, diags, map->name, "HOST-MAP", "the tensor map has another rank than its tensor");
            while (at < f->map_count && !equal_maps(p, map, f->map[at].plan, f->map[at].map))
                at++;
            if (at == f->map_count) {
                struct host_map *grown = arena_grow(f->arena, f->map, f->map_count, sizeof *grown);
                if (!grown)
                    return 3;
                f->map = grown;
                grown[f->map_count++] = (struct host_map){.plan = p, .map = map, .tensor = tensor};
                const struct host_target *t = &f->target[f->target_of[i]];
                status |= encode_image(f, &grown[at], 10 * t->major + t->minor, diags);
            }
            f->map[at].targets |= 1u << f->target_of[i];
            f->map_of[i][m] = at;
        }
    }
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

int host_align(const struct plan *p, int tensor)
{
    const struct plan_tensor *t = &p->tensor[tensor];
    int align = (int)tw_dtype_bytes(t->dtype);
    if (t->align > align)
        align = t->align;
    return t->map >= 0 && align < 16 ? 16 : align;
}

bool host_covers(const struct plan *p, const struct plan *other)
{
    for (int i = 0; i < p->tensor_count; i++) {
        int align = host_align(p, i), asked = host_align(other, i);
        bool whole = p->tensor[i].whole_rows && align > (int)tw_dtype_bytes(p->tensor[i].dtype);
        if (align > asked || (whole && !other->tensor[i].whole_rows))
            return false;
        for (int d = 0; d < p->tensor[i].rank; d++)
            if (p->tensor[i].fixed[d] && p->tensor[i].fixed[d] != other->tensor[i].fixed[d])
                return false;
    }
    return true;
}

/* The Plans of one kernel: the same arguments, and parameters that the templates can write. */
static int check_plans(const struct host_facts *f, struct diag_set *diags)
{
    const struct plan *p = f->plan;
    int status = 0;
    if (p->tensor_count == 0)
        return fault(f, diags, NULL, "HOST-PLAN", "the kernel has no tensors");
    for (int i = 0; i < f->model->image_count; i++) {
        const struct plan *q = f->model->image[i].plan;
        bool same = q->symbol_count == p->symbol_count && q->tensor_count == p->tensor_count &&
                    q->scalar_count == p->scalar_count;
        for (int n = 0; same && n < p->symbol_count; n++)
            same = strcmp(q->symbol[n], p->symbol[n]) == 0;
        for (int n = 0; same && n < p->scalar_count; n++)
            same = strcmp(q->scalar[n].name, p->scalar[n].name) == 0 && q->scalar[n].dtype == p->scalar[n].dtype;
        for (int n = 0; same && n < p->tensor_count; n++)
            same = strcmp(q->tensor[n].name, p->tensor[n].name) == 0 && q->tensor[n].dtype == p->tensor[n].dtype &&
                   q->tensor[n].rank == p->tensor[n].rank && q->tensor[n].out == p->tensor[n].out &&
                   q->tensor[n].pointers == p->tensor[n].pointers;
        if (!same)
            return fault(f, diags, NULL, "HOST-PLAN", "the Plans of a kernel differ in sizes, tensors or scalars");
        int end = 0;
        for (int n = 0; n < q->param_count; n++) {
            const struct plan_param *a = &q->param[n];
            bool fits = a->offset >= end && a->offset + a->bytes <= q->param_bytes;
            end = a->offset + a->bytes;
            switch (a->kind) {
            case PLAN_PARAM_MAP:
                fits = fits && a->bytes == 128 * map_count(&q->tensor[a->tensor]) && a->offset % 64 == 0;
                break;
            case PLAN_PARAM_POINTER:
            case PLAN_PARAM_WORKSPACE:
            case PLAN_PARAM_STRIDE:
                fits = fits && a->bytes == 8;
                break;
            case PLAN_PARAM_DIM:
                fits = fits && (a->bytes == 4 || a->bytes == 8);
                break;
            case PLAN_PARAM_SCALAR:
                fits = fits && (size_t)a->bytes == tw_dtype_bytes(q->scalar[a->index].dtype);
                break;
            }
            if (!fits)
                status =
                    fault(f, diags, a->name, "HOST-PARAM", "the parameter's offset or size is not one of its kind");
        }
    }
    return status;
}

int host_decide(struct host_facts *f, struct diag_set *diags)
{
    int status = check_plans(f, diags);
    if (!status)
        status = check_names(f, diags);
    if (!status)
        status = decide_formulas(f, diags);
    if (!status)
        status = decide_targets(f, diags);
    if (!status)
        status = host_decide_choice(f);
    if (!status)
        status = decide_maps(f, diags);
    return status;
}
