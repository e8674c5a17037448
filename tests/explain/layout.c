// cupti_abi.h and watched.def against the headers of a toolkit: compiled, not run.
#include <stddef.h>

#include <cuda.h>
#include <cupti.h>

#include "explain/cupti_abi.h"

#define SAME(ours, our, theirs, their)                                                                                 \
    _Static_assert(offsetof(ours, our) == offsetof(theirs, their) &&                                                   \
                       sizeof(((ours *)0)->our) == sizeof(((theirs *)0)->their),                                       \
                   #ours " " #our)
#define DATA(our, their) SAME(struct cupti_callback_data, our, CUpti_CallbackData, their)
DATA(site, callbackSite);
DATA(function_name, functionName);
DATA(parameters, functionParams);
DATA(result, functionReturnValue);
DATA(symbol_name, symbolName);
DATA(context, context);
DATA(context_uid, contextUid);
DATA(correlation_data, correlationData);
DATA(correlation_id, correlationId);
_Static_assert(sizeof(struct cupti_callback_data) == sizeof(CUpti_CallbackData), "size");

#define COMMON(ours, theirs)                                                                                           \
    SAME(ours, map, theirs, tensorMap);                                                                                \
    SAME(ours, dtype, theirs, tensorDataType);                                                                         \
    SAME(ours, rank, theirs, tensorRank);                                                                              \
    SAME(ours, address, theirs, globalAddress);                                                                        \
    SAME(ours, dim, theirs, globalDim);                                                                                \
    SAME(ours, stride, theirs, globalStrides);                                                                         \
    SAME(ours, estride, theirs, elementStrides);                                                                       \
    SAME(ours, interleave, theirs, interleave);                                                                        \
    SAME(ours, swizzle, theirs, swizzle);                                                                              \
    SAME(ours, l2, theirs, l2Promotion);                                                                               \
    SAME(ours, oob, theirs, oobFill);                                                                                  \
    _Static_assert(sizeof(ours) == sizeof(theirs), #ours)
COMMON(struct cupti_tiled, cuTensorMapEncodeTiled_params);
SAME(struct cupti_tiled, box, cuTensorMapEncodeTiled_params, boxDim);
COMMON(struct cupti_im2col, cuTensorMapEncodeIm2col_params);
SAME(struct cupti_im2col, lower, cuTensorMapEncodeIm2col_params, pixelBoxLowerCorner);
SAME(struct cupti_im2col, upper, cuTensorMapEncodeIm2col_params, pixelBoxUpperCorner);
SAME(struct cupti_im2col, channels, cuTensorMapEncodeIm2col_params, channelsPerPixel);
SAME(struct cupti_im2col, pixels, cuTensorMapEncodeIm2col_params, pixelsPerColumn);
COMMON(struct cupti_im2col_wide, cuTensorMapEncodeIm2colWide_params);
SAME(struct cupti_im2col_wide, lower, cuTensorMapEncodeIm2colWide_params, pixelBoxLowerCornerWidth);
SAME(struct cupti_im2col_wide, upper, cuTensorMapEncodeIm2colWide_params, pixelBoxUpperCornerWidth);
SAME(struct cupti_im2col_wide, channels, cuTensorMapEncodeIm2colWide_params, channelsPerPixel);
SAME(struct cupti_im2col_wide, pixels, cuTensorMapEncodeIm2colWide_params, pixelsPerColumn);
SAME(struct cupti_im2col_wide, mode, cuTensorMapEncodeIm2colWide_params, mode);

// Of launches and modules what is read, by place.
#define AT(ours, our, theirs, their) _Static_assert(offsetof(ours, our) == offsetof(theirs, their), #ours " " #our)
#define LAUNCH(theirs)                                                                                                 \
    AT(struct cupti_launch, function, theirs, f);                                                                      \
    AT(struct cupti_launch, grid, theirs, gridDimX);                                                                   \
    AT(struct cupti_launch, block, theirs, blockDimX);                                                                 \
    AT(struct cupti_launch, shared_bytes, theirs, sharedMemBytes);                                                     \
    AT(struct cupti_launch, stream, theirs, hStream);                                                                  \
    AT(struct cupti_launch, arguments, theirs, kernelParams)
LAUNCH(cuLaunchKernel_params);
AT(struct cupti_launch, extra, cuLaunchKernel_params, extra);
LAUNCH(cuLaunchKernel_ptsz_params);
AT(struct cupti_launch, extra, cuLaunchKernel_ptsz_params, extra);
LAUNCH(cuLaunchCooperativeKernel_params);
LAUNCH(cuLaunchCooperativeKernel_ptsz_params);
#define LAUNCH_EX(theirs)                                                                                              \
    AT(struct cupti_launch_ex, config, theirs, config);                                                                \
    AT(struct cupti_launch_ex, function, theirs, f);                                                                   \
    AT(struct cupti_launch_ex, arguments, theirs, kernelParams);                                                       \
    AT(struct cupti_launch_ex, extra, theirs, extra)
LAUNCH_EX(cuLaunchKernelEx_params);
LAUNCH_EX(cuLaunchKernelEx_ptsz_params);
#define LOAD(theirs, their, from_)                                                                                     \
    AT(struct cupti_load, module, theirs, their);                                                                      \
    AT(struct cupti_load, from, theirs, from_)
LOAD(cuModuleLoad_params, module, fname);
LOAD(cuModuleLoadData_params, module, image);
LOAD(cuModuleLoadDataEx_params, module, image);
LOAD(cuModuleLoadFatBinary_params, module, fatCubin);
LOAD(cuLibraryLoadData_params, library, code);
LOAD(cuLibraryLoadFromFile_params, library, fileName);
AT(struct cupti_unload, module, cuModuleUnload_params, hmod);
AT(struct cupti_unload, module, cuLibraryUnload_params, library);
#define GET(theirs, to_, from_)                                                                                        \
    AT(struct cupti_get, to, theirs, to_);                                                                             \
    AT(struct cupti_get, from, theirs, from_)
GET(cuModuleGetFunction_params, hfunc, hmod);
AT(struct cupti_get, name, cuModuleGetFunction_params, name);
GET(cuLibraryGetKernel_params, pKernel, library);
AT(struct cupti_get, name, cuLibraryGetKernel_params, name);
GET(cuLibraryGetModule_params, pMod, library);
GET(cuKernelGetFunction_params, pFunc, kernel);

#define RECORDED(name, id, type, take) _Static_assert((int)(id) == (int)CUPTI_DRIVER_TRACE_CBID_##name, #name);
#include "explain/recorded.def"

_Static_assert((int)CUPTI_SITE_ENTER == (int)CUPTI_API_ENTER, "site");
_Static_assert((int)CUPTI_DOMAIN_DRIVER_API == (int)CUPTI_CB_DOMAIN_DRIVER_API, "domain");
_Static_assert((int)CUPTI_SITE_EXIT == (int)CUPTI_API_EXIT, "site");
_Static_assert((int)CUPTI_MULTIPLE_SUBSCRIBERS == (int)CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "error");

enum {
#define WATCHED(FUNC, name, id, type, read) ID_##FUNC = id,
#include "explain/watched.def"
};
_Static_assert((int)ID_TILED == (int)CUPTI_DRIVER_TRACE_CBID_cuTensorMapEncodeTiled, "tiled");
_Static_assert((int)ID_IM2COL == (int)CUPTI_DRIVER_TRACE_CBID_cuTensorMapEncodeIm2col, "im2col");
_Static_assert((int)ID_IM2COL_WIDE == (int)CUPTI_DRIVER_TRACE_CBID_cuTensorMapEncodeIm2colWide, "im2col wide");

#define RESULT(number, name, text, blame, advice) _Static_assert(number == (int)name, #name);
#include "tensormap/tensormap_results.def"
