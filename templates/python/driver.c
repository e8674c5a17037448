//@ -- The driver's entry points, the kernel as it is loaded on each device, and memory for a workspace.
//@ param host table
//@ local NAME = host.name
//@ local slots = #host.python.tensor + #host.python.scalar + 1 + (host.workspace > 0 and 1 or 0)
//@ for _, d in ipairs(host.python.size) do slots = slots + (d.given and 1 or 0) end
/* ---- driver and devices ----------------------------------------------------------------------------------------- */

enum {
    DEVICES = 64, /* ordinals below that */
    SLOTS = ${slots},   /* arguments */
    PER_THREAD = 2,   /* cuda.h: CU_STREAM_PER_THREAD */
    NO_CAPTURE = 900  /* cuda.h: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED */
};

/* What the module itself asks of the driver: signatures as in cuda.h, handles as void *. */
struct driver_calls {
    struct ${NAME}_driver own; /* what ${NAME}_load takes; its version is NULL where it finds the driver itself */
    int (*primary_retain)(void **context, int device);
    int (*context_push)(void *context);
    int (*context_pop)(void **context);
//@ if host.workspace > 0 then
    int (*memory_alloc)(uint64_t *address, size_t bytes);
    int (*memory_free)(uint64_t address);
    int (*fill_8_async)(uint64_t address, unsigned char value, size_t bytes, void *stream);
    int (*is_capturing)(void *stream, int *status);
//@ end
};

/* The kernel on one device. */
struct loaded {
    struct ${NAME} kernel;
    void *context; /* the device's primary one, retained once it was needed; else NULL */
};

//@ if host.workspace > 0 then
/* A workspace that is zero between launches; those of a stream, which follow each other, share it. */
struct room {
    struct room *next;
    void *stream;
    int device;
    uint64_t address, bytes;
};

//@ end
struct state {
    PyThread_type_lock lock;    /* of all that is written behind execute */
    PyObject *capsule;          /* that the entry points are from, or NULL */
    struct driver_calls *calls; /* NULL: not asked for yet */
    struct loaded *loaded[DEVICES];
    struct seen seen[TYPES];
//@ if host.workspace > 0 then
    struct room *room;
//@ end
    PyObject *name[SLOTS]; /* of arguments, interned */
};

/* The exception of a status that a function of the pair returned. */
APART static void raise_status(int status, const struct ${NAME}_error *error)
{
    PyObject *kind = PyExc_RuntimeError;
    if (status == ${NAME}_INVALID)
        kind = PyExc_ValueError;
    if (status == ${NAME}_NO_MEMORY)
        kind = PyExc_MemoryError;
    PyErr_Format(kind, "${NAME}: %s", error->text);
}

struct entry_point {
    const char *name;
    void (*call)(void);
};

/* An entry point of the table or, where there is none, of the library. POSIX: a function's address has the
 * representation of a void *. */
static int find(const struct entry_point *table, void *library, const char *name, void *function)
{
    void *symbol = table || !library ? NULL : dlsym(library, name);
    for (; table && table->name; table++)
        if (strcmp(table->name, name) == 0)
            memcpy(&symbol, &table->call, sizeof symbol);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static const char *find_all(struct driver_calls *c, const struct entry_point *table, void *library)
{
    const char *missing = NULL;
    if (!find(table, library, "cuDriverGetVersion", &c->own.version))
        missing = "cuDriverGetVersion";
    if (!find(table, library, "cuCtxGetDevice", &c->own.context_device))
        missing = "cuCtxGetDevice";
    if (!find(table, library, "cuDeviceGetAttribute", &c->own.device_attribute))
        missing = "cuDeviceGetAttribute";
    if (!find(table, library, "cuModuleLoadData", &c->own.module_load))
        missing = "cuModuleLoadData";
    if (!find(table, library, "cuModuleUnload", &c->own.module_unload))
        missing = "cuModuleUnload";
    if (!find(table, library, "cuModuleGetFunction", &c->own.module_function))
        missing = "cuModuleGetFunction";
    if (!find(table, library, "cuFuncSetAttribute", &c->own.function_set))
        missing = "cuFuncSetAttribute";
    if (!find(table, library, "cuLaunchKernelEx", &c->own.launch))
        missing = "cuLaunchKernelEx";
    find(table, library, "cuOccupancyMaxActiveClusters", &c->own.max_active_clusters);
    find(table, library, "cuTensorMapEncodeTiled", &c->own.encode_tiled);
//@ if host.part.windows then
    find(table, library, "cuTensorMapEncodeIm2col", &c->own.encode_im2col);
//@ end
//@ if host.part.debug then
    find(table, library, "cuModuleGetGlobal_v2", &c->own.module_global);
    find(table, library, "cuMemcpyHtoD_v2", &c->own.copy_to_device);
    find(table, library, "cuMemHostAlloc", &c->own.host_alloc);
    find(table, library, "cuMemFreeHost", &c->own.host_free);
//@ end
//@ if host.part.tuned then
    find(table, library, "cuDeviceGetName", &c->own.device_name);
//@ end
    find(table, library, "cuDevicePrimaryCtxRetain", &c->primary_retain);
    find(table, library, "cuCtxPushCurrent_v2", &c->context_push);
    find(table, library, "cuCtxPopCurrent_v2", &c->context_pop);
//@ if host.workspace > 0 then
    find(table, library, "cuMemAlloc_v2", &c->memory_alloc);
    find(table, library, "cuMemFree_v2", &c->memory_free);
    find(table, library, "cuMemsetD8Async", &c->fill_8_async);
    find(table, library, "cuStreamIsCapturing", &c->is_capturing);
//@ end
    return missing;
}

/* As templates/host/failures.c: containers, NixOS and WSL keep the driver where no cache lists it. */
static void *open_driver(void)
{
    static const char *const names[] = {
        "libcuda.so.1",
        "/usr/local/nvidia/lib64/libcuda.so.1",
        "/run/opengl-driver/lib/libcuda.so.1",
        "/usr/lib/wsl/lib/libcuda.so.1",
    };
    void *library = NULL;
    size_t i;
    for (i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static struct driver_calls *make_calls(const struct entry_point *table)
{
    struct driver_calls *c = (struct driver_calls *)calloc(1, sizeof *c);
    void *library = table ? NULL : open_driver(); /* stays open */
    const char *missing = c ? find_all(c, table, library) : NULL;
    if (c && !missing)
        return c;
    if (!c)
        PyErr_NoMemory();
    else if (!table && !library)
        PyErr_SetString(PyExc_RuntimeError, "${NAME}: no CUDA driver: the loader finds no libcuda.so.1");
    else
        PyErr_Format(PyExc_RuntimeError, "${NAME}: the driver has no %s", missing);
    free(c);
    return NULL;
}

/* The entry points, of the capsule where one is given. They are found once. NULL: an exception is set. */
APART static struct driver_calls *take_driver(struct state *s, PyObject *capsule)
{
    const struct entry_point *table = NULL;
    struct driver_calls *c;
    if (capsule && capsule != Py_None) {
        table = (const struct entry_point *)PyCapsule_GetPointer(capsule, "tilewright.driver");
        if (!table)
            return NULL;
    }
    acquire(s->lock);
    c = s->calls;
    if (c && table && capsule != s->capsule) {
        PyErr_SetString(PyExc_RuntimeError, "${NAME}: another driver is in use already; load before the first call");
        c = NULL;
    } else if (!c && (c = make_calls(table)) != NULL) {
        s->capsule = table ? Py_NewRef(capsule) : NULL;
        PUBLISH(s->calls, c);
    }
    PyThread_release_lock(s->lock);
    return c;
}

/* Makes a context of the device current where none is. Returns 1 where it did: leave takes it back; 0 where there is
 * nothing to take back; -1 with an exception set. l: the kernel on the device, once there is one. */
APART static int enter(struct state *s, const struct driver_calls *c, struct loaded *l, int device)
{
    void *context = l ? READ(l->context) : NULL;
    int result = 0, now = -1, status = c->own.context_device(&now);
    if (!status && now == device)
        return 0;
    if (!c->primary_retain || !c->context_push || !c->context_pop) {
        PyErr_Format(PyExc_RuntimeError, status ? "${NAME}: no current CUDA context (CUresult %d)"
                                                : "${NAME}: the current device is %d, and not the tensors' %d",
                     status ? status : now, device);
        return -1;
    }
    if (!context) {
        result = c->primary_retain(&context, device);
        if (!result && l) {
            acquire(s->lock);
            PUBLISH(l->context, context);
            PyThread_release_lock(s->lock);
        }
    }
    if (!result)
        result = c->context_push(context);
    if (result) {
        PyErr_Format(PyExc_RuntimeError, "${NAME}: no context of device %d (CUresult %d)", device, result);
        return -1;
    }
    return 1;
}

static void leave(const struct driver_calls *c, int entered)
{
    void *context;
    if (entered)
        c->context_pop(&context);
}

/* Loads the kernel on the device, which may compile it. NULL: an exception is set. */
APART static struct loaded *load_for(struct state *s, int device)
{
    struct driver_calls *c = READ(s->calls);
    struct ${NAME}_error error;
    struct loaded *l;
    int entered, status = 0;
    if (!c && !(c = take_driver(s, NULL)))
        return NULL;
    entered = enter(s, c, NULL, device);
    if (entered < 0)
        return NULL;
    acquire(s->lock);
    l = s->loaded[device];
    if (!l && !(l = (struct loaded *)calloc(1, sizeof *l))) {
        PyErr_NoMemory();
    } else if (!s->loaded[device]) {
        Py_BEGIN_ALLOW_THREADS
        status = ${NAME}_load(&l->kernel, &c->own, &error);
        Py_END_ALLOW_THREADS
        if (!status)
            PUBLISH(s->loaded[device], l);
    }
    PyThread_release_lock(s->lock);
    leave(c, entered);
    if (!status)
        return l;
    raise_status(status, &error);
    free(l);
    return NULL;
}

INLINE struct loaded *loaded_for(struct state *s, int device)
{
    struct loaded *l;
    if (device < 0 || device >= DEVICES) {
        PyErr_Format(PyExc_ValueError, "${NAME}: device %d; ordinals below %d are known here", device, DEVICES);
        return NULL;
    }
    l = READ(s->loaded[device]);
    return l ? l : load_for(s, device);
}
//@ if host.workspace > 0 then

/* As many bytes for launches on that stream, with a context of the device current. 0: an exception is set. Sizes are
 * powers of two: those that grow leave few rooms behind. */
static uint64_t room_for(struct state *s, int device, void *stream, uint64_t bytes)
{
    const struct driver_calls *c = READ(s->calls);
    struct room *r;
    uint64_t size = 256;
    int result = 0, capturing = 0;
    if ((uintptr_t)stream == PER_THREAD) {
        PyErr_Format(PyExc_ValueError, "${NAME}: argument 'workspace': it must be given, %llu bytes of zeros, on the "
                     "default stream of each thread: one handle is many streams", (unsigned long long)bytes);
        return 0;
    }
    for (r = READ(s->room); r; r = r->next)
        if (r->device == device && r->stream == stream && r->bytes >= bytes)
            return r->address;
    if (!c->memory_alloc || !c->memory_free || !c->fill_8_async) {
        PyErr_Format(PyExc_RuntimeError, "${NAME}: the driver has no memory; pass workspace=, %llu bytes of zeros",
                     (unsigned long long)bytes);
        return 0;
    }
    r = (struct room *)calloc(1, sizeof *r);
    if (!r) {
        PyErr_NoMemory();
        return 0;
    }
    r->device = device;
    r->stream = stream;
    while (size < bytes && size < (uint64_t)1 << 62)
        size *= 2;
    r->bytes = size < bytes ? bytes : size;
    /* What a graph captures is not done yet: zeros would be missing in launches outside of it. */
    if (c->is_capturing)
        result = c->is_capturing(stream, &capturing);
    if (!result && capturing)
        result = NO_CAPTURE;
    if (!result && (result = c->memory_alloc(&r->address, (size_t)r->bytes)) == 0 &&
        (result = c->fill_8_async(r->address, 0, (size_t)r->bytes, stream)) != 0)
        c->memory_free(r->address);
    if (result) {
        PyErr_Format(PyExc_RuntimeError,
                     "${NAME}: no %llu bytes of workspace on device %d (CUresult %d); where a graph is being captured, "
                     "call once before, or pass workspace=", (unsigned long long)bytes, device, result);
        free(r);
        return 0;
    }
    acquire(s->lock);
    r->next = s->room;
    PUBLISH(s->room, r);
    PyThread_release_lock(s->lock);
    return r->address;
}
//@ end
