//@ -- What NAME_python.c takes in the place of torch's exchange: the same, but that tensors are read in place.
//@ local NAME = host.name
/* ${NAME}_torch.cpp: torch's tensors in place for ${NAME}_python.c, made by tilewright ${host.generator}. Do not edit:
 * change the spec and generate again.
 *
 *     torch=$(python3 -c 'import torch.utils.cpp_extension as e
 *     print(*["-isystem" + p for p in e.include_paths()], *["-L" + p for p in e.library_paths()])')
 *     version=$(python3 -c 'import torch; print(torch.__version__)')
 *     python=$(python3-config --includes)
 *     cc -O2 -fPIC -c -DTILEWRIGHT_TORCH $python ${NAME}_python.c ${NAME}.c
 *     c++ -std=c++17 -O2 -fPIC -c -DTILEWRIGHT_TORCH=$version $python $torch ${NAME}_torch.cpp
 *     c++ -shared ${NAME}_torch.o ${NAME}_python.o ${NAME}.o $torch -ltorch_python -lc10 -ldl -lm \
 *         -o ${NAME}$(python3-config --extension-suffix)
 *
 * A view by torch's exchange takes some 60 ns, one in place 10. For that the module is one of the torch and the Python
 * whose headers it is compiled with, and `import torch` stands before its own: that brings the libraries. Its
 * torch_in_place is True where tensors are read in place. With another version of torch than $version it is False, and
 * calls take torch's exchange as without this file. So they do for a tensor that is not plain: of a subclass other than
 * Parameter, not on a CUDA device, sparse, conjugate, negated, of a transform of functions, of symbolic sizes. */

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/csrc/autograd/python_variable.h>

#if !defined(TILEWRIGHT_TORCH)
#error "TILEWRIGHT_TORCH is the version of the torch whose headers these are: see the lines above"
#endif
#define VERSION_TEXT_OF(version) #version
#define VERSION_TEXT(version) VERSION_TEXT_OF(version)

//@ include "python/dlpack.h"

namespace {

const dl_exchange *torchs; /* set once, before the first view: a module may be imported again */
dl_exchange in_place;

/* The element types as torch's exchange says them; bits 0: that type is left to it. */
struct element {
    uint8_t code, bits;
};
using S = c10::ScalarType;
constexpr auto elements = [] {
    std::array<element, c10::NumScalarTypes> all{};
    const std::pair<S, element> known[] = {
        {S::Byte, {1, 8}},    {S::Char, {0, 8}},  {S::Short, {0, 16}},         {S::Int, {0, 32}},
        {S::Long, {0, 64}},   {S::Half, {2, 16}}, {S::BFloat16, {4, 16}},      {S::Float, {2, 32}},
        {S::Double, {2, 64}}, {S::Bool, {6, 8}},  {S::Float8_e4m3fn, {10, 8}}, {S::Float8_e5m2, {12, 8}},
    };
    for (const auto &[type, is] : known)
        all[static_cast<size_t>(type)] = is;
    return all;
}();

/* Fills what torch's exchange would, without a virtual function. It may throw, as where what is copied on a write has
 * no room. */
bool read(PyObject *object, dl_tensor *out)
{
    using K = c10::DispatchKey;
    if (!THPVariable_CheckExact(object))
        return false;
    const c10::TensorImpl *t = THPVariable_Unpack(object).unsafeGetTensorImpl();
    const c10::DispatchKeySet dense(K::CUDA);
    const c10::DispatchKeySet plain({K::CUDA, K::AutogradCUDA, K::ADInplaceOrView, K::AutocastCUDA});
    if (!t->key_set().has_all(dense) || !plain.has_all(t->key_set()) || t->has_symbolic_sizes_strides() ||
        !t->unsafe_storage())
        return false;
    const element is = elements[static_cast<size_t>(t->dtype().toScalarType())];
    if (is.bits == 0)
        return false;
    char *data = static_cast<char *>(t->unsafe_storage().mutable_data()); /* as TensorImpl::mutable_data */
    out->data = t->numel() == 0 ? nullptr : data + t->storage_offset() * (is.bits / 8);
    out->device_type = dl_cuda;
    out->device = t->device().index();
    out->rank = static_cast<int32_t>(t->sizes().size());
    out->code = is.code;
    out->bits = is.bits;
    out->lanes = 1;
    out->shape = const_cast<int64_t *>(t->sizes().data());
    out->stride = const_cast<int64_t *>(t->strides().data());
    out->offset = 0;
    return true;
}

int view(void *object, dl_tensor *out)
{
    try {
        if (read(static_cast<PyObject *>(object), out))
            return 0;
    } catch (...) {} /* torch's exchange will say it */
    return torchs->view(object, out);
}

/* Of a device the default stream is known by its number, 0, and is CUDA's NULL. Torch's exchange has the others. */
int stream(int32_t device_type, int32_t device, void **out)
{
    const c10::DeviceType cuda = c10::DeviceType::CUDA;
    const auto *of = c10::impl::device_guard_impl_registry[static_cast<size_t>(cuda)].load();
    try {
        if (device_type == dl_cuda && of && of->getStream({cuda, static_cast<c10::DeviceIndex>(device)}).id() == 0) {
            *out = nullptr;
            return 0;
        }
    } catch (...) {}
    return torchs->stream(device_type, device, out);
}

} // namespace

extern "C" const struct dl_exchange *${NAME}_torch(const char *version, const struct dl_exchange *of)
{
    if (std::strcmp(version, VERSION_TEXT(TILEWRIGHT_TORCH)) != 0 || !of->view)
        return nullptr;
    if (torchs)
        return torchs == of ? &in_place : nullptr;
    torchs = of;
    in_place = *of;
    in_place.view = view;
    in_place.stream = stream;
    return &in_place;
}
