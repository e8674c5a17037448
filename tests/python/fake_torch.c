/* What NAME_torch.cpp is to NAME_python.c, of the tensors of fake_gpu: views are counted. NAME: by -D, the
 * module's. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* As templates/python/dlpack.h has it. */
struct exchange {
    uint32_t major, minor;
    void *previous, *allocate, *managed_of, *object_of;
    int (*view)(void *object, void *borrowed);
    int (*stream)(int32_t device_type, int32_t device, void **stream);
};

#define JOIN(a, b) a##b
#define OF(name, what) JOIN(name, what)

int OF(NAME, _views), OF(NAME, _streams);
static const struct exchange *theirs;
static struct exchange ours;

static int view(void *object, void *borrowed)
{
    __atomic_fetch_add(&OF(NAME, _views), 1, __ATOMIC_RELAXED);
    return theirs->view(object, borrowed);
}

static int stream(int32_t device_type, int32_t device, void **stream)
{
    __atomic_fetch_add(&OF(NAME, _streams), 1, __ATOMIC_RELAXED);
    return theirs->stream(device_type, device, stream);
}

const struct exchange *OF(NAME, _torch)(const char *version, const struct exchange *of)
{
    if (strcmp(version, "2.11.0+cu130") != 0)
        return NULL;
    theirs = of;
    ours = *of;
    ours.view = view;
    ours.stream = stream;
    return &ours;
}
