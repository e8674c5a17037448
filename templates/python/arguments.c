//@ -- The arguments: which there are, what each must be, and what is said of one that is not.
//@ param host table
//@ local NAME, python = host.name, host.python
/* ---- arguments -------------------------------------------------------------------------------------------------- */

/* In the order of the signature; those behind the tensors by keyword. */
enum {
//@ for _, t in ipairs(python.tensor) do
    tensor_${t.name},
//@ end
    tensors_in_all,
    before_scalars = tensors_in_all - 1,
//@ for _, s in ipairs(python.scalar) do
    scalar_${s.name},
//@ end
//@ for _, d in ipairs(python.size) do
//@     if d.given then
    size_${d.name},
//@     end
//@ end
//@ if host.workspace > 0 then
    slot_workspace,
//@ end
    slot_stream,
    slots_in_all
};

struct slot {
    const char *name;
    int required;
};
static const struct slot slots[] = {
//@ for _, t in ipairs(python.tensor) do
//@     local required = not t.may_be_null and not t.made and 1 or 0
    {"${t.name}", ${required}},
//@ end
//@ for _, s in ipairs(python.scalar) do
    {"${s.name}", 1},
//@ end
//@ for _, d in ipairs(python.size) do
//@     if d.given then
    {"${d.name}", 1},
//@     end
//@ end
//@ if host.workspace > 0 then
    {"workspace", 0},
//@ end
    {"stream", 0},
};

/* What a tensor must be. */
struct expected {
    const char *shape; /* in the spec's words */
    int rank;
    uint8_t code, bits; /* of the element type, as DLPack has them */
    uint8_t raw;        /* uint8 will do, too: its bytes */
    uint8_t out;
};
static const struct expected expected[] = {
//@ for _, t in ipairs(python.tensor) do
//@     local out = t.kind ~= "" and not t.pointers and 1 or 0
    {"${t.shape}", ${t.rank}, ${t.code}, ${t.bits}, ${t.raw}, ${out}},
//@ end
};

/* The name of a type as frameworks write it. */
static const char *type_name(int code, int bits, int lanes, char out[64])
{
    static const char *const word[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
    static const char *const small[] = {
        "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
        "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
    };
    char many[16] = "";
    if (lanes != 1)
        snprintf(many, sizeof many, "x%d", lanes);
    if (code == 6 && bits == 8)
        snprintf(out, 64, "bool%s", many);
    else if (code >= 0 && code < 7)
        snprintf(out, 64, "%s%d%s", word[code], bits, many);
    else if (code >= 7 && code < 18)
        snprintf(out, 64, "%s%s", small[code - 7], many);
    else
        snprintf(out, 64, "of %d bits without a name%s", bits, many);
    return out;
}

/* "(512, 384)" */
static const char *shape_text(const int64_t *shape, int rank, char out[256])
{
    size_t at = (size_t)snprintf(out, 256, "(");
    int d;
    for (d = 0; d < rank && at < 220; d++)
        at += (size_t)snprintf(out + at, 256 - at, d ? ", %lld" : "%lld", (long long)shape[d]);
    snprintf(out + at, 256 - at, rank == 1 ? ",)" : ")");
    return out;
}

/* Whether elements are of the type, by its name or, where a framework has none for it, by its size. */
INLINE int is_of_type(const struct dl_tensor *t, const struct expected *e)
{
    if (t->bits != e->bits || t->lanes != 1)
        return 0;
    return t->code == e->code || (e->raw && t->code == 1) || (t->code == opaque && (e->code == 4 || e->code > 6));
}

/* Says which stride is none that a kernel takes. */
APART static void refuse_stride(const struct dl_tensor *t, const char *name, int position)
{
    int d;
    for (d = 0; t->stride && d < t->rank; d++) {
        long long stride = (long long)t->stride[d];
        if (t->shape[d] < 2 || (d + 1 == t->rank ? stride == 1 : stride > 0))
            continue;
        PyErr_Format(PyExc_ValueError, "argument '%s' (position %d): dimension %d has a stride of %lld, must %s; "
                     "pass a contiguous copy", name, position, d, stride, d + 1 == t->rank ? "have 1" : "be positive");
        return;
    }
}

/* Says why a tensor is none for this place. -1. */
APART static int refuse(const struct together *all, const struct view *v, int i)
{
    const struct dl_tensor *t = &v->tensor;
    const struct expected *e = &expected[i];
    const char *name = slots[i].name;
    char is[64], must[64];
    int position = i + 1, d;
    if (t->device_type != dl_cuda && t->device_type != dl_cuda_managed)
        PyErr_Format(PyExc_ValueError, "argument '%s' (position %d): on %s (DLPack's device %d), must be on a CUDA "
                     "device", name, position, t->device_type == dl_cpu ? "the CPU" : "another kind of device",
                     (int)t->device_type);
    else if (all->device != ANY_DEVICE && t->device != ANY_DEVICE && t->device != all->device)
        PyErr_Format(PyExc_ValueError, "argument '%s' (position %d): on device %d, must be on device %d, as those "
                     "before it are", name, position, (int)t->device, all->device);
    else if (!is_of_type(t, e))
        PyErr_Format(PyExc_TypeError, "argument '%s' (position %d): dtype %s, must be %s", name, position,
                     type_name(t->code, t->bits, t->lanes, is), type_name(e->code, e->bits, 1, must));
    else if (t->rank != e->rank)
        PyErr_Format(PyExc_ValueError, "argument '%s' (position %d): %d dimensions, must be %d, (%s)", name, position,
                     (int)t->rank, e->rank, e->shape);
    else if (v->read_only && e->out)
        PyErr_Format(PyExc_ValueError, "argument '%s' (position %d): read only, or a copy; the kernel writes it", name,
                     position);
    for (d = 0; !PyErr_Occurred() && d < e->rank; d++)
        if (t->shape[d] < 0)
            PyErr_Format(PyExc_ValueError, "argument '%s' (position %d): dimension %d has %lld elements", name,
                         position, d, (long long)t->shape[d]);
    if (!PyErr_Occurred())
        refuse_stride(t, name, position);
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "argument '%s' (position %d): it has more elements than 64 bits count", name,
                     position);
    return -1;
}

/* Whether 64 bits count the product of two numbers above 0. Of two small ones without the division, which takes a host
 * 10 to 90 clocks. */
INLINE int countable(int64_t a, int64_t b)
{
    return ((uint64_t)(a | b) >> 31) == 0 || a <= INT64_MAX / b;
}

/* Takes the strides of all dimensions but the last, 0 where none is looked at. Returns whether the tensor is one for
 * this place, whatever its sizes. */
INLINE int fits(struct together *all, const struct view *v, const struct expected *e, int rank, int64_t *stride)
{
    const struct dl_tensor *t = &v->tensor;
    int64_t dense = 1, wrong = 0;
    int d, empty = 0;
    if ((t->device_type != dl_cuda && t->device_type != dl_cuda_managed) || t->rank != rank || !is_of_type(t, e) ||
        (v->read_only && e->out))
        return 0;
    if (t->device != all->device) {
        if (all->device == ANY_DEVICE)
            all->device = t->device;
        else if (t->device != ANY_DEVICE)
            return 0;
    }
    for (d = rank - 1; d >= 0; d--) {
        int64_t extent = t->shape[d], own = t->stride ? t->stride[d] : dense;
        if (extent < 0 || (extent > 1 && !countable(dense, extent)))
            return 0;
        empty |= extent == 0;
        own = extent > 1 ? own : 0; /* else it says nothing */
        if (d + 1 < rank) {
            stride[d] = own;
            wrong |= extent > 1 && own <= 0 ? -1 : 0;
        } else {
            wrong |= extent > 1 && own != 1 ? -1 : 0;
        }
        dense *= extent > 1 ? extent : 1;
    }
    for (d = 0; empty && d + 1 < rank; d++)
        stride[d] = 0;
    return wrong >= 0 || empty;
}
