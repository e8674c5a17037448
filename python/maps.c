/* tilewright.maps.TensorMap as a type of CPython's: tensor maps of any framework's tensors, encoded here without a
 * driver. What python/tilewright/by_ctypes.py says in Python, with the same words for what is wrong, which
 * tests/python/maps.py compares.
 *
 * It keeps to the stable ABI of Python 3.10, _maps.abi3.so: one file for every later Python. A free-threaded Python has
 * no stable ABI: compiled with its headers the same text uses its own, as _maps.3.13t.so. */
#include <pyconfig.h>

#if !defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
#define Py_LIMITED_API 0x030a0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "dtype.h"
#include "tensor_map.h"

#include "templates/python/words.h"

#include "templates/python/dlpack.h"

#include "templates/python/exchange.c"

/* Without the lock of the interpreter a map has its own, for its bytes and what it says of its tensor. */
#if defined(Py_GIL_DISABLED)
#define LOCKED(map) Py_BEGIN_CRITICAL_SECTION(map)
#define UNLOCKED Py_END_CRITICAL_SECTION()
#else
#define LOCKED(map) {
#define UNLOCKED }
#endif

/* ---- what is remembered ----------------------------------------------------------------------------------------- */

/* The arguments, in order; the first two may stand without their name. */
#define ARGUMENTS(X)                                                                                                   \
    X(tensor) X(box) X(step) X(swizzle) X(l2) X(nan) X(lower) X(upper) X(channels) X(pixels) X(capability) X(wide)

enum {
#define X(name) a_##name,
    ARGUMENTS(X)
#undef X
    arguments_in_all,
    by_place = 2
};

static const char *const argument_names[] = {
#define X(name) #name,
    ARGUMENTS(X)
#undef X
};

/* A word of an argument, or of a typestr. */
struct word {
    const char *name;
    int value;
};

enum { MOST_WORDS = 4 }; /* of one argument */

static const struct word swizzles[] = {{"none", 0}, {"32B", 1}, {"64B", 2}, {"128B", 3}, {NULL, 0}};
static const struct word promotions[] = {{"none", 0}, {"64B", 1}, {"128B", 2}, {"256B", 3}, {NULL, 0}};
static const struct word modes[] = {{"W", 0}, {"W128", 1}, {NULL, 0}};
static const struct word codes[] = {
    {"f2", TW_FP16},   {"f4", TW_FP32},   {"f8", TW_FP64},  {"i1", TW_INT8},   {"u1", TW_UINT8},
    {"i2", TW_INT16},  {"u2", TW_UINT16}, {"i4", TW_INT32}, {"u4", TW_UINT32}, {"i8", TW_INT64},
    {"u8", TW_UINT64}, {"b1", TW_BOOL},   {"V2", TW_BF16},  {"V1", TW_UINT8},  {NULL, 0}};

enum { d_swizzle, d_l2, d_wide, d_code, dicts_in_all };
enum { s_dlpack, s_interface, strings_in_all };

struct state {
    PyThread_type_lock lock; /* of what is written behind execute */
    struct seen seen[TYPES];
    PyObject *argument[arguments_in_all]; /* names, interned */
    PyObject *dict[dicts_in_all];         /* of words; and the first of them, interned */
    PyObject *common[dicts_in_all][MOST_WORDS];
    PyObject *string[strings_in_all];     /* __dlpack__, __cuda_array_interface__ */
    PyObject *nothing, *version;          /* (), (1, 1) */
};

static struct PyModuleDef definition;

#include "maps_tensor.h"

/* A map. Its bytes lie in itself, at a multiple of 64. */
struct map {
    PyObject_HEAD struct source source;
    PyObject *weak;
    struct tw_tensor tensor;
    unsigned char room[128 + 63];
};

static uint64_t *words_of(struct map *m)
{
    return (uint64_t *)(void *)(m->room + (64 - (uintptr_t)m->room % 64) % 64);
}

/* Of the module that the type, or one that it is derived from, is of. NULL: an exception is set. */
static struct state *state_of(PyTypeObject *type)
{
    for (; type; type = (PyTypeObject *)PyType_GetSlot(type, Py_tp_base)) {
        PyObject *module = PyType_GetModule(type);
        if (module && PyModule_GetDef(module) == &definition)
            return (struct state *)PyModule_GetState(module);
        PyErr_Clear();
    }
    PyErr_SetString(PyExc_TypeError, "this is no TensorMap");
    return NULL;
}

/* ---- numbers and words ------------------------------------------------------------------------------------------ */

static int number_32(PyObject *value, uint32_t most, const char *name, uint32_t *out)
{
    uint64_t wide = *out;
    if (value && number(value, 0, most, name, &wide))
        return -1;
    *out = (uint32_t)wide;
    return 0;
}

/* "none, 32B, ..." */
static void list_of(const struct word *words, char *text, size_t size)
{
    size_t end = 0;
    for (; words->name && end < size; words++)
        end += (size_t)snprintf(text + end, size - end, "%s%s", end ? ", " : "", words->name);
}

/* The value of a word, which is most often the very object that is remembered; NULL is the default one. */
static int word(struct state *s, int which, const struct word *words, PyObject *value, const char *name, uint32_t *out)
{
    PyObject *found;
    char text[64];
    if (!value)
        return 0;
    for (int i = 0; i < MOST_WORDS && words[i].name; i++)
        if (s->common[which][i] == value) {
            *out = (uint32_t)words[i].value;
            return 0;
        }
    found = PyDict_GetItemWithError(s->dict[which], value);
    if (found) {
        *out = (uint32_t)PyLong_AsLong(found);
        return 0;
    }
    if (!PyErr_Occurred()) {
        list_of(words, text, sizeof text);
        PyErr_Format(PyExc_ValueError, "%s %R: write one of %s", name, value, text);
    }
    return -1;
}

/* Numbers of a list, which may be NULL, None or empty; to[i] of 32 bits each, `least` below 0 for those with a sign. */
static int list(PyObject *values, const char *name, unsigned rank, int most, long long least, uint32_t *to)
{
    const unsigned long long largest = least < 0 ? INT32_MAX : UINT32_MAX;
    PyObject *tuple;
    Py_ssize_t count, i;
    int some = values ? PyObject_IsTrue(values) : 0, status = 0;
    if (some <= 0)
        return some;
    if ((tuple = PySequence_Tuple(values)) == NULL)
        return -1;
    count = PyTuple_Size(tuple);
    if (count > (most > 0 ? most : 0)) {
        PyErr_Format(PyExc_ValueError, "%s has %zd entries; of a tensor of %u dimensions it has %d at most", name,
                     count, rank, most > 0 ? most : 0);
        status = -1;
    }
    for (i = 0; i < count && !status; i++) {
        uint64_t value = 0;
        status = number(PyTuple_GetItem(tuple, i), least, largest, name, &value);
        to[i] = (uint32_t)value;
    }
    Py_DECREF(tuple);
    return status;
}

/* ---- a map ------------------------------------------------------------------------------------------------------ */

/* The argument of that name, arguments_in_all: none. */
static int argument_of(struct state *s, PyObject *name)
{
    int i;
    for (i = 0; i < arguments_in_all; i++)
        if (s->argument[i] == name)
            return i;
    for (i = 0; i < arguments_in_all; i++)
        if (PyUnicode_CompareWithASCIIString(name, argument_names[i]) == 0)
            return i;
    return i;
}

/* What is given, as a function in Python takes it. Each is held: the dictionary may be another's. */
static int read_arguments(struct state *s, PyObject *args, PyObject *words, PyObject *given[arguments_in_all])
{
    const Py_ssize_t places = PyTuple_Size(args);
    PyObject *name, *value;
    Py_ssize_t i, at = 0, named = 0;
    for (i = 0; i < places && i < by_place; i++)
        given[i] = Py_NewRef(PyTuple_GetItem(args, i));
    while (words && PyDict_Next(words, &at, &name, &value)) {
        int which = PyUnicode_Check(name) ? argument_of(s, name) : -1;
        if (which < 0) {
            PyErr_SetString(PyExc_TypeError, "TensorMap.__init__() keywords must be strings");
            return -1;
        }
        if (which == arguments_in_all || given[which]) {
            PyErr_Format(PyExc_TypeError,
                         which == arguments_in_all ? "TensorMap.__init__() got an unexpected keyword argument '%S'"
                                                   : "TensorMap.__init__() got multiple values for argument '%S'",
                         name);
            return -1;
        }
        given[which] = Py_NewRef(value);
        named += which >= by_place;
    }
    if (places > by_place && named) {
        PyErr_Format(PyExc_TypeError,
                     "TensorMap.__init__() takes from 2 to 3 positional arguments but %zd positional arguments (and "
                     "%zd keyword-only argument%s) were given", places + 1, named, named == 1 ? "" : "s");
        return -1;
    }
    if (places > by_place) {
        PyErr_Format(PyExc_TypeError, "TensorMap.__init__() takes from 2 to 3 positional arguments but %zd were given",
                     places + 1);
        return -1;
    }
    if (!given[a_tensor]) {
        PyErr_SetString(PyExc_TypeError, "TensorMap.__init__() missing 1 required positional argument: 'tensor'");
        return -1;
    }
    return 0;
}

/* What stands beside the tensor, but for the lists. */
static int read_words(struct state *s, PyObject *const *given, struct map_words *w)
{
    const int wide = given[a_wide] && given[a_wide] != Py_None;
    int nan = given[a_nan] ? PyObject_IsTrue(given[a_nan]) : 0;
    w->capability = 90;
    if (nan < 0)
        return -1;
    w->oob = (uint32_t)nan;
    w->func = TW_TENSORMAP_TILED;
    if (given[a_lower] && given[a_lower] != Py_None)
        w->func = TW_TENSORMAP_IM2COL;
    if (wide)
        w->func = TW_TENSORMAP_IM2COL_WIDE;
    return word(s, d_swizzle, swizzles, given[a_swizzle], "swizzle", &w->swizzle) ||
                   word(s, d_l2, promotions, given[a_l2], "l2", &w->l2) ||
                   word(s, d_wide, modes, wide ? given[a_wide] : NULL, "wide", &w->mode) ||
                   number_32(given[a_channels], UINT32_MAX, "channels", &w->channels) ||
                   number_32(given[a_pixels], UINT32_MAX, "pixels", &w->pixels) ||
                   number_32(given[a_capability], 999, "capability", &w->capability)
               ? -1
               : 0;
}

static int read_lists(PyObject *const *given, unsigned rank, struct map_words *w)
{
    const int all = rank < 5 ? (int)rank : 5, pixels = w->func == TW_TENSORMAP_IM2COL_WIDE ? 1 : 3;
    const int corners = (int)rank - 2 < pixels ? (int)rank - 2 : pixels;
    int32_t *const corner[] = {w->lower, w->upper};
    if (list(given[a_box], "box", rank, all, 0, w->box) || list(given[a_step], "step", rank, all, 0, w->step))
        return -1;
    for (int i = 0; i < 2; i++) {
        uint32_t bits[3] = {0};
        if (list(given[a_lower + i], argument_names[a_lower + i], rank, corners, INT32_MIN, bits))
            return -1;
        memcpy(corner[i], bits, sizeof bits);
    }
    return 0;
}

/* The map becomes this one, whose source it takes over. */
static void become(struct map *m, const struct tw_tensor *t, const uint64_t words[16], struct source source)
{
    struct source old;
    LOCKED(m);
    old = m->source;
    m->source = source;
    m->tensor = *t;
    memcpy(words_of(m), words, 128);
    UNLOCKED;
    drop(old);
}

static int init(PyObject *self, PyObject *args, PyObject *words)
{
    struct state *s = state_of(Py_TYPE(self));
    PyObject *given[arguments_in_all] = {NULL};
    struct source source = {NULL, NULL};
    struct map_words w = {0};
    struct tw_tensor tensor;
    uint64_t encoded[16];
    char text[TEXT];
    int i, status = -1;
    if (s && read_arguments(s, args, words, given) == 0 && read_words(s, given, &w) == 0 &&
        take(s, given[a_tensor], &tensor, &source) == 0 && read_lists(given, tensor.rank, &w) == 0)
        status = encode_map(&tensor, &w, encoded, text) ? said(text) : 0;
    if (status == 0)
        become((struct map *)self, &tensor, encoded, source);
    else
        drop(source);
    for (i = 0; i < arguments_in_all; i++)
        Py_XDECREF(given[i]);
    return status;
}

/* A copy of what the map is now, whose source the caller drops. -1: an exception is set. */
static int read_map(struct map *m, struct tw_tensor *t, uint64_t words[16], struct source *source)
{
    LOCKED(m);
    source->tensor = Py_XNewRef(m->source.tensor);
    source->capsule = Py_XNewRef(m->source.capsule);
    *t = m->tensor;
    memcpy(words, words_of(m), 128);
    UNLOCKED;
    return source->tensor ? 0 : said("the map is not made yet: __init__ has not returned");
}

static int same_form(const struct tw_tensor *a, const struct tw_tensor *b)
{
    return a->dtype == b->dtype && a->rank == b->rank && a->device_type == b->device_type && a->device == b->device &&
           memcmp(a->shape, b->shape, sizeof a->shape) == 0 && memcmp(a->stride, b->stride, sizeof a->stride) == 0;
}

/* The one argument, by place or by name. NULL: an exception is set. */
static PyObject *one_argument(struct state *s, PyObject *const *args, Py_ssize_t places, PyObject *names)
{
    static const char what[] = "TensorMap.replace_address()";
    const Py_ssize_t named = names ? PyTuple_Size(names) : 0;
    PyObject *tensor = places > 0 ? args[0] : NULL;
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        if (argument_of(s, name) != a_tensor)
            return PyErr_Format(PyExc_TypeError, "%s got an unexpected keyword argument '%S'", what, name);
        if (tensor)
            return PyErr_Format(PyExc_TypeError, "%s got multiple values for argument '%S'", what, name);
        tensor = args[places + i];
    }
    if (places > 1)
        return PyErr_Format(PyExc_TypeError, "%s takes 2 positional arguments but %zd were given", what, places + 1);
    if (!tensor)
        PyErr_Format(PyExc_TypeError, "%s missing 1 required positional argument: 'tensor'", what);
    return tensor;
}

static PyObject *replace(PyObject *self, PyObject *const *args, Py_ssize_t places, PyObject *names)
{
    struct state *s = state_of(Py_TYPE(self));
    PyObject *tensor = s ? one_argument(s, args, places, names) : NULL;
    struct tw_tensor now, other;
    struct source was, source;
    uint64_t encoded[16];
    char text[TEXT];
    int status;
    if (!tensor || take(s, tensor, &other, &source))
        return NULL;
    status = read_map((struct map *)self, &now, encoded, &was);
    if (!status && !same_form(&now, &other))
        status = said("the tensor has another shape, stride, type or device than the map's");
    else if (!status && replace_address(encoded, other.address, text))
        status = said(text);
    drop(was);
    if (status) {
        drop(source);
        return NULL;
    }
    become((struct map *)self, &other, encoded, source);
    return Py_NewRef(Py_None);
}

static PyObject *to_bytes(PyObject *self, PyObject *nothing)
{
    struct source source;
    struct tw_tensor t;
    uint64_t words[16];
    PyObject *bytes = NULL;
    (void)nothing;
    if (read_map((struct map *)self, &t, words, &source) == 0)
        bytes = PyBytes_FromStringAndSize((const char *)words, sizeof words);
    drop(source);
    return bytes;
}

/* (tensor, capsule or None), as by_ctypes.py has it, or the tensor. */
static PyObject *get_source(PyObject *self, void *nothing)
{
    struct source source;
    struct tw_tensor t;
    uint64_t words[16];
    PyObject *pair = NULL;
    (void)nothing;
    if (read_map((struct map *)self, &t, words, &source) == 0)
        pair = source.capsule ? PyTuple_Pack(2, source.tensor, source.capsule) : Py_NewRef(source.tensor);
    drop(source);
    return pair;
}

static PyObject *get_pointer(PyObject *self, void *nothing)
{
    (void)nothing;
    return PyLong_FromVoidPtr(words_of((struct map *)self));
}

static PyObject *get_device(PyObject *self, void *nothing)
{
    struct source source;
    struct tw_tensor t;
    uint64_t words[16];
    int status = read_map((struct map *)self, &t, words, &source);
    (void)nothing;
    drop(source);
    if (status)
        return NULL;
    return t.device >= 0 ? PyLong_FromLong(t.device) : Py_NewRef(Py_None);
}

static int traverse_map(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT((PyObject *)Py_TYPE(self));
    Py_VISIT(((struct map *)self)->source.tensor);
    Py_VISIT(((struct map *)self)->source.capsule);
    return 0;
}

static int clear_map(PyObject *self)
{
    Py_CLEAR(((struct map *)self)->source.tensor);
    Py_CLEAR(((struct map *)self)->source.capsule);
    return 0;
}

static void end_map(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc end = (freefunc)PyType_GetSlot(type, Py_tp_free);
    PyObject_GC_UnTrack(self);
    if (((struct map *)self)->weak)
        PyObject_ClearWeakRefs(self);
    clear_map(self);
    end(self);
    Py_DECREF(type);
}

static PyMethodDef map_methods[] = {
    {"replace_address", (PyCFunction)(void (*)(void))replace, METH_FASTCALL | METH_KEYWORDS,
     "replace_address($self, tensor)\n--\n\n"
     "The same map for another tensor of the same shape, strides, type and device."},
    {"__bytes__", to_bytes, METH_NOARGS, "The 128 bytes."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef map_attributes[] = {
    {"source", get_source, NULL, "What keeps the tensor alive.", NULL},
    {"pointer", get_pointer, NULL, "Where the 128 bytes lie: a multiple of 64.", NULL},
    {"device", get_device, NULL, "The tensor's, or None: not told.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef map_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct map, weak), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static const char map_doc[] =
    "TensorMap(tensor, box=None, *, step=None, swizzle='none', l2='none', nan=False, lower=None, upper=None, "
    "channels=0, pixels=0, capability=90, wide=None)\n--\n\n"
    "The 128 bytes of a CUtensorMap, at a multiple of 64: bytes(map), or map.pointer for a launcher that takes an\n"
    "address. It keeps its tensor alive (map.source), and knows its device (map.device; None: not told).\n\n"
    "box: elements that one copy moves, outermost dimension first, as in the tensor's shape. step: elements from one\n"
    "that is loaded to the next. Of a map for im2col (lower, upper: corners of the box of pixels, W first) channels\n"
    "and pixels stand in the place of the box; wide, \"W\" or \"W128\", makes it one of im2col-wide, whose corners are\n"
    "of W alone. A ValueError says which rule is broken, and what would do.";

static PyType_Slot map_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t)map_doc}, {Py_tp_init, (void *)init},
    {Py_tp_new, (void *)PyType_GenericNew},  {Py_tp_dealloc, (void *)end_map},
    {Py_tp_traverse, (void *)traverse_map},  {Py_tp_clear, (void *)clear_map},
    {Py_tp_methods, map_methods},            {Py_tp_getset, map_attributes},
    {Py_tp_members, map_members},            {0, NULL},
};

static PyType_Spec map_spec = {
    .name = "tilewright.maps.TensorMap",
    .basicsize = sizeof(struct map),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = map_slots,
};

/* ---- the module ------------------------------------------------------------------------------------------------- */

static PyObject *dict_of(const struct word *words)
{
    PyObject *dict = PyDict_New();
    for (; dict && words->name; words++) {
        PyObject *value = PyLong_FromLong(words->value);
        if (!value || PyDict_SetItemString(dict, words->name, value))
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

static int execute(PyObject *module)
{
    static const struct word *const tables[] = {swizzles, promotions, modes, codes};
    static const char *const strings[] = {"__dlpack__", "__cuda_array_interface__"};
    struct state *s = (struct state *)PyModule_GetState(module);
    PyObject *type;
    int i, wrong = 0;
    s->lock = PyThread_allocate_lock();
    if (!s->lock) {
        PyErr_NoMemory();
        return -1;
    }
    for (i = 0; i < arguments_in_all; i++)
        wrong |= !(s->argument[i] = PyUnicode_InternFromString(argument_names[i]));
    for (i = 0; i < dicts_in_all && !wrong; i++)
        for (int k = -1; k < MOST_WORDS && !wrong && (k < 0 || tables[i][k].name); k++)
            wrong |= k < 0 ? !(s->dict[i] = dict_of(tables[i]))
                           : !(s->common[i][k] = PyUnicode_InternFromString(tables[i][k].name));
    for (i = 0; i < strings_in_all && !wrong; i++)
        wrong |= !(s->string[i] = PyUnicode_InternFromString(strings[i]));
    if (wrong || !(s->nothing = PyTuple_New(0)) || !(s->version = Py_BuildValue("(ii)", 1, 1)))
        return -1;
    type = PyType_FromModuleAndSpec(module, &map_spec, NULL);
    i = type ? PyModule_AddObjectRef(module, "TensorMap", type) : -1;
    Py_XDECREF(type);
    return i;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    struct state *s = (struct state *)PyModule_GetState(module);
    int i;
    for (i = 0; s && i < TYPES; i++)
        Py_VISIT(s->seen[i].type);
    return 0;
}

static void release(void *module)
{
    struct state *s = (struct state *)PyModule_GetState((PyObject *)module);
    int i;
    if (!s)
        return;
    for (i = 0; i < TYPES; i++)
        Py_CLEAR(s->seen[i].type);
    for (i = 0; i < arguments_in_all; i++)
        Py_CLEAR(s->argument[i]);
    for (i = 0; i < dicts_in_all; i++) {
        Py_CLEAR(s->dict[i]);
        for (int k = 0; k < MOST_WORDS; k++)
            Py_CLEAR(s->common[i][k]);
    }
    for (i = 0; i < strings_in_all; i++)
        Py_CLEAR(s->string[i]);
    Py_CLEAR(s->nothing);
    Py_CLEAR(s->version);
    if (s->lock)
        PyThread_free_lock(s->lock);
    memset(s, 0, sizeof *s);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)execute},
#if defined(Py_GIL_DISABLED)
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_maps",
    .m_doc = "Tensor maps.",
    .m_size = sizeof(struct state),
    .m_slots = module_slots,
    .m_traverse = traverse,
    .m_free = release,
};

PyMODINIT_FUNC PyInit__maps(void)
{
    return PyModuleDef_Init(&definition);
}
