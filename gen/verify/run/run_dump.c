/* What a case had and gave, left for other programs: its tensors and scalars. */
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "common/files.h"
#include "common/json.h"
#include "verify/run/run.h"

/* The elements, densely in the order of the dims; NULL: out of memory. tw_free is due. */
static unsigned char *dense(struct tw_runtime *rt, const struct trial_tensor *from, enum tw_dtype dtype)
{
    const size_t width = tw_dtype_bytes(dtype);
    const int64_t count = shape_count(&from->shape);
    unsigned char *bytes = tw_alloc(rt, width * (size_t)(count ? count : 1));
    struct shape_walk walk;
    if (!bytes)
        return NULL;
    shape_seek(&walk, &from->shape, 0);
    for (int64_t e = 0; e < count; e++, shape_next(&walk))
        memcpy(bytes + (size_t)e * width, from->host + from->begin + (size_t)walk.offset * width, width);
    return bytes;
}

static struct json_object *describe(const struct plan_tensor *t, const struct shape *shape)
{
    struct json_object *own = json_object_new_object(), *extent = json_object_new_array();
    json_add_text(own, "name", t->name);
    json_add_text(own, "dtype", tw_dtype_name(t->dtype));
    json_add_truth(own, "out", t->out);
    for (int d = 0; d < shape->rank; d++)
        json_object_array_add(extent, json_object_new_int64(shape->extent[d]));
    json_object_object_add(own, "extent", extent);
    return own;
}

int run_dump(struct run *run, const struct trial *t, const struct run_case *one, struct tw_error *error)
{
    struct tw_runtime *rt = &run->compile.rt;
    const struct plan *p = &one->unit->plan;
    struct file_set files = {.rt = rt};
    struct json_object *all = json_object_new_object(), *tensors = json_object_new_array(),
                       *scalars = json_object_new_object();
    char folder[4096];
    int status = TW_OK;
    if ((size_t)snprintf(folder, sizeof folder, "%s/%s.%s.%s.%s", run->options.dump, p->entry, one->unit->arch->name,
                         one->sizes, run_inputs_word[t->request.inputs]) >= sizeof folder)
        status = tw_fail(error, TW_ERROR_INVALID, "the name of --dump is too long");
    json_add_text(all, "kernel", p->kernel);
    json_add_text(all, "arch", one->unit->arch->name);
    json_add_text(all, "device", one->device);
    json_add_text(all, "sizes", one->sizes);
    json_add_text(all, "inputs", run_inputs_word[t->request.inputs]);
    json_add_number(all, "seed", run->options.seed);
    for (int i = 0; i < t->tensor_count && status == TW_OK; i++) {
        const enum tw_dtype dtype = p->tensor[i].dtype;
        struct trial_tensor *from = &t->tensor[i];
        if (p->tensor[i].out && (status = trial_download(t, i, error)))
            break; /* comparing has left nothing on the host */
        unsigned char *bytes = dense(rt, from, dtype);
        json_object_array_add(tensors, describe(&p->tensor[i], &t->tensor[i].shape));
        status = bytes ? files_add(&files, folder, p->tensor[i].name, bytes,
                                   tw_dtype_bytes(dtype) * (size_t)shape_count(&t->tensor[i].shape), true, error)
                       : tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    }
    for (int i = 0; i < p->scalar_count; i++)
        json_object_object_add(scalars, p->scalar[i].name, json_object_new_double(t->scalar[i]));
    json_object_object_add(all, "tensors", tensors);
    json_object_object_add(all, "scalars", scalars);
    const char *text = json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY);
    if (status == TW_OK)
        status = files_add(&files, folder, "case.json", text, strlen(text), false, error);
    if (status == TW_OK)
        status = files_commit(&files, error);
    files_free(&files);
    json_object_put(all);
    return status;
}
