#include "emit/host/host_python.h"

#include <stdio.h>
#include <string.h>

/* ---- names ------------------------------------------------------------------------------------------------------ */

static const char *const words_of_python[] = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",    NULL,
};
static const char *const own_parameters[] = {"stream", "workspace", NULL};       /* beside the kernel's */
static const char *const own_names[] = {"load", "info", "torch_in_place", NULL}; /* of the module, beside the kernel */
static const char *const torch_modules[] = {"torch", "typing", NULL};            /* that NAME_torch.py imports */
static const char *const torch_names[] = {"torch", "Optional", "Tuple", "_launch", NULL}; /* that it uses */

static bool is_among(const char *const *list, const char *name)
{
    while (*list && strcmp(*list, name) != 0)
        list++;
    return *list != NULL;
}

/* What Python's own header says of a name: it may be one of its macros. */
static bool is_of_header(const char *name)
{
    static const char *const begin[] = {"Py", "PY", "METH_", NULL};
    for (int i = 0; begin[i]; i++)
        if (strncmp(name, begin[i], strlen(begin[i])) == 0)
            return true;
    return false;
}

static int check_name(const struct host_facts *f, struct diag_set *diags, const char *name, bool parameter, bool torch)
{
    const char *text = NULL;
    if (is_of_header(name))
        text = "a name that begins so is one of Python's headers";
    else if (is_among(words_of_python, name))
        text = "it is a word of Python";
    else if (parameter && is_among(own_parameters, name))
        text = "the function has a parameter of that name";
    else if (!parameter && is_among(own_names, name))
        text = "the module has that name itself";
    else if (torch && is_among(parameter ? torch_names : torch_modules, name))
        text = "PyTorch's file imports that name";
    if (!text)
        return 0;
    diag_report(diags, DIAG_ERROR, f->plan->loc, f->model->name, parameter ? name : NULL, "PYTHON-NAME",
                "'%s' can be no name for gen --python: %s; write another name", name, text);
    return 1;
}

/* An operator is found by the tensors that it is given: of one that makes its outputs, by those that it reads. */
static int check_operator(const struct host_facts *f, struct diag_set *diags)
{
    for (int i = 0; i < f->plan->tensor_count; i++)
        if (!f->plan->tensor[i].out && !host_may_be_null(f, i))
            return 0;
    diag_report(diags, DIAG_ERROR, f->plan->loc, f->model->name, NULL, "PYTHON-TORCH",
                "gen --torch makes no operator of a kernel without a tensor that every launch reads; write --python");
    return 1;
}

int host_check_python(const struct host_facts *f, bool torch, struct diag_set *diags)
{
    const struct plan *p = f->plan;
    int status = check_name(f, diags, f->model->name, false, torch);
    if (torch)
        status |= check_operator(f, diags);
    for (int i = 0; i < p->tensor_count; i++)
        status |= check_name(f, diags, p->tensor[i].name, true, torch);
    for (int i = 0; i + 1 < p->symbol_count; i++)
        if (host_is_argument(p, i))
            status |= check_name(f, diags, p->symbol[i], true, torch);
    for (int i = 0; i < p->scalar_count; i++)
        status |= check_name(f, diags, p->scalar[i].name, true, torch);
    return status;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------ */

/* The symbol that an extent is a multiple of, and how many times; -1: it is something else. */
static int symbol_of(const struct plan *p, int node, int64_t *factor)
{
    const struct expr_node *n = &p->graph.node[node];
    *factor = 1;
    if (n->op == EXPR_MUL) {
        if (!expr_is_int(&p->graph, n->arg[1], factor) && !expr_is_int(&p->graph, n->arg[0], factor))
            return -1;
        int64_t other;
        n = &p->graph.node[n->arg[expr_is_int(&p->graph, n->arg[0], &other) ? 1 : 0]];
    }
    return n->op == EXPR_SYMBOL && *factor > 0 ? (int)n->integer : -1;
}

/* Where a size comes from. */
struct source {
    int tensor, dim; /* of the Plan; tensor -1: from nowhere */
    int64_t factor;
};

/* Dims of the tensor that a call has: addresses of slices are one of their number. */
static int dims_of(const struct plan_tensor *t)
{
    return t->pointers ? 1 : t->rank;
}

/* Of tensors that are always there, those that are read before those that are written, an extent that is the size
 * itself before a multiple of it. */
static struct source source_of(const struct host_facts *f, int symbol)
{
    const struct plan *p = f->plan;
    struct source best = {-1, 0, 1};
    int least = 4;
    for (int i = 0; i < p->tensor_count; i++)
        for (int d = 0; d < dims_of(&p->tensor[i]) && !host_may_be_null(f, i); d++) {
            int64_t factor;
            if (symbol_of(p, p->tensor[i].dim[d], &factor) != symbol)
                continue;
            int cost = 2 * (p->tensor[i].out && !p->tensor[i].pointers) + (factor > 1);
            if (cost < least) {
                best = (struct source){i, d, factor};
                least = cost;
            }
        }
    return best;
}

/* An output whose sizes are all known without it. */
static bool is_made(const struct host_facts *f, int tensor)
{
    const struct plan *p = f->plan;
    const bool added = f->model->added && f->model->added[tensor];
    bool made = p->tensor[tensor].out && !p->tensor[tensor].pointers && !added;
    for (int i = 0; i + 1 < p->symbol_count && made; i++) {
        const struct source from = source_of(f, i);
        for (int d = 0; d < p->tensor[tensor].rank; d++)
            if (host_reads(p, p->tensor[tensor].dim[d], i) && from.tensor >= 0 && p->tensor[from.tensor].out)
                made = false;
    }
    return made;
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

static void formula(const struct host_facts *f, const struct sink *s, const char *key, int node)
{
    const char *c = host_formula(f, f->plan, node);
    *f->no_memory = *f->no_memory || !c;
    sink_text(s, key, c ? c : "");
}

/* Python writes whole numbers, and what is done to them, as Lua does. */
static void words(const struct host_facts *f, const struct sink *s, const char *key, int node)
{
    char one[512];
    expr_print_lua(&f->plan->graph, node, f->plan->symbol, one, sizeof one);
    sink_text(s, key, one);
}

static void shape(const struct host_facts *f, const struct sink *s, const char *key, const struct plan_tensor *t,
                  int from, int to)
{
    char line[1024] = "";
    size_t at = 0;
    for (int d = from; d < to && at < sizeof line; d++) {
        char one[256];
        expr_print_lua(&f->plan->graph, t->dim[d], f->plan->symbol, one, sizeof one);
        at += (size_t)snprintf(line + at, sizeof line - at, "%s%s", d > from ? ", " : "", one);
    }
    sink_text(s, key, line);
}

static void tensor(const struct host_facts *f, const struct sink *s, int index)
{
    const struct plan_tensor *t = &f->plan->tensor[index];
    /* Addresses of slices come as a tensor of theirs. */
    const struct tw_dtype_info *type = tw_dtype_info(t->pointers ? TW_INT64 : t->dtype);
    const int rank = dims_of(t);
    const bool added = f->model->added && f->model->added[index];
    sink_object(s, NULL);
    sink_text(s, "name", t->name);
    sink_integer(s, "number", index);
    sink_text(s, "kind", !t->out ? "" : added ? "added" : "out");
    sink_boolean(s, "may_be_null", host_may_be_null(f, index));
    sink_boolean(s, "made", is_made(f, index));
    sink_boolean(s, "pointers", t->pointers);
    sink_integer(s, "rank", rank);
    sink_text(s, "dtype", type->name);
    sink_integer(s, "code", type->dlpack_code);
    sink_integer(s, "bits", (int)type->bits);
    sink_integer(s, "raw", t->pointers || (type->kind == TW_KIND_FLOAT && type->bits == 8));
    shape(f, s, "shape", t, 0, rank);
    sink_text(s, "of", tw_dtype_name(t->dtype));
    shape(f, s, "slice", t, 1, t->rank);
    sink_array(s, "dim");
    for (int d = 0; d < rank; d++) {
        sink_object(s, NULL);
        sink_integer(s, "index", d);
        formula(f, s, "c", t->dim[d]);
        words(f, s, "python", t->dim[d]);
        sink_end(s);
    }
    sink_end(s);
    sink_array(s, "stride");
    for (int d = 0; d + 1 < rank; d++) {
        sink_object(s, NULL);
        sink_integer(s, "index", d);
        formula(f, s, "c", t->stride[d]);
        sink_end(s);
    }
    sink_end(s);
    sink_end(s);
}

/* A parameter without a default stands before those that have one. */
static int rank_of(const struct host_facts *f, int tensor)
{
    const bool optional = host_may_be_null(f, tensor) || is_made(f, tensor);
    return 2 * optional + f->plan->tensor[tensor].out;
}
enum { RANKS = 4 };

/* The place of a tensor of the Plan among Python's. */
static int place_of(const struct host_facts *f, int tensor)
{
    const int rank = rank_of(f, tensor);
    int place = 0;
    for (int i = 0; i < f->plan->tensor_count; i++)
        if (rank_of(f, i) < rank || (rank_of(f, i) == rank && i < tensor))
            place++;
    return place;
}

static void sizes(const struct host_facts *f, const struct sink *s)
{
    const struct plan *p = f->plan;
    sink_array(s, "size");
    for (int i = 0; i + 1 < p->symbol_count; i++) {
        if (!host_is_argument(p, i))
            continue;
        const struct source from = source_of(f, i);
        sink_object(s, NULL);
        sink_text(s, "name", p->symbol[i]);
        sink_boolean(s, "given", from.tensor < 0);
        sink_integer(s, "tensor", from.tensor < 0 ? 0 : place_of(f, from.tensor));
        sink_text(s, "of", from.tensor < 0 ? "" : p->tensor[from.tensor].name);
        sink_integer(s, "dim", from.dim);
        sink_integer(s, "factor", from.factor);
        sink_end(s);
    }
    sink_end(s);
}

/* The ends of an integer type's range, as C has them. */
static void range(const struct sink *s, const struct tw_dtype_info *type)
{
    const unsigned bits = (unsigned)type->bits;
    char low[32] = "0", high[32] = "";
    if (type->kind == TW_KIND_INT) {
        const int64_t most = (int64_t)(UINT64_MAX >> 1) >> (64 - bits);
        snprintf(low, sizeof low, "-%lld - 1", (long long)most);
        snprintf(high, sizeof high, "%lld", (long long)most);
    } else {
        snprintf(high, sizeof high, "%llu", (unsigned long long)(UINT64_MAX >> (64 - bits)));
    }
    sink_text(s, "low", low);
    sink_text(s, "high", high);
}

static void scalars(const struct host_facts *f, const struct sink *s)
{
    const struct plan *p = f->plan;
    sink_array(s, "scalar");
    for (int i = 0; i < p->scalar_count; i++) {
        static const char *const kind[] = {
            [TW_KIND_FLOAT] = "float", [TW_KIND_INT] = "int", [TW_KIND_UINT] = "uint", [TW_KIND_BOOL] = "bool"};
        const struct tw_dtype_info *type = tw_dtype_info(p->scalar[i].dtype);
        const bool narrow = type->kind == TW_KIND_FLOAT && type->bits == 16;
        sink_object(s, NULL);
        sink_text(s, "name", p->scalar[i].name);
        sink_text(s, "dtype", type->name);
        sink_text(s, "c_type", type->c_type);
        sink_text(s, "kind", narrow ? "narrow" : kind[type->kind]);
        sink_integer(s, "fraction", p->scalar[i].dtype == TW_BF16 ? 7 : 10);
        sink_integer(s, "least", p->scalar[i].dtype == TW_BF16 ? -126 : -14);
        range(s, type);
        sink_end(s);
    }
    sink_end(s);
}

void host_python(const struct host_facts *f, const struct sink *s)
{
    const struct plan *p = f->plan;
    sink_object(s, "python");
    sink_array(s, "tensor");
    for (int rank = 0; rank < RANKS; rank++)
        for (int i = 0; i < p->tensor_count; i++)
            if (rank_of(f, i) == rank)
                tensor(f, s, i);
    sink_end(s);
    sizes(f, s);
    scalars(f, s);
    sink_end(s);
}
