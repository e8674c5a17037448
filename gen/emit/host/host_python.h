/* What Python sees of a C pair: the parameters of the function, in their order, and where a size comes from. */
#ifndef TW_GEN_EMIT_HOST_HOST_PYTHON_H
#define TW_GEN_EMIT_HOST_HOST_PYTHON_H

#include "emit/host/host_facts.h"
#include "plan/sink.h"

/* Whether every name can be one of Python's, and every scalar be made of a number; with `torch` also whether the kernel
 * can be an operator of PyTorch's. Faults go to diags. 0 or 1. */
int host_check_python(const struct host_facts *f, bool torch, struct diag_set *diags);

/* Writes `host.python`:
 *
 *     tensor     those that must be given, then the others; of both those that are read first, else in the Plan's
 *                order: name; number, in the Plan; kind: "", "out" or "added", to which the kernel adds; may_be_null;
 *                made: an output that needs not be given, since all sizes of its shape are those of others; rank, code,
 *                bits (of a DLDataType); raw: its bytes may come as uint8; shape, as the spec has it; dim { c, python
 * }, its extents; stride, those of a dense one, as C size       by host.symbol: name; given: by the caller; else tensor
 * (a number of python.tensor), dim and factor: the extent is so many times the size scalar     name, kind: "float",
 * "int", "uint", "bool" or "narrow", a float whose `fraction` bits and `least` exponent C has no type for; low and high
 * as C, of integers; bits */
void host_python(const struct host_facts *f, const struct sink *s);

#endif
