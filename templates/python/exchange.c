//@ -- The C exchange of a tensor's type. Nothing here knows the kernel: python/maps.c of the package is of it too.
/* ---- the C exchange --------------------------------------------------------------------------------------------- */

enum { TYPES = 16 }; /* that are remembered */

#if !defined(PREFERRED)
#define PREFERRED(exchange) (exchange) /* what takes the place of an exchange */
#endif

/* A type of tensors, and the C exchange that it offers; NULL: none. */
struct seen {
    PyObject *type;
    const struct dl_exchange *exchange;
};

/* Waits for the lock without that of the interpreter. */
static void acquire(PyThread_type_lock lock)
{
    if (PyThread_acquire_lock(lock, NOWAIT_LOCK))
        return;
    Py_BEGIN_ALLOW_THREADS
    PyThread_acquire_lock(lock, WAIT_LOCK);
    Py_END_ALLOW_THREADS
}

/* The attribute, or NULL where there is none. An exception that says something else stays set. */
static PyObject *attribute(PyObject *of, const char *name)
{
    PyObject *found = PyObject_GetAttrString(of, name);
    if (!found && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Clear();
    return found;
}

/* Of the chain of a type's exchanges that whose structs are the ones above. NULL: it has none; an exception may be
 * set. */
APART static const struct dl_exchange *find_exchange(PyTypeObject *type)
{
    PyObject *capsule = attribute((PyObject *)type, "__dlpack_c_exchange_api__");
    const struct dl_exchange *e = NULL;
    if (capsule && PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
        e = (const struct dl_exchange *)PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    while (e && e->version.major != 1)
        e = e->version.major > 1 ? e->previous : NULL;
    Py_XDECREF(capsule);
    return e;
}

/* The same, and remembered where there is room. seen: [TYPES], which the lock guards. */
APART static const struct dl_exchange *learn(struct seen *seen, PyThread_type_lock lock, PyTypeObject *type)
{
    const struct dl_exchange *e = find_exchange(type);
    int i = 0;
    if (PyErr_Occurred())
        return NULL;
    e = PREFERRED(e);
    acquire(lock);
    while (i < TYPES && seen[i].type && seen[i].type != (PyObject *)type)
        i++;
    if (i < TYPES && !seen[i].type) {
        seen[i].exchange = e;
        PUBLISH(seen[i].type, Py_NewRef((PyObject *)type));
    }
    PyThread_release_lock(lock);
    return e;
}

/* From what is remembered where it is. */
INLINE const struct dl_exchange *exchange_of(struct seen *seen, PyThread_type_lock lock, PyTypeObject *type)
{
    int i;
    for (i = 0; i < TYPES; i++) {
        PyObject *known = READ(seen[i].type);
        if (known == (PyObject *)type)
            return seen[i].exchange;
        if (!known)
            break;
    }
    return learn(seen, lock, type);
}
