//@ -- A call from Python: arguments, sizes, outputs, launch.
//@ param host table
//@ param signature table
//@ local NAME, python = host.name, host.python
/* ---- scalars ---------------------------------------------------------------------------------------------------- */

//@ local kinds = {}
//@ for _, s in ipairs(python.scalar) do kinds[s.kind] = true end
//@ for _, d in ipairs(python.size) do kinds.int = kinds.int or d.given end
//@ if kinds.int then
/* A whole number of the range. */
static int take_int(PyObject *o, const char *name, int64_t low, int64_t high, int64_t *out)
{
    PyObject *whole = PyNumber_Index(o);
    int over = 0;
    *out = whole ? PyLong_AsLongLongAndOverflow(whole, &over) : -1;
    Py_XDECREF(whole);
    if (PyErr_Occurred() || over || *out < low || *out > high) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "argument '%s': %R, must be a whole number, %lld to %lld", name, o,
                     (long long)low, (long long)high);
        return -1;
    }
    return 0;
}

//@ end
//@ if kinds.uint then
static int take_uint(PyObject *o, const char *name, uint64_t high, uint64_t *out)
{
    PyObject *whole = PyNumber_Index(o);
    *out = whole ? PyLong_AsUnsignedLongLong(whole) : 0;
    Py_XDECREF(whole);
    if (PyErr_Occurred() || *out > high) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "argument '%s': %R, must be a whole number, 0 to %llu", name, o,
                     (unsigned long long)high);
        return -1;
    }
    return 0;
}

//@ end
//@ if kinds.float or kinds.narrow then
static int take_float(PyObject *o, const char *name, double *out)
{
    *out = PyFloat_AsDouble(o);
    if (*out == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "argument '%s': %R, must be a number", name, o);
        return -1;
    }
    return 0;
}

//@ end
//@ if kinds.narrow then
/* The nearest float of 16 bits, of equals the even one, with so many bits of fraction and 2^least as its least
 * normal. */
static uint16_t narrow(double value, int fraction, int least)
{
    uint32_t sign = signbit(value) ? 0x8000u : 0, infinity = 0x8000u - (1u << fraction), code;
    double units;
    int exponent = least;
    if (isnan(value))
        return (uint16_t)(0x8000u - (1u << (fraction - 1)));
    if (isinf(value))
        return (uint16_t)(sign | infinity);
    value = fabs(value);
    if (value > 0 && ilogb(value) > least)
        exponent = ilogb(value);
    if (exponent > 1 - least)
        return (uint16_t)(sign | infinity);
    units = nearbyint(ldexp(value, fraction - exponent)); /* 2^fraction to 2^(fraction + 1), or less below `least` */
    code = ((uint32_t)(exponent - least) << fraction) + (uint32_t)units;
    return (uint16_t)(sign | (code < infinity ? code : infinity));
}

//@ end
/* The values given by keyword. -1: an exception is set. */
INLINE int take_values(PyObject *const *given, struct ${NAME}_args *args)
{
//@ for _, s in ipairs(python.scalar) do
//@     if s.kind == "int" then
    {
        int64_t value;
        if (take_int(given[scalar_${s.name}], "${s.name}", ${s.low}, ${s.high}, &value))
            return -1;
        args->${s.name} = (${s.c_type})value;
    }
//@     elseif s.kind == "uint" then
    {
        uint64_t value;
        if (take_uint(given[scalar_${s.name}], "${s.name}", ${s.high}u, &value))
            return -1;
        args->${s.name} = (${s.c_type})value;
    }
//@     elseif s.kind == "bool" then
    {
        int value = PyObject_IsTrue(given[scalar_${s.name}]);
        if (value < 0)
            return -1;
        args->${s.name} = (${s.c_type})value;
    }
//@     else
    {
        double value;
        if (take_float(given[scalar_${s.name}], "${s.name}", &value))
            return -1;
//@         if s.kind == "narrow" then
        args->${s.name} = narrow(value, ${s.fraction}, ${s.least});
//@         else
        args->${s.name} = (${s.c_type})value;
//@         end
    }
//@     end
//@ end
//@ for _, d in ipairs(python.size) do
//@     if d.given then
    if (take_int(given[size_${d.name}], "${d.name}", 0, INT64_MAX, &args->${d.name}))
        return -1;
//@     end
//@ end
    (void)given;
    (void)args;
    return 0;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

//@ local multiple = false
//@ for _, d in ipairs(python.size) do multiple = multiple or not d.given and d.factor > 1 end
//@ if multiple then
APART static int refuse_multiple(int i, int d, int64_t extent, int64_t factor)
{
    PyErr_Format(PyExc_ValueError, "argument '%s' (position %d): dimension %d has %lld elements, no multiple of %lld, "
                 "(%s)", slots[i].name, i + 1, d, (long long)extent, (long long)factor, expected[i].shape);
    return -1;
}

//@ end
/* The sizes that extents of tensors say. */
INLINE int take_sizes(const struct view *v, struct ${NAME}_args *args)
{
//@ for _, d in ipairs(python.size) do
//@     if not d.given and d.factor > 1 then
    if (v[tensor_${d.of}].tensor.shape[${d.dim}] % ${d.factor} != 0)
        return refuse_multiple(tensor_${d.of}, ${d.dim}, v[tensor_${d.of}].tensor.shape[${d.dim}], ${d.factor});
    args->${d.name} = v[tensor_${d.of}].tensor.shape[${d.dim}] / ${d.factor};
//@     elseif not d.given then
    args->${d.name} = v[tensor_${d.of}].tensor.shape[${d.dim}];
//@     end
//@ end
    (void)v;
    (void)args;
    return 0;
}

/* The shape that the sizes, which ${NAME}_workspace has checked, make of a tensor. */
static void shape_of(int i, const struct ${NAME}_args *args, int64_t shape[RANK])
{
    (void)args;
    switch (i) {
//@ for _, t in ipairs(python.tensor) do
    case tensor_${t.name}:
//@     for _, d in ipairs(t.dim) do
        shape[${d.index}] = ${d.c};
//@     end
        break;
//@ end
    }
}

/* Says which shape is another one, and which it must be. -1. */
APART static int refuse_shape(const struct view *v, PyObject *const *given, const struct ${NAME}_args *args)
{
    char is[256], must[256], sizes[512] = "";
    int64_t shape[RANK];
    size_t at = 0;
    int i, d;
//@ for i, d in ipairs(python.size) do
//@     local of = d.given and "" or " by '" .. d.of .. "'"
//@     local before = i > 1 and ", " or ""
    if (at < sizeof sizes)
        at += (size_t)snprintf(sizes + at, sizeof sizes - at, "${before}${d.name} = %lld${of}", (long long)args->${d.name});
//@ end
    (void)at;
    for (i = 0; i < tensors_in_all; i++) {
        int same = 1;
        if (!given[i])
            continue;
        shape_of(i, args, shape);
        for (d = 0; d < expected[i].rank; d++)
            same = same && shape[d] == v[i].tensor.shape[d];
        if (same)
            continue;
        shape_text(v[i].tensor.shape, expected[i].rank, is);
        shape_text(shape, expected[i].rank, must);
        PyErr_Format(PyExc_ValueError, "argument '%s' (position %d): shape %s, must be %s, (%s): %s", slots[i].name,
                     i + 1, is, must, expected[i].shape, sizes);
        return -1;
    }
    return -1;
}

/* Whether every tensor that is given has the shape that the sizes say. */
INLINE int same_shapes(const struct view *v, PyObject *const *given, const struct ${NAME}_args *args)
{
    int64_t wrong = 0;
//@ for _, t in ipairs(python.tensor) do
    if (given[tensor_${t.name}]) {
//@     for _, d in ipairs(t.dim) do
        wrong |= v[tensor_${t.name}].tensor.shape[${d.index}] ^ (${d.c});
//@     end
    }
//@ end
    (void)args;
    return wrong == 0;
}

/* Of the first element. No pointer arithmetic: it may be anything. */
INLINE void *address(const struct dl_tensor *t)
{
    return (void *)((uintptr_t)t->data + (uintptr_t)t->offset);
}

/* Addresses; and strides of 0 in the place of those that are the default ones, where all are: the pair takes a shorter
 * way then. */
INLINE void take_places(const struct view *v, PyObject *const *given, struct ${NAME}_args *args)
{
    int64_t other = 0;
//@ local any = false
//@ for _, t in ipairs(python.tensor) do
    args->${t.name} = given[tensor_${t.name}] ? address(&v[tensor_${t.name}].tensor) : NULL;
//@     for _, s in ipairs(t.stride) do
//@         any = true
    other |= args->${t.name}_stride[${s.index}] ? args->${t.name}_stride[${s.index}] ^ (${s.c}) : 0;
//@     end
//@ end
//@ if any then
    if (other == 0) {
//@     for _, t in ipairs(python.tensor) do
//@         for _, s in ipairs(t.stride) do
        args->${t.name}_stride[${s.index}] = 0;
//@         end
//@     end
    }
//@ else
    (void)other;
//@ end
}

/* ---- outputs that are not given ---------------------------------------------------------------------------------- */

//@ local makes = false
//@ for _, t in ipairs(python.tensor) do makes = makes or t.made end
//@ if makes then
static void fail_allocation(void *context, const char *kind, const char *message)
{
    PyGILState_STATE held = PyGILState_Ensure(); /* it may be called without */
    (void)context;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_RuntimeError, "%s: %s", kind, message);
    PyGILState_Release(held);
}

/* By the framework of the other tensors: through its exchange, else by its function `empty`. */
APART static PyObject *make_output(const struct together *all, int i, const struct ${NAME}_args *args)
{
    const struct expected *e = &expected[i];
    int64_t shape[RANK] = {0};
    char type[64];
    PyObject *made = NULL, *name = NULL, *module = NULL, *extents = NULL, *dtype = NULL, *words = NULL, *empty = NULL;
    PyObject *one = NULL, *where = NULL;
    int d, status;
    shape_of(i, args, shape);
    if (all->exchange) {
        struct dl_tensor like = {NULL, dl_cuda, all->device, e->rank, e->code, e->bits, 1, shape, NULL, 0};
        struct dl_versioned *managed = NULL;
        void *object = NULL;
        if (all->exchange->allocate(&like, &managed, NULL, fail_allocation) == 0 &&
            all->exchange->object_of(managed, &object) == 0)
            made = (PyObject *)object;
        if (!made && !PyErr_Occurred())
            PyErr_Format(PyExc_RuntimeError, "the framework makes no tensor for argument '%s'", slots[i].name);
        return made;
    }
    name = all->first ? framework_of(all->first) : NULL;
    module = name ? PyImport_Import(name) : NULL;
    empty = module ? attribute(module, "empty") : NULL;
    status = empty ? 0 : -1;
    type_name(e->code, e->bits, 1, type);
    if (!status && (dtype = attribute(module, type)) == NULL && !PyErr_Occurred())
        dtype = PyUnicode_FromString(type);
    extents = PyTuple_New(e->rank);
    for (d = 0; extents && d < e->rank && !status; d++) {
        PyObject *extent = PyLong_FromLongLong((long long)shape[d]);
        status = extent ? PyTuple_SetItem(extents, d, extent) : -1;
    }
    one = extents ? PyTuple_Pack(1, extents) : NULL;
    words = dtype && one ? Py_BuildValue("{s:O}", "dtype", dtype) : NULL;
    if (words && !status && PyUnicode_CompareWithASCIIString(name, "torch") == 0) {
        where = PyObject_GetAttrString(all->first, "device");
        status = where ? PyDict_SetItemString(words, "device", where) : -1;
    }
    if (words && !status)
        made = PyObject_Call(empty, one, words);
    if (!made && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "argument '%s' (position %d): it must be given: %S is of no framework that makes "
                     "tensors here", slots[i].name, i + 1, (PyObject *)Py_TYPE(all->first));
    Py_XDECREF(where);
    Py_XDECREF(one);
    Py_XDECREF(words);
    Py_XDECREF(extents);
    Py_XDECREF(dtype);
    Py_XDECREF(empty);
    Py_XDECREF(module);
    Py_XDECREF(name);
    return made;
}

//@ end
/* ---- the call ---------------------------------------------------------------------------------------------------- */

APART static int refuse_call(const char *what, const char *name, int position)
{
    if (position)
        PyErr_Format(PyExc_TypeError, "${NAME}() %s '%s' (position %d); it takes (${csv(signature)})", what, name, position);
    else
        PyErr_Format(PyExc_TypeError, "${NAME}() %s '%s'; it takes (${csv(signature)})", what, name);
    return -1;
}

/* The slot of an argument that is given by keyword. */
static int slot_of(const struct state *s, PyObject *name)
{
    int i;
    for (i = slots_in_all - 1; i >= 0; i--) /* those that have no position first */
        if (s->name[i] == name)
            return i;
    for (i = 0; i < slots_in_all; i++)
        if (PyUnicode_Compare(s->name[i], name) == 0)
            return i;
    return -1;
}

/* Sorts the arguments into their slots; None is none. */
INLINE int sort(const struct state *s, PyObject *const *args, Py_ssize_t count, PyObject *names, PyObject **given)
{
    Py_ssize_t i, words = names ? PyTuple_Size(names) : 0;
    int n;
    if (count > tensors_in_all) {
        PyErr_Format(PyExc_TypeError, "${NAME}() takes at most %d arguments by position, %zd are given",
                     (int)tensors_in_all, count);
        return -1;
    }
    for (n = 0; n < slots_in_all; n++)
        given[n] = n < count && args[n] != Py_None ? args[n] : NULL;
    for (i = 0; i < words; i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        int slot = slot_of(s, name);
        if (slot < 0) {
            PyErr_Format(PyExc_TypeError, "${NAME}() takes no argument %R; it takes (${csv(signature)})", name);
            return -1;
        }
        if (slot < count)
            return refuse_call("has two values of argument", slots[slot].name, slot + 1);
        given[slot] = args[count + i] == Py_None ? NULL : args[count + i];
    }
    for (n = 0; n < slots_in_all; n++)
        if (slots[n].required && !given[n])
            return refuse_call("lacks argument", slots[n].name, n < tensors_in_all ? n + 1 : 0);
    return 0;
}

/* One tensor of the call; nothing where it is not given. A launch pushes this text out of the nearest cache. */
ONCE int take_one(struct together *all, PyObject *given, int i, int rank, struct view *v, int64_t *stride)
{
    if (!given)
        return 0;
    if (take(all, given, v, slots[i].name, i + 1))
        return -1;
    return v->late || fits(all, v, &expected[i], rank, stride) ? 0 : refuse(all, v, i);
}

/* On which stream: the caller's, else that on which the frameworks work now. */
INLINE int take_stream(struct together *all)
{
    if (all->stream_given || all->stream_name || !all->exchange)
        return 0;
    return all->exchange->stream(dl_cuda, all->device, &all->stream);
}

/* The tensors without an exchange, once all that say a stream have said it: __dlpack__ is told which it is. */
APART static int take_late(struct together *all, PyObject *const *given, struct view *view, struct ${NAME}_args *args)
{
    int i, status = agree_exchange(all);
    for (i = 0; i < tensors_in_all && !status && !all->stream_given; i++)
        if (view[i].late)
            status = ask_late(all, given[i], slots[i].name, i + 1);
//@ if host.workspace > 0 then
    if (!status && !all->stream_given && given[slot_workspace] &&
        !exchange_of(all->state->seen, all->state->lock, Py_TYPE(given[slot_workspace])))
        status = ask_late(all, given[slot_workspace], "workspace", slot_workspace + 1);
//@ end
    all->late = 1;
//@ for _, t in ipairs(python.tensor) do
//@     local stride = t.rank > 1 and "args->" .. t.name .. "_stride" or "NULL"
    if (!status && view[tensor_${t.name}].late)
        status = take_one(all, given[tensor_${t.name}], tensor_${t.name}, ${t.rank}, &view[tensor_${t.name}], ${stride});
//@ end
    (void)args;
    return status;
}

//@ if host.workspace > 0 then
/* The workspace: the caller's, a tensor of any type, or one of the stream's. */
APART static int take_workspace(struct together *all, PyObject *given, uint64_t bytes, struct ${NAME}_args *args)
{
    const struct dl_tensor *t;
    struct view v;
    uint64_t has = 1;
    int d, status = 0;
    args->workspace = NULL;
    if (!given) {
        args->workspace = (void *)(uintptr_t)room_for(all->state, all->device, all->stream, bytes ? bytes : 16);
        return args->workspace ? 0 : -1;
    }
    if (take(all, given, &v, "workspace", slot_workspace + 1))
        status = -1;
    t = &v.tensor;
    for (d = 0; !status && d < t->rank; d++)
        has = t->shape[d] <= 0 ? 0 : has * (uint64_t)t->shape[d];
    has = status ? 0 : has * t->bits / 8 * t->lanes;
    if (!status && ((t->device_type != dl_cuda && t->device_type != dl_cuda_managed) ||
                    (t->device != ANY_DEVICE && t->device != all->device) || has < bytes)) {
        PyErr_Format(PyExc_ValueError, "argument 'workspace': %llu bytes on DLPack's device (%d, %d), must be %llu "
                     "bytes on (%d, %d)", (unsigned long long)has, (int)t->device_type, (int)t->device,
                     (unsigned long long)bytes, (int)dl_cuda, all->device);
        status = -1;
    }
    if (!status)
        args->workspace = address(t);
    give_back(&v);
    return status;
}

//@ end
/* Everything behind the tensors. With the context of their device current. */
INLINE int launch(struct together *all, struct loaded *l, struct view *v, PyObject **given, PyObject **made,
                  struct ${NAME}_args *args)
{
    struct ${NAME}_error error;
    uint64_t bytes = 0;
    int status;
    if (take_values(given, args) || take_sizes(v, args))
        return -1;
    status = ${NAME}_workspace(&l->kernel, args, &bytes, &error);
    if (status) {
        raise_status(status, &error);
        return -1;
    }
//@ for _, t in ipairs(python.tensor) do
//@     if t.made then
    if (!given[tensor_${t.name}]) {
        made[tensor_${t.name}] = given[tensor_${t.name}] = make_output(all, tensor_${t.name}, args);
//@         local stride = t.rank > 1 and "args->" .. t.name .. "_stride" or "NULL"
        if (!given[tensor_${t.name}] ||
            take_one(all, given[tensor_${t.name}], tensor_${t.name}, ${t.rank}, &v[tensor_${t.name}], ${stride}))
            return -1;
    }
//@     end
//@ end
    (void)made;
    if (!same_shapes(v, given, args))
        return refuse_shape(v, given, args);
    take_places(v, given, args);
    if (take_stream(all))
        return -1;
//@ if host.workspace > 0 then
    if (take_workspace(all, given[slot_workspace], bytes, args))
        return -1;
//@ end
    Py_BEGIN_ALLOW_THREADS
    status = ${NAME}_launch(&l->kernel, args, all->stream, &error);
    Py_END_ALLOW_THREADS
    if (status)
        raise_status(status, &error);
    return status ? -1 : 0;
}

/* The same with that context, whichever is current. */
INLINE int launch_there(struct together *all, struct view *v, PyObject **given, PyObject **made, struct ${NAME}_args *args)
{
    const struct driver_calls *c;
    struct loaded *l;
    int now, entered = 0, status;
    if (all->device == ANY_DEVICE) { /* no tensor says */
        if (!(c = take_driver(all->state, NULL)))
            return -1;
        if ((status = c->own.context_device(&all->device)) != 0) {
            PyErr_Format(PyExc_RuntimeError, "${NAME}: no current CUDA context (CUresult %d)", status);
            return -1;
        }
    }
    l = loaded_for(all->state, all->device);
    if (!l)
        return -1;
    c = READ(all->state->calls);
    if (c->own.context_device(&now) || now != all->device)
        entered = enter(all->state, c, l, all->device);
    if (entered < 0)
        return -1;
    status = launch(all, l, v, given, made, args);
    leave(c, entered);
    return status;
}

static PyObject *call(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    struct together all;
    struct view view[tensors_in_all];
    struct ${NAME}_args args;
    PyObject *given[slots_in_all], *made[tensors_in_all] = {NULL}, *result = NULL;
    int i, status, late = 0;
    all.state = (struct state *)PyModule_GetState(module);
    all.exchange = NULL;
    all.exchange_name = NULL;
    all.first = NULL;
    all.device = ANY_DEVICE;
    all.late = 0;
    all.stream_given = 0;
    all.stream_name = NULL;
    all.stream = NULL;
    if (sort(all.state, arguments, count, names, given))
        return NULL;
    if (given[slot_stream]) {
        if (given_stream(given[slot_stream], &all.stream))
            return NULL;
        all.stream_given = 1;
    }
    memset(&args, 0, sizeof args);
    for (i = 0; i < tensors_in_all; i++) {
        view[i].hold = NULL;
        view[i].taken = NULL;
        view[i].late = 0;
    }
    status = 0;
//@ for _, t in ipairs(python.tensor) do
//@     local stride = t.rank > 1 and "args." .. t.name .. "_stride" or "NULL"
    status = status || take_one(&all, given[tensor_${t.name}], tensor_${t.name}, ${t.rank}, &view[tensor_${t.name}], ${stride});
//@ end
//@ if host.workspace > 0 then
    late = given[slot_workspace] != NULL;
//@ end
    for (i = 0; i < tensors_in_all; i++)
        late |= view[i].late;
    if (late && !status)
        status = take_late(&all, given, view, &args);
    all.late = 1; /* as outputs that are made, and a workspace */
    if (!status)
        status = launch_there(&all, view, given, made, &args);
    for (i = 0; i < tensors_in_all; i++)
        if (view[i].hold || view[i].taken)
            give_back(&view[i]);
//@ local outputs = {}
//@ for _, t in ipairs(python.tensor) do
//@     if t.kind ~= "" then outputs[#outputs + 1] = "given[tensor_" .. t.name .. "]" end
//@ end
//@ local number = #outputs
    if (!status)
//@ if number == 1 then
        result = Py_NewRef(${csv(outputs)});
//@ else
        result = PyTuple_Pack(${number}, ${csv(outputs)});
//@ end
    for (i = 0; i < tensors_in_all; i++)
        Py_XDECREF(made[i]);
    return result;
}
