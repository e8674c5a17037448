//@ -- A tensor of a framework, taken for the time of one call. Nothing here knows the kernel.
/* ---- tensors ---------------------------------------------------------------------------------------------------- */

enum { RANK = 8, ANY_DEVICE = -1, opaque = 255 };

/* What a call knows of a tensor. */
struct view {
    struct dl_tensor tensor; /* of the object's, or of what follows */
    PyObject *hold;             /* keeps the memory of shape and strides; or NULL */
    struct dl_versioned *taken; /* the same, to be given back; or NULL */
    int read_only; /* or a copy of what was asked for */
    int late;      /* its framework has no C exchange: it is taken once the stream is known */
    int64_t shape[RANK], stride[RANK]; /* where the object has none of that form */
};

/* What concerns all tensors of a call. */
struct together {
    struct state *state;
    const struct dl_exchange *exchange; /* of the first tensor that has one */
    const char *exchange_name;          /* of that tensor */
    PyObject *first;                    /* tensor */
    int device;                         /* ANY_DEVICE: not known yet */
    int late;                           /* tensors without an exchange are taken now */
    int stream_given;                   /* by the caller: no tensor is asked */
    const char *stream_name;            /* of the tensor that the stream is from, or NULL */
    void *stream;
};

static void give_back(struct view *v)
{
    Py_CLEAR(v->hold);
    if (v->taken && v->taken->deleter)
        v->taken->deleter(v->taken);
    v->taken = NULL;
}

/* An exception of the framework's becomes the cause of one that names the argument. -1. */
APART static int blame(const char *name, int position)
{
    PyObject *type, *cause, *trace, *now, *value, *other;
    if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError))
        return -1;
    PyErr_Fetch(&type, &cause, &trace);
    PyErr_NormalizeException(&type, &cause, &trace);
    PyErr_Format(PyExc_ValueError, "argument '%s' (position %d): its tensor cannot be taken: %S", name, position,
                 cause ? cause : Py_None);
    PyErr_Fetch(&now, &value, &other);
    PyErr_NormalizeException(&now, &value, &other);
    if (value && cause)
        PyException_SetCause(value, cause); /* takes it over */
    else
        Py_XDECREF(cause);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    PyErr_Restore(now, value, other);
    return -1;
}

/* A number, 64 bits of an address or a handle. -1: an exception is set. */
static int address_of(PyObject *number, void **address)
{
    unsigned long long value;
    PyObject *whole = number ? PyNumber_Index(number) : NULL;
    if (!whole)
        return -1;
    value = PyLong_AsUnsignedLongLong(whole);
    Py_DECREF(whole);
    if (value == (unsigned long long)-1 && PyErr_Occurred())
        return -1;
    *address = (void *)(uintptr_t)value;
    return 0;
}

/* The framework's own name: of torch.nn.Parameter "torch". NULL: none, or an exception. */
static PyObject *framework_of(PyObject *tensor)
{
    PyObject *name = attribute((PyObject *)Py_TYPE(tensor), "__module__"), *first = NULL;
    PyObject *parts = name && PyUnicode_Check(name) ? PyObject_CallMethod(name, "partition", "s", ".") : NULL;
    if (parts)
        first = Py_XNewRef(PyTuple_GetItem(parts, 0));
    Py_XDECREF(name);
    Py_XDECREF(parts);
    return first;
}

/* The stream on which the tensor's framework works now, where it has no exchange: torch's and CuPy's. 1: any other's
 * is not known. */
static int ask_stream(PyObject *tensor, int device, void **stream)
{
    PyObject *name = framework_of(tensor), *module = NULL, *current = NULL, *number = NULL;
    int status = PyErr_Occurred() ? -1 : 1;
    if (name && PyUnicode_CompareWithASCIIString(name, "torch") == 0) {
        module = PyImport_ImportModule("torch.cuda");
        if (module)
            current = device < 0 ? PyObject_CallMethod(module, "current_stream", NULL)
                                 : PyObject_CallMethod(module, "current_stream", "i", device);
        number = current ? PyObject_GetAttrString(current, "cuda_stream") : NULL;
        status = number ? address_of(number, stream) : -1;
    } else if (name && PyUnicode_CompareWithASCIIString(name, "cupy") == 0) {
        module = PyImport_ImportModule("cupy.cuda");
        current = module ? PyObject_CallMethod(module, "get_current_stream", NULL) : NULL;
        number = current ? PyObject_GetAttrString(current, "ptr") : NULL;
        status = number ? address_of(number, stream) : -1;
    }
    Py_XDECREF(number);
    Py_XDECREF(current);
    Py_XDECREF(module);
    Py_XDECREF(name);
    return status;
}

/* What a caller gives as stream=: a number, or what has __cuda_stream__, cuda_stream or ptr. */
APART static int given_stream(PyObject *given, void **stream)
{
    PyObject *found = NULL, *pair = NULL;
    int status;
    if (PyLong_Check(given))
        return address_of(given, stream);
    if ((found = attribute(given, "__cuda_stream__")) != NULL) {
        pair = PyCallable_Check(found) ? PyObject_CallFunctionObjArgs(found, NULL) : Py_NewRef(found);
        Py_CLEAR(found);
        found = pair ? PySequence_GetItem(pair, 1) : NULL;
    } else if (!PyErr_Occurred() && (found = attribute(given, "cuda_stream")) == NULL && !PyErr_Occurred()) {
        found = attribute(given, "ptr");
    }
    if (!found && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "argument 'stream': it takes a number, or what has __cuda_stream__, "
                                         "cuda_stream or ptr");
    status = found ? address_of(found, stream) : -1;
    Py_XDECREF(found);
    Py_XDECREF(pair);
    return status;
}

/* What the argument says of the stream. -1: another argument says something else. */
APART static int agree(struct together *all, void *stream, const char *name)
{
    /* 1 is another name of the default one. */
    const unsigned long long one = (uintptr_t)stream == 1 ? 0 : (unsigned long long)(uintptr_t)stream;
    const unsigned long long other = (uintptr_t)all->stream == 1 ? 0 : (unsigned long long)(uintptr_t)all->stream;
    if (!all->stream_name) {
        all->stream_name = name;
        all->stream = stream;
    } else if (one != other) {
        char text[64];
        snprintf(text, sizeof text, "0x%llx and 0x%llx", other, one);
        PyErr_Format(PyExc_ValueError, "arguments '%s' and '%s': on streams %s; make one wait for the other, and say "
                     "by stream= on which to launch", all->stream_name, name, text);
        return -1;
    }
    return 0;
}

/* The stream of the first exchange, with a device known. */
static int agree_exchange(struct together *all)
{
    void *stream = NULL;
    if (all->stream_given || all->stream_name || !all->exchange)
        return 0;
    if (all->exchange->stream(dl_cuda, all->device, &stream))
        return -1;
    return agree(all, stream, all->exchange_name);
}

/* A tensor of a second exchange. */
APART static int agree_other(struct together *all, const struct dl_exchange *e, const struct dl_tensor *t,
                             const char *name)
{
    void *stream = NULL;
    if (all->stream_given || (t->device_type != dl_cuda && t->device_type != dl_cuda_managed))
        return 0;
    if (agree_exchange(all) || e->stream(dl_cuda, t->device, &stream))
        return -1;
    return agree(all, stream, name);
}

/* ---- __dlpack__ ------------------------------------------------------------------------------------------------- */

/* Fills the view from a capsule, which stays whole: what it holds is freed with it. */
static int read_capsule(PyObject *capsule, struct view *v)
{
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        const struct dl_versioned *m = (const struct dl_versioned *)PyCapsule_GetPointer(capsule, "dltensor_versioned");
        if (m->version.major != 1) {
            PyErr_Format(PyExc_BufferError, "DLPack %u.%u, of which only 1.x is known here", (unsigned)m->version.major,
                         (unsigned)m->version.minor);
            return -1;
        }
        v->tensor = m->tensor;
        v->read_only = (m->flags & 3) != 0;
        return 0;
    }
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        v->tensor = ((const struct dl_managed *)PyCapsule_GetPointer(capsule, "dltensor"))->tensor;
        return 0;
    }
    PyErr_SetString(PyExc_BufferError, "__dlpack__ returns no capsule of DLPack's");
    return -1;
}

/* Where the tensor lies. */
static int ask_device(PyObject *tensor, int32_t *type, int32_t *device)
{
    PyObject *pair = PyObject_CallMethod(tensor, "__dlpack_device__", NULL), *number;
    long value[2] = {0, 0};
    int i, status = pair ? 0 : -1;
    for (i = 0; i < 2 && !status; i++) {
        number = PySequence_GetItem(pair, i);
        value[i] = number ? PyLong_AsLong(number) : -1;
        status = number && !PyErr_Occurred() ? 0 : -1;
        Py_XDECREF(number);
    }
    Py_XDECREF(pair);
    *type = (int32_t)value[0];
    *device = (int32_t)value[1];
    return status;
}

static PyObject *ask_capsule(PyObject *method, void *stream)
{
    /* Where the array API has numbers for streams: 1 is the default one. */
    PyObject *none = PyTuple_New(0), *capsule = NULL, *words;
    unsigned long long number = stream ? (unsigned long long)(uintptr_t)stream : 1;
    words = Py_BuildValue("{s:K,s:(ii)}", "stream", number, "max_version", 1, 1);
    if (none && words)
        capsule = PyObject_Call(method, none, words);
    if (!capsule && none && words && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear(); /* older ones know no versions */
        if (PyDict_DelItemString(words, "max_version") == 0)
            capsule = PyObject_Call(method, none, words);
    }
    Py_XDECREF(none);
    Py_XDECREF(words);
    return capsule;
}

/* By __dlpack__, on what stream the call is, which the framework makes wait where it has to. */
static int take_dlpack(struct together *all, PyObject *tensor, PyObject *method, struct view *v)
{
    int32_t type, device;
    if (ask_device(tensor, &type, &device))
        return -1;
    if (type != dl_cuda && type != dl_cuda_managed) { /* nothing is asked of it: fits will refuse it */
        v->tensor.device_type = type;
        v->tensor.device = device;
        return 0;
    }
    v->hold = ask_capsule(method, all->stream);
    return v->hold ? read_capsule(v->hold, v) : -1;
}

/* ---- __cuda_array_interface__ ----------------------------------------------------------------------------------- */

/* A tuple of numbers; -1: an exception is set. */
static int numbers(PyObject *tuple, int64_t *out, int *count)
{
    Py_ssize_t length = PySequence_Size(tuple), i;
    if (length < 0)
        return -1;
    *count = length > RANK ? RANK + 1 : (int)length;
    for (i = 0; i < length && i < RANK; i++) {
        PyObject *number = PySequence_GetItem(tuple, i);
        out[i] = number ? PyLong_AsLongLong(number) : -1;
        Py_XDECREF(number);
        if (PyErr_Occurred())
            return -1;
    }
    return 0;
}

/* "<f2": byte order, kind, bytes. What NumPy has no name for, as bf16, is V. */
static int read_type(PyObject *text, struct dl_tensor *t)
{
    static const char kinds[] = "iuf??cb"; /* by DLDataTypeCode */
    PyObject *bytes = text && PyUnicode_Check(text) ? PyUnicode_AsASCIIString(text) : NULL;
    const char *c = bytes ? PyBytes_AsString(bytes) : NULL, *kind = NULL;
    long size = c && c[0] && c[1] ? strtol(c + 2, NULL, 10) : 0;
    if (size > 0 && size <= 16 && c[0] != '>' && c[1] != '?')
        kind = c[1] == 'V' ? "" : strchr(kinds, c[1]);
    if (kind) {
        t->code = (uint8_t)(*kind ? kind - kinds : opaque);
        t->bits = (uint8_t)(8 * size);
        t->lanes = 1;
    } else if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_BufferError, "typestr %R is none that is known here", text ? text : Py_None);
    }
    Py_XDECREF(bytes);
    return kind ? 0 : -1;
}

static int read_strides(PyObject *strides, struct view *v)
{
    struct dl_tensor *t = &v->tensor;
    int64_t size = t->bits / 8;
    int count = 0, d;
    if (!strides || strides == Py_None)
        return 0;
    if (numbers(strides, v->stride, &count))
        return -1;
    for (d = 0; d < count && d < RANK; d++) {
        if (v->stride[d] % size != 0) {
            PyErr_Format(PyExc_BufferError, "a stride of %lld bytes is no multiple of its elements' %lld",
                         (long long)v->stride[d], (long long)size);
            return -1;
        }
        v->stride[d] /= size;
    }
    if (count != t->rank) {
        PyErr_SetString(PyExc_BufferError, "it has not as many strides as dimensions");
        return -1;
    }
    t->stride = v->stride;
    return 0;
}

/* All of it, in one dictionary. */
static int read_interface(PyObject *table, struct view *v)
{
    struct dl_tensor *t = &v->tensor;
    PyObject *shape = PyMapping_GetItemString(table, "shape"), *type = PyMapping_GetItemString(table, "typestr");
    PyObject *data = PyMapping_GetItemString(table, "data"), *address = NULL, *flag = NULL, *more = NULL;
    int count = 0, status = shape && type && data ? numbers(shape, v->shape, &count) : -1;
    t->shape = v->shape;
    t->rank = count;
    t->device_type = dl_cuda;
    t->device = ANY_DEVICE;
    if (!status)
        status = read_type(type, t);
    if (!status) {
        address = PySequence_GetItem(data, 0);
        flag = address ? PySequence_GetItem(data, 1) : NULL;
        v->read_only = flag ? PyObject_IsTrue(flag) : -1;
        status = v->read_only < 0 ? -1 : address_of(address, &t->data);
    }
    if (!status && (more = PyMapping_GetItemString(table, "strides")) == NULL)
        PyErr_Clear();
    if (!status)
        status = read_strides(more, v);
    Py_CLEAR(more);
    if (!status && (more = PyMapping_GetItemString(table, "mask")) == NULL)
        PyErr_Clear();
    if (more && more != Py_None) {
        PyErr_SetString(PyExc_BufferError, "it has a mask, which no kernel reads");
        status = -1;
    }
    Py_CLEAR(more);
    Py_XDECREF(shape);
    Py_XDECREF(type);
    Py_XDECREF(data);
    Py_XDECREF(address);
    Py_XDECREF(flag);
    return status;
}

/* ---- any -------------------------------------------------------------------------------------------------------- */

/* A tensor whose framework has no C exchange. 1: it is no tensor. */
APART static int take_slowly(struct together *all, PyObject *tensor, struct view *v)
{
    PyObject *way;
    int status = 1;
    if (PyErr_Occurred())
        return -1;
    if ((way = attribute(tensor, "__dlpack__")) != NULL)
        status = take_dlpack(all, tensor, way, v);
    else if (!PyErr_Occurred() && (way = attribute(tensor, "__cuda_array_interface__")) != NULL)
        status = read_interface(way, v);
    Py_XDECREF(way);
    return PyErr_Occurred() ? -1 : status;
}

/* What a tensor without an exchange says of the stream, if it does. What is wrong with it is said where it is taken. */
APART static int ask_late(struct together *all, PyObject *tensor, const char *name, int position)
{
    PyObject *way = PyErr_Occurred() ? NULL : attribute(tensor, "__dlpack__"), *more = NULL;
    void *stream = NULL;
    int32_t type = dl_cuda, device = all->device;
    int status = 1;
    if (way)
        status = ask_device(tensor, &type, &device) ? -1 : 1;
    else if (!PyErr_Occurred() && (way = attribute(tensor, "__cuda_array_interface__")) != NULL) {
        if ((more = PyMapping_GetItemString(way, "stream")) == NULL)
            PyErr_Clear();
        if (more && more != Py_None)
            status = address_of(more, &stream);
    }
    if (way && status > 0 && (type == dl_cuda || type == dl_cuda_managed))
        status = ask_stream(tensor, device, &stream);
    Py_XDECREF(way);
    Py_XDECREF(more);
    if (status < 0 || PyErr_Occurred())
        return blame(name, position);
    return status ? 0 : agree(all, stream, name);
}

/* By the exchange's function for those that own what they give. */
APART static int take_owned(const struct dl_exchange *e, PyObject *tensor, struct view *v)
{
    if (e->managed_of(tensor, &v->taken))
        return -1;
    v->tensor = v->taken->tensor;
    v->read_only = (v->taken->flags & 3) != 0;
    return 0;
}

/* Fills the view of an argument, or says that it is late; give_back is due whatever is returned. -1: an exception is
 * set, which names it. */
INLINE int take(struct together *all, PyObject *tensor, struct view *v, const char *name, int position)
{
    const struct dl_exchange *e = exchange_of(all->state->seen, all->state->lock, Py_TYPE(tensor));
    int status;
    v->hold = NULL;
    v->taken = NULL;
    v->read_only = 0;
    v->late = 0;
    if (e) {
        status = e->view ? e->view(tensor, &v->tensor) : take_owned(e, tensor, v);
        if (!all->exchange) {
            all->exchange = e;
            all->exchange_name = name;
        } else if (all->exchange != e && !status && agree_other(all, e, &v->tensor, name)) {
            return -1;
        }
    } else if (!all->late && !PyErr_Occurred()) {
        v->late = 1;
        status = 0;
    } else {
        memset(&v->tensor, 0, sizeof v->tensor);
        status = take_slowly(all, tensor, v);
    }
    if (!all->first)
        all->first = tensor;
    if (status == 0)
        return 0;
    if (status < 0)
        return blame(name, position);
    PyErr_Format(PyExc_TypeError,
                 "argument '%s' (position %d): %S, must be a tensor on a CUDA device, with __dlpack__ or "
                 "__cuda_array_interface__", name, position, (PyObject *)Py_TYPE(tensor));
    return -1;
}
