/* A tensor of any framework: what it is, and what keeps that alive. The part of maps.c that meets frameworks; it needs
 * the module's state, and DLPack's structs. */
#ifndef TW_PYTHON_MAPS_TENSOR_H
#define TW_PYTHON_MAPS_TENSOR_H

/* What keeps a map's memory alive. */
struct source {
    PyObject *tensor;  /* NULL: the map is not made yet */
    PyObject *capsule; /* of DLPack's; None: its framework has the C exchange; NULL: __cuda_array_interface__ */
};

/* As fits in 64 bits, with or without a sign: most is 2^64 - 1 or below 2^63. -1: an exception is set. */
static int number(PyObject *value, long long least, unsigned long long most, const char *name, uint64_t *out)
{
    PyObject *whole = PyLong_CheckExact(value) ? Py_NewRef(value) : PyNumber_Index(value);
    long long small;
    int over, right;
    if (!whole)
        return -1;
    small = PyLong_AsLongLongAndOverflow(whole, &over);
    *out = (uint64_t)small;
    right = over == 0 && small >= least && (small < 0 || (unsigned long long)small <= most);
    if (over > 0 && most > INT64_MAX) {
        *out = PyLong_AsUnsignedLongLong(whole);
        right = !PyErr_Occurred();
        PyErr_Clear();
    }
    if (!right) {
        char range[64];
        snprintf(range, sizeof range, "%lld to %llu", least, most);
        PyErr_Format(PyExc_ValueError, "%s: %R is no number of %s", name, whole, range);
    }
    Py_DECREF(whole);
    return right ? 0 : -1;
}

static int said(const char *text)
{
    PyErr_SetString(PyExc_ValueError, text);
    return -1;
}

/* What a capsule of this module's holds is given back with it, unless somebody took it over. */
static void end_capsule(PyObject *capsule)
{
    struct dl_versioned *m;
    if (!PyCapsule_IsValid(capsule, "dltensor_versioned"))
        return;
    m = (struct dl_versioned *)PyCapsule_GetPointer(capsule, "dltensor_versioned");
    if (m->deleter)
        m->deleter(m);
}

/* A function of an exchange has failed. */
static PyObject *not_given(void)
{
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, "the tensor's framework gives none, and does not say why");
    return NULL;
}

/* By the C exchange. The object itself keeps its memory, where that may be looked at; else a capsule does. */
static PyObject *exchanged(const struct dl_exchange *e, PyObject *tensor, struct tw_tensor *t)
{
    struct dl_versioned *taken = NULL;
    struct dl_managed seen = {.context = NULL};
    PyObject *capsule;
    char text[TEXT];
    if (e->view) {
        if (e->view(tensor, &seen.tensor))
            return not_given();
        return tensor_of(&seen, 0, t, text) ? (said(text), NULL) : Py_NewRef(Py_None);
    }
    if (e->managed_of(tensor, &taken))
        return not_given();
    if (!taken) {
        said("the capsule holds no tensor: it was consumed, or is none");
        return NULL;
    }
    capsule = PyCapsule_New(taken, "dltensor_versioned", end_capsule);
    if (!capsule && taken->deleter)
        taken->deleter(taken);
    return capsule;
}

/* By __dlpack__. A map asks for no stream: it is made of an address, and reads nothing. */
static PyObject *asked(struct state *s, PyObject *method)
{
    PyObject *words = PyDict_New(), *capsule = NULL;
    if (words && PyDict_SetItemString(words, "max_version", s->version) == 0)
        capsule = PyObject_Call(method, s->nothing, words);
    if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear(); /* older ones know no versions */
        capsule = PyObject_Call(method, s->nothing, NULL);
    }
    Py_XDECREF(words);
    return capsule;
}

static int read_capsule(PyObject *capsule, struct tw_tensor *t)
{
    const int versioned = PyCapsule_IsValid(capsule, "dltensor_versioned");
    const void *managed = PyCapsule_GetPointer(capsule, versioned ? "dltensor_versioned" : "dltensor");
    char text[TEXT];
    if (!managed)
        return -1;
    return tensor_of(managed, versioned, t, text) ? said(text) : 0;
}

/* An entry of a dictionary-like table, or NULL with an exception. */
static PyObject *entry(PyObject *table, const char *name)
{
    return PyMapping_GetItemString(table, name);
}

/* table.get(name) */
static PyObject *entry_if(PyObject *table, const char *name)
{
    return PyObject_CallMethod(table, "get", "s", name);
}

/* of[index] */
static PyObject *item(PyObject *of, Py_ssize_t index)
{
    PyObject *key = PyLong_FromSsize_t(index), *found = key ? PyObject_GetItem(of, key) : NULL;
    Py_XDECREF(key);
    return found;
}

/* text[from:] */
static PyObject *rest(PyObject *text, Py_ssize_t from)
{
    PyObject *first = PyLong_FromSsize_t(from), *slice = first ? PySlice_New(first, NULL, NULL) : NULL;
    PyObject *found = slice ? PyObject_GetItem(text, slice) : NULL;
    Py_XDECREF(first);
    Py_XDECREF(slice);
    return found;
}

static int read_type(struct state *s, PyObject *table, struct tw_tensor *t)
{
    PyObject *type = entry(table, "typestr"), *code = type ? rest(type, 1) : NULL;
    PyObject *found = code ? PyDict_GetItemWithError(s->dict[d_code], code) : NULL;
    if (found)
        t->dtype = (enum tw_dtype)PyLong_AsLong(found);
    else if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "no tensor map holds elements of typestr %R", type);
    Py_XDECREF(type);
    Py_XDECREF(code);
    return found ? 0 : -1;
}

/* Shape and strides; strides: a sequence, or what is false: dense rows. */
static int read_extents(PyObject *shape, PyObject *strides, struct tw_tensor *t)
{
    const int64_t size = (int64_t)tw_dtype_bytes(t->dtype);
    int given = PyObject_IsTrue(strides);
    uint64_t step = 1;
    for (unsigned d = t->rank; given >= 0 && d-- > 0;) {
        uint64_t extent, stride = step;
        if (number(PyTuple_GetItem(shape, (Py_ssize_t)d), INT64_MIN, INT64_MAX, "shape", &extent))
            return -1;
        if (given) {
            PyObject *value = item(strides, (Py_ssize_t)d);
            int status = value ? number(value, INT64_MIN, INT64_MAX, "strides", &stride) : -1;
            Py_XDECREF(value);
            if (status)
                return -1;
            if ((int64_t)stride % size) {
                PyErr_Format(PyExc_ValueError, "a stride of %lld bytes is no multiple of its elements' %lld",
                             (long long)stride, (long long)size);
                return -1;
            }
            stride = (uint64_t)((int64_t)stride / size);
        }
        t->shape[d] = (int64_t)extent;
        t->stride[d] = (int64_t)stride;
        step *= (int64_t)extent > 1 ? extent : 1;
    }
    return given < 0 ? -1 : 0;
}

/* By __cuda_array_interface__, whose table is read in the order of by_ctypes.py. */
static int read_interface(struct state *s, PyObject *table, struct tw_tensor *t)
{
    PyObject *of = entry(table, "shape"), *shape = of ? PySequence_Tuple(of) : NULL, *mask = NULL, *strides = NULL;
    PyObject *data = NULL, *address = NULL, *flag = NULL;
    int status = -1, only;
    memset(t, 0, sizeof *t);
    if (!shape)
        goto done;
    if (PyTuple_Size(shape) > TW_TENSOR_RANK) {
        PyErr_Format(PyExc_ValueError, "a tensor of %zd dimensions; a map has 5 at most", PyTuple_Size(shape));
        goto done;
    }
    t->rank = (unsigned)PyTuple_Size(shape);
    if ((mask = entry_if(table, "mask")) == NULL)
        goto done;
    if (mask != Py_None) {
        said("the tensor has a mask, which no tensor map knows");
        goto done;
    }
    if (read_type(s, table, t) || (strides = entry_if(table, "strides")) == NULL ||
        (data = entry(table, "data")) == NULL || (address = item(data, 0)) == NULL ||
        number(address, 0, UINT64_MAX, "data", &t->address) || (flag = item(data, 1)) == NULL ||
        (only = PyObject_IsTrue(flag)) < 0)
        goto done;
    t->device_type = TW_DEVICE_CUDA;
    t->device = -1;
    t->read_only = only;
    status = read_extents(shape, strides, t);
done:
    Py_XDECREF(of);
    Py_XDECREF(shape);
    Py_XDECREF(mask);
    Py_XDECREF(strides);
    Py_XDECREF(data);
    Py_XDECREF(address);
    Py_XDECREF(flag);
    return status;
}

/* The attribute, or NULL where there is none, or with an exception. */
static PyObject *lookup(PyObject *of, PyObject *name)
{
    PyObject *found = PyObject_GetAttr(of, name);
    if (!found && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Clear();
    return found;
}

static void drop(struct source source)
{
    Py_XDECREF(source.tensor);
    Py_XDECREF(source.capsule);
}

/* What a tensor is, and what keeps that alive. -1: an exception is set, and the source is nothing. */
static int take(struct state *s, PyObject *tensor, struct tw_tensor *t, struct source *source)
{
    const struct dl_exchange *e = exchange_of(s->seen, s->lock, Py_TYPE(tensor));
    PyObject *way, *capsule = NULL;
    int status = -1;
    memset(source, 0, sizeof *source);
    if (!e && PyErr_Occurred())
        return -1;
    if (e) {
        capsule = exchanged(e, tensor, t);
        status = !capsule ? -1 : capsule == Py_None ? 0 : read_capsule(capsule, t);
    } else if ((way = lookup(tensor, s->string[s_dlpack])) != NULL) {
        capsule = asked(s, way);
        status = capsule ? read_capsule(capsule, t) : -1;
        Py_DECREF(way);
    } else if (!PyErr_Occurred() && (way = lookup(tensor, s->string[s_interface])) != NULL) {
        status = read_interface(s, way, t);
        Py_DECREF(way);
    } else if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_TypeError, "%R is no tensor: it has neither __dlpack__ nor __cuda_array_interface__",
                     (PyObject *)Py_TYPE(tensor));
    }
    if (status == 0) {
        source->tensor = Py_NewRef(tensor);
        source->capsule = capsule;
    } else {
        Py_XDECREF(capsule);
    }
    return status;
}

#endif
