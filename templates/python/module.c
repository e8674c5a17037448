//@ -- A C pair as a module of Python. `host` is what gen/emit/host/host.c decided, host.python what host_python.c did;
//@ -- the pieces follow in the order of use: driver, tensors, the call.
//@ local NAME, python = host.name, host.python
//@ local signature = {}
//@ for _, t in ipairs(python.tensor) do
//@     signature[#signature + 1] = t.name .. ((t.may_be_null or t.made) and "=None" or "")
//@ end
//@ signature[#signature + 1] = "*"
//@ for _, s in ipairs(python.scalar) do signature[#signature + 1] = s.name end
//@ for _, d in ipairs(python.size) do
//@     if d.given then signature[#signature + 1] = d.name end
//@ end
//@ if host.workspace > 0 then signature[#signature + 1] = "workspace=None" end
//@ signature[#signature + 1] = "stream=None"
/* ${NAME}_python.c: ${NAME} as a module of Python, made by tilewright ${host.generator}. Do not edit: change the spec and generate
 * again.
 *
 *     cc -O2 -fPIC -shared $(python3-config --includes) ${NAME}_python.c ${NAME}.c -o ${NAME}.abi3.so -ldl -lm
 *
 * It needs Python.h and ${NAME}.h alone, and keeps to the stable ABI of Python 3.10: one file for every later Python. A
 * free-threaded Python has no stable ABI: compiled with its headers the same text uses its own, as ${NAME}.so.
 *
 *     from ${NAME} import ${NAME}
 *
 * ${NAME}.pyi says what the function takes. Tensors are those of any framework that offers the C exchange of DLPack
 * (`__dlpack_c_exchange_api__`), `__dlpack__` or `__cuda_array_interface__`. A call takes the addresses, checks, and
 * launches on the framework's current stream; nothing is copied, and nothing is waited for. Where an argument is at
 * fault it raises TypeError or ValueError, which name it, and nothing is launched. With ${NAME}_torch.cpp, of
 * `gen --torch`, torch's tensors take less of the host's time. */

#include <pyconfig.h>

#if !defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
#define Py_LIMITED_API 0x030a0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlfcn.h>
//@ local narrow = false
//@ for _, s in ipairs(python.scalar) do narrow = narrow or s.kind == "narrow" end
//@ if narrow then
#include <math.h>
//@ end
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "${NAME}.h"

//@ include "python/words.h"

//@ include "python/dlpack.h"

//@ include "python/in_place.h" host = host

//@ include "python/exchange.c"

//@ include "python/driver.c" host = host

//@ include "python/tensor.c"

//@ include "python/arguments.c" host = host

//@ include "python/call.c" host = host, signature = signature

/* ---- the module ------------------------------------------------------------------------------------------------- */

static PyObject *load(PyObject *module, PyObject *driver)
{
    struct state *s = (struct state *)PyModule_GetState(module);
    struct driver_calls *calls = take_driver(s, driver);
    int device = 0, result;
    if (!calls)
        return NULL;
    result = calls->own.context_device(&device);
    if (result) {
        PyErr_Format(PyExc_RuntimeError, "${NAME}: no current CUDA context (CUresult %d)", result);
        return NULL;
    }
    return loaded_for(s, device) ? Py_NewRef(Py_None) : NULL;
}

static PyObject *info(PyObject *module, PyObject *nothing)
{
    struct state *s = (struct state *)PyModule_GetState(module);
    struct ${NAME}_info of;
    PyObject *list = PyList_New(0);
    int i;
    (void)nothing;
    for (i = 0; i < DEVICES && list; i++) {
        struct loaded *l = READ(s->loaded[i]);
        PyObject *one;
        if (!l)
            continue;
        ${NAME}_info(&l->kernel, &of);
        one = Py_BuildValue("{s:i,s:s,s:i,s:i,s:i,s:i,s:s}", "device", i, "arch", of.arch, "capability", of.capability,
                            "driver_version", of.driver_version, "variants", of.variant_count, "static_images",
                            of.static_images, "images", of.images);
        if (!one || PyList_Append(list, one))
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    if (!list)
        return NULL;
    return Py_BuildValue("{s:s,s:i,s:N}", "name", "${NAME}", "generator", ${host.generator}, "loaded", list);
}

static PyMethodDef methods[] = {
    {"${NAME}", (PyCFunction)(void (*)(void))call, METH_FASTCALL | METH_KEYWORDS,
     "${NAME}(${csv(signature)})\n--\n\nLaunches the kernel on the current stream; returns what it writes."},
    {"load", load, METH_O,
     "load(driver)\n--\n\nLoads the kernel on the current device now, and not in the first call. driver: None, or a "
     "capsule \"tilewright.driver\", an array of { const char *name; void (*call)(void); } ended by a NULL, whose "
     "entry points stand for the CUDA driver's."},
    {"info", info, METH_NOARGS, "info()\n--\n\nWhat is loaded on which device."},
    {NULL, NULL, 0, NULL},
};

#if defined(TILEWRIGHT_TORCH)
/* Asks ${NAME}_torch.cpp for its exchange. Whatever is wrong with torch, without it there is torch's own. -1: an
 * exception is set. */
static int prefer_in_place(void)
{
    PyObject *torch = PyImport_ImportModule("torch"), *type = torch ? attribute(torch, "Tensor") : NULL;
    PyObject *version = type ? attribute(torch, "__version__") : NULL;
    PyObject *text = version && PyUnicode_Check(version) ? PyUnicode_AsASCIIString(version) : NULL;
    const struct dl_exchange *of = text && PyType_Check(type) ? find_exchange((PyTypeObject *)type) : NULL;
    const char *words = of ? PyBytes_AsString(text) : NULL;
    const struct dl_exchange *ours = words ? ${NAME}_torch(words, of) : NULL;
    if (ours)
        in_place = ours;
    PUBLISH(torchs, ours ? of : NULL);
    Py_XDECREF(text);
    Py_XDECREF(version);
    Py_XDECREF(type);
    Py_XDECREF(torch);
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
        return -1;
    PyErr_Clear();
    return ours ? 1 : 0;
}
#else
static int prefer_in_place(void)
{
    return 0;
}
#endif

static int execute(PyObject *module)
{
    struct state *s = (struct state *)PyModule_GetState(module);
    int i, quick = prefer_in_place();
    if (quick < 0 || PyModule_AddObjectRef(module, "torch_in_place", quick ? Py_True : Py_False))
        return -1;
    s->lock = PyThread_allocate_lock();
    if (!s->lock) {
        PyErr_NoMemory();
        return -1;
    }
    for (i = 0; i < slots_in_all; i++)
        if (!(s->name[i] = PyUnicode_InternFromString(slots[i].name)))
            return -1;
    return 0;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    struct state *s = (struct state *)PyModule_GetState(module);
    int i;
    for (i = 0; s && i < TYPES; i++)
        Py_VISIT(s->seen[i].type);
    return 0;
}

/* Kernels stay loaded: at the end of a process the driver may be gone before this is called. */
static void release(void *module)
{
    struct state *s = (struct state *)PyModule_GetState((PyObject *)module);
    int i;
    if (!s)
        return;
    for (i = 0; i < TYPES; i++)
        Py_CLEAR(s->seen[i].type);
    for (i = 0; i < slots_in_all; i++)
        Py_CLEAR(s->name[i]);
    for (i = 0; i < DEVICES; i++)
        free(s->loaded[i]);
    Py_CLEAR(s->capsule);
    free(s->calls);
    if (s->lock)
        PyThread_free_lock(s->lock);
//@ if host.workspace > 0 then
    while (s->room) {
        struct room *next = s->room->next;
        free(s->room);
        s->room = next;
    }
//@ end
    memset(s, 0, sizeof *s);
}

PyMODINIT_FUNC PyInit_${NAME}(void)
{
    static PyModuleDef_Slot module_slots[] = {
        {Py_mod_exec, NULL},
#if defined(Py_GIL_DISABLED)
        {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
        {0, NULL},
    };
    static struct PyModuleDef definition = {
        PyModuleDef_HEAD_INIT, "${NAME}", "A kernel of Tilewright's.", sizeof(struct state), methods, module_slots,
        traverse, NULL, release,
    };
    int (*run)(PyObject *) = execute;
    memcpy(&module_slots[0].value, &run, sizeof run); /* POSIX: a function's address as a void * */
    return PyModuleDef_Init(&definition);
}
