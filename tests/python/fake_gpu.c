/* A framework and drivers for tests of NAME_python.c: tensors that are but descriptions, which the C exchange of DLPack
 * and its capsules hand out; a driver that counts launches and returns at once; and the emulator's. */
#include <pyconfig.h>

#if !defined(Py_GIL_DISABLED)
#define Py_LIMITED_API 0x030a0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "driver.h"
#include "embed/mock_driver.h"
#include "emu/emu.h"
#include "hooks.h"

struct entry_point {
    const char *name;
    void (*call)(void);
};

/* ---- a driver that is none -------------------------------------------------------------------------------------- */

static atomic_int launches, pushes, pops, allocations, result_of_launch, current_device;
static _Atomic(void *) last_stream;
static unsigned char last_params[64];  /* the first bytes */
static _Thread_local int entered = -1; /* device of the context that this thread has pushed */

struct config {
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    void *stream;
};

static int context_device(int *device)
{
    *device = entered >= 0 ? entered : atomic_load(&current_device);
    return *device < 0 ? 201 : 0;
}

static int device_attribute(int *value, int attribute, int device)
{
    return device < 0 || device > 3 ? 101 : mock_device_attribute(value, attribute, 0);
}

static int module_load(void **module, const void *image)
{
    *module = (void *)(uintptr_t)image;
    return 0;
}

static int module_unload(void *module)
{
    (void)module;
    return 0;
}

static int module_function(void **function, void *module, const char *name)
{
    (void)name;
    *function = module;
    return 0;
}

static int function_set(void *function, int attribute, int value)
{
    (void)function;
    (void)attribute;
    (void)value;
    return 0;
}

static int max_active_clusters(int *clusters, void *function, const void *config)
{
    (void)function;
    (void)config;
    *clusters = 66;
    return 0;
}

static int launch(const void *config, void *function, void **arguments, void **extra)
{
    (void)function;
    (void)extra;
    if (atomic_load(&result_of_launch) == -1)
        memcpy(last_params, arguments[0], sizeof last_params);
    atomic_fetch_add(&launches, 1);
    atomic_store(&last_stream, ((const struct config *)config)->stream);
    return atomic_load(&result_of_launch) < 0 ? 0 : atomic_load(&result_of_launch);
}

static int primary_retain(void **context, int device)
{
    *context = (void *)(uintptr_t)(1000 + device);
    return device < 4 ? 0 : 101;
}

static int context_push(void *context)
{
    atomic_fetch_add(&pushes, 1);
    entered = (int)(uintptr_t)context - 1000;
    return 0;
}

static int context_pop(void **context)
{
    atomic_fetch_add(&pops, 1);
    *context = (void *)(uintptr_t)(1000 + entered);
    entered = -1;
    return 0;
}

static int memory_alloc(uint64_t *address, size_t bytes)
{
    *address = 0x700000000000u + 0x10000000u * (uint64_t)atomic_fetch_add(&allocations, 1);
    return bytes ? 0 : 1;
}

static int memory_free(uint64_t address)
{
    (void)address;
    return 0;
}

static _Atomic(void *) fill_stream;
static atomic_ullong fill_bytes;
static atomic_int capturing;

static int fill_8_async(uint64_t address, unsigned char value, size_t bytes, void *stream)
{
    atomic_store(&fill_stream, stream);
    atomic_store(&fill_bytes, bytes);
    return address && value == 0 ? 0 : 1;
}

static int is_capturing(void *stream, int *status)
{
    (void)stream;
    *status = atomic_load(&capturing);
    return 0;
}

#define CALL(name, function)                                                                                           \
    {                                                                                                                  \
        name, (void (*)(void))function                                                                                 \
    }
static const struct entry_point counting[] = {
    CALL("cuDriverGetVersion", mock_version),
    CALL("cuCtxGetDevice", context_device),
    CALL("cuDeviceGetAttribute", device_attribute),
    CALL("cuModuleLoadData", module_load),
    CALL("cuModuleUnload", module_unload),
    CALL("cuModuleGetFunction", module_function),
    CALL("cuFuncSetAttribute", function_set),
    CALL("cuOccupancyMaxActiveClusters", max_active_clusters),
    CALL("cuLaunchKernelEx", launch),
    CALL("cuTensorMapEncodeTiled", mock_encode_tiled),
    CALL("cuTensorMapEncodeIm2col", mock_encode_im2col),
    CALL("cuDevicePrimaryCtxRetain", primary_retain),
    CALL("cuCtxPushCurrent_v2", context_push),
    CALL("cuCtxPopCurrent_v2", context_pop),
    CALL("cuMemAlloc_v2", memory_alloc),
    CALL("cuMemFree_v2", memory_free),
    CALL("cuMemsetD8Async", fill_8_async),
    CALL("cuStreamIsCapturing", is_capturing),
    {NULL, NULL},
};

static PyObject *driver(PyObject *module, PyObject *nothing)
{
    (void)module;
    (void)nothing;
    return PyCapsule_New((void *)(uintptr_t)counting, "tilewright.driver", NULL);
}

/* How many launches there were, pushed and popped contexts, allocations, and the last launch's stream. */
static PyObject *counts(PyObject *module, PyObject *nothing)
{
    (void)module;
    (void)nothing;
    return Py_BuildValue("iiiiK", atomic_load(&launches), atomic_load(&pushes), atomic_load(&pops),
                         atomic_load(&allocations), (unsigned long long)(uintptr_t)atomic_load(&last_stream));
}

/* The stream and the bytes of the last fill; from now on streams are being captured, or not. */
static PyObject *filled(PyObject *module, PyObject *capture)
{
    (void)module;
    atomic_store(&capturing, PyObject_IsTrue(capture));
    return Py_BuildValue("KK", (unsigned long long)(uintptr_t)atomic_load(&fill_stream),
                         (unsigned long long)atomic_load(&fill_bytes));
}

/* The first bytes of the last launch's parameters, of one that was kept. */
static PyObject *params(PyObject *module, PyObject *nothing)
{
    (void)module;
    (void)nothing;
    return PyBytes_FromStringAndSize((const char *)last_params, sizeof last_params);
}

/* The device that is current in every thread (below 0: none is), and what launches return; -1: 0, and parameters are
 * kept. */
static PyObject *behave(PyObject *module, PyObject *args)
{
    int device, result;
    (void)module;
    if (!PyArg_ParseTuple(args, "ii", &device, &result))
        return NULL;
    atomic_store(&current_device, device);
    atomic_store(&result_of_launch, result);
    Py_RETURN_NONE;
}

/* ---- the emulator ----------------------------------------------------------------------------------------------- */

static struct tw_runtime runtime;
static struct tw_device *emulated;
static struct entry_point emulated_calls[128];

static PyObject *fault(const struct tw_error *error)
{
    return PyErr_Format(PyExc_RuntimeError, "%s", error->text);
}

static PyObject *emulator(PyObject *module, PyObject *arch)
{
    struct emu_options options = {.arch = PyUnicode_AsUTF8AndSize(arch, NULL),
                                  .completion = EMU_LATE,
                                  .hazards = EMU_HAZARDS_FATAL,
                                  .sm_count = 4};
    struct tw_error error;
    size_t count = 0;
    (void)module;
    if (!options.arch || emulated)
        return options.arch ? PyErr_Format(PyExc_RuntimeError, "one emulator is enough") : NULL;
    if (tw_runtime_init(&runtime, &error) || tw_device_open_emu(&runtime, &options, &emulated, &error) ||
        tw_device_enter(emulated, &error))
        return fault(&error);
#define DRIVER_CALL(field, symbol, required, arguments)                                                                \
    if (emulated->driver->field)                                                                                       \
        emulated_calls[count++] = (struct entry_point){symbol, (void (*)(void))emulated->driver->field};
#include "driver_calls.def"
#undef DRIVER_CALL
    return PyCapsule_New(emulated_calls, "tilewright.driver", NULL);
}

/* upload(bytes): device memory that holds them; its address. */
static PyObject *upload(PyObject *module, PyObject *bytes)
{
    char *data;
    Py_ssize_t length;
    uint64_t address;
    struct tw_error error;
    (void)module;
    if (PyBytes_AsStringAndSize(bytes, &data, &length))
        return NULL;
    if (tw_device_alloc(emulated, (size_t)length, &address, &error) ||
        tw_device_upload(emulated, address, data, (size_t)length, &error))
        return fault(&error);
    return PyLong_FromUnsignedLongLong(address);
}

static PyObject *download(PyObject *module, PyObject *args)
{
    unsigned long long address;
    Py_ssize_t length;
    struct tw_error error;
    PyObject *bytes;
    (void)module;
    if (!PyArg_ParseTuple(args, "Kn", &address, &length) || !(bytes = PyBytes_FromStringAndSize(NULL, length)))
        return NULL;
    if (tw_device_download(emulated, PyBytes_AsString(bytes), address, (size_t)length, &error)) {
        Py_DECREF(bytes);
        return fault(&error);
    }
    return bytes;
}

/* ---- DLPack ----------------------------------------------------------------------------------------------------- */

struct dl_tensor {
    void *data;
    int32_t device_type, device, rank;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *stride;
    uint64_t offset;
};

struct dl_managed {
    struct dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *);
};

struct dl_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct dl_versioned *);
    uint64_t flags;
    struct dl_tensor tensor;
};

/* Description(data, shape, stride or None, code, bits, lanes, device_type, device, offset, flags): what it says it is.
 */
struct tensor {
    PyObject_HEAD struct dl_tensor is;
    int64_t shape[16], stride[16];
    unsigned long long flags;
};

static atomic_int living; /* managed tensors */
static void *current_stream;
static PyTypeObject *tensor_type, *made_type; /* Description; what object_of makes */

static int take_numbers(PyObject *from, int64_t *to, int32_t *count)
{
    Py_ssize_t length = PySequence_Size(from);
    if (length < 0 || length > 16)
        return -1;
    *count = (int32_t)length;
    for (Py_ssize_t i = 0; i < length; i++) {
        PyObject *number = PySequence_GetItem(from, i);
        to[i] = number ? PyLong_AsLongLong(number) : -1;
        Py_XDECREF(number);
        if (PyErr_Occurred())
            return -1;
    }
    return 0;
}

static int tensor_init(PyObject *self, PyObject *args, PyObject *words)
{
    static char *names[] = {"data",        "shape",  "stride", "code",  "bits", "lanes",
                            "device_type", "device", "offset", "flags", NULL};
    struct tensor *t = (struct tensor *)self;
    PyObject *shape, *stride = Py_None;
    unsigned long long data, offset = 0;
    int code = 4, bits = 16, lanes = 1, type = 2, device = 0;
    int32_t count;
    if (!PyArg_ParseTupleAndKeywords(args, words, "KO|OiiiiiKK", names, &data, &shape, &stride, &code, &bits, &lanes,
                                     &type, &device, &offset, &t->flags) ||
        take_numbers(shape, t->shape, &t->is.rank) || (stride != Py_None && take_numbers(stride, t->stride, &count)))
        return -1;
    t->is = (struct dl_tensor){.data = (void *)(uintptr_t)data,
                               .device_type = type,
                               .device = device,
                               .rank = t->is.rank,
                               .code = (uint8_t)code,
                               .bits = (uint8_t)bits,
                               .lanes = (uint16_t)lanes,
                               .shape = t->shape,
                               .stride = stride == Py_None ? NULL : t->stride,
                               .offset = offset};
    return 0;
}

static void delete_versioned(struct dl_versioned *m)
{
    atomic_fetch_sub(&living, 1);
    free(m->context);
    free(m);
}

static void delete_managed(struct dl_managed *m)
{
    atomic_fetch_sub(&living, 1);
    free(m->context);
    free(m);
}

/* A copy whose shape and strides are its own. */
static void *copy(const struct dl_tensor *from, struct dl_tensor *to)
{
    int64_t *numbers = malloc(32 * sizeof *numbers);
    *to = *from;
    for (int i = 0; i < from->rank; i++) {
        numbers[i] = from->shape[i];
        numbers[16 + i] = from->stride ? from->stride[i] : 0;
    }
    to->shape = numbers;
    to->stride = from->stride ? numbers + 16 : NULL;
    atomic_fetch_add(&living, 1);
    return numbers;
}

static struct dl_versioned *own(const struct dl_tensor *from, uint64_t flags)
{
    struct dl_versioned *m = calloc(1, sizeof *m);
    m->major = 1;
    m->minor = 1;
    m->deleter = delete_versioned;
    m->flags = flags;
    m->context = copy(from, &m->tensor);
    return m;
}

static int is_dead(const struct tensor *t)
{
    if (!(t->flags & 16))
        return 0;
    PyErr_SetString(PyExc_RuntimeError, "the tensor was freed");
    return 1;
}

static int view(void *object, struct dl_tensor *out)
{
    if (is_dead(object))
        return -1;
    *out = ((struct tensor *)object)->is;
    return 0;
}

static int managed_of(void *object, struct dl_versioned **out)
{
    const struct tensor *t = object;
    if (is_dead(t))
        return -1;
    *out = own(&t->is, t->flags & 3);
    return 0;
}

static int object_of(struct dl_versioned *given, void **out)
{
    struct tensor *t = (struct tensor *)PyType_GenericNew(made_type, NULL, NULL);
    if (t) {
        t->is = given->tensor;
        memcpy(t->shape, given->tensor.shape, sizeof *t->shape * (size_t)t->is.rank);
        t->is.shape = t->shape;
        t->is.stride = NULL;
    }
    given->deleter(given);
    *out = t;
    return t ? 0 : -1;
}

/* Fresh memory; no more than 2^40 bytes of it. */
static int allocate(struct dl_tensor *like, struct dl_versioned **out, void *context,
                    void (*fail)(void *context, const char *kind, const char *message))
{
    static atomic_ullong next = 0x7f0000000000u;
    double bytes = like->bits / 8.0;
    struct dl_tensor made = *like;
    for (int i = 0; i < like->rank; i++)
        bytes *= (double)like->shape[i];
    if (bytes > 0x1p40) {
        fail(context, "MemoryError", "more than there is");
        return -1;
    }
    made.data = (void *)(uintptr_t)atomic_fetch_add(&next, ((uint64_t)bytes + 1024) & ~(uint64_t)255);
    *out = own(&made, 0);
    return 0;
}

static int stream_of(int32_t type, int32_t device, void **stream)
{
    *stream = type == 2 && device >= 0 ? current_stream : NULL;
    return 0;
}

static const struct exchange {
    uint32_t major, minor;
    const struct exchange *previous;
    int (*allocate)(struct dl_tensor *, struct dl_versioned **, void *, void (*)(void *, const char *, const char *));
    int (*managed_of)(void *, struct dl_versioned **);
    int (*object_of)(struct dl_versioned *, void **);
    int (*view)(void *, struct dl_tensor *);
    int (*stream)(int32_t, int32_t, void **);
} exchange = {1, 3, NULL, allocate, managed_of, object_of, view, stream_of},
  owning = {1, 3, NULL, allocate, managed_of, object_of, NULL, stream_of},
  later = {2, 0, &exchange, NULL, NULL, NULL, NULL, NULL};

/* exchange(kind): a capsule of a type's `__dlpack_c_exchange_api__`: 0 all of it; 1 without views; 2 a later version
 * before this one. */
static PyObject *exchange_capsule(PyObject *module, PyObject *kind)
{
    static const struct exchange *const of[] = {&exchange, &owning, &later};
    long number = PyLong_AsLong(kind);
    (void)module;
    if (number < 0 || number > 2)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "0 to 2");
    return PyCapsule_New((void *)(uintptr_t)of[number], "dlpack_exchange_api", NULL);
}

static void end_capsule(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor_versioned"))
        delete_versioned(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    if (PyCapsule_IsValid(capsule, "dltensor"))
        delete_managed(PyCapsule_GetPointer(capsule, "dltensor"));
}

/* capsule(tensor, kind): 0 an old one, 1 a versioned one, 2 of a major version that is none yet. */
static PyObject *capsule(PyObject *module, PyObject *args)
{
    struct tensor *t;
    int kind;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!i", tensor_type, &t, &kind) || is_dead(t))
        return NULL;
    if (kind == 0) {
        struct dl_managed *m = calloc(1, sizeof *m);
        m->deleter = delete_managed;
        m->context = copy(&t->is, &m->tensor);
        return PyCapsule_New(m, "dltensor", end_capsule);
    }
    struct dl_versioned *m = own(&t->is, t->flags & 3);
    m->major = (uint32_t)kind;
    return PyCapsule_New(m, "dltensor_versioned", end_capsule);
}

static PyObject *set_stream(PyObject *module, PyObject *number)
{
    (void)module;
    current_stream = (void *)(uintptr_t)PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

/* make(type): what tensors that are allocated are. */
static PyObject *make(PyObject *module, PyObject *type)
{
    (void)module;
    made_type = (PyTypeObject *)Py_NewRef(type);
    Py_RETURN_NONE;
}

/* How many managed tensors nobody has given back yet. */
static PyObject *alive(PyObject *module, PyObject *nothing)
{
    (void)module;
    (void)nothing;
    return PyLong_FromLong(atomic_load(&living));
}

/* (data, shape) */
static PyObject *read_tensor(PyObject *module, PyObject *object)
{
    struct tensor *t = (struct tensor *)object;
    PyObject *shape;
    (void)module;
    if (!PyObject_TypeCheck(object, tensor_type))
        return PyErr_Format(PyExc_TypeError, "no Tensor");
    shape = PyTuple_New(t->is.rank);
    for (int i = 0; shape && i < t->is.rank; i++)
        PyTuple_SetItem(shape, i, PyLong_FromLongLong(t->shape[i]));
    return Py_BuildValue("KN", (unsigned long long)(uintptr_t)t->is.data, shape);
}

/* ---- the module ------------------------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"driver", driver, METH_NOARGS, NULL},
    {"counts", counts, METH_NOARGS, NULL},
    {"behave", behave, METH_VARARGS, NULL},
    {"emulator", emulator, METH_O, NULL},
    {"upload", upload, METH_O, NULL},
    {"download", download, METH_VARARGS, NULL},
    {"capsule", capsule, METH_VARARGS, NULL},
    {"exchange", exchange_capsule, METH_O, NULL},
    {"set_stream", set_stream, METH_O, NULL},
    {"alive", alive, METH_NOARGS, NULL},
    {"read", read_tensor, METH_O, NULL},
    {"make", make, METH_O, NULL},
    {"params", params, METH_NOARGS, NULL},
    {"filled", filled, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

PyMODINIT_FUNC PyInit_fake_gpu(void)
{
    static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "fake_gpu", .m_size = -1,
                                            .m_methods = methods};
    static PyType_Slot slots[] = {{Py_tp_init, (void *)tensor_init}, {Py_tp_new, (void *)PyType_GenericNew}, {0, NULL}};
    static PyType_Spec spec = {"fake_gpu.Description", (int)sizeof(struct tensor), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    PyObject *module = PyModule_Create(&definition);
    mock_reset();
    tensor_type = made_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!module || !tensor_type || PyModule_AddObject(module, "Description", (PyObject *)tensor_type))
        return NULL;
#if defined(Py_GIL_DISABLED)
    PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED); /* else loading it brings the lock back for all */
#endif
    return module;
}
