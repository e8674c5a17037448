/* Programs without dots: one role of threads that hold tiles in registers. */
#include "program/lower.h"

static bool takes(const struct program *program)
{
    return !program_holds(program, PROGRAM_DOT);
}

static int variants(const struct spec *spec, const struct spec_kernel *kernel, const struct arch *arch)
{
    (void)spec;
    (void)kernel;
    (void)arch;
    return 1;
}

static int lower(const struct program_lowering *l)
{
    return program_refuse(l, l->kernel->program->loc, "PROGRAM-LOWER", "%s has no lowering of this program yet",
                          l->arch->name);
}

const struct program_lowerer program_lower_direct = {"direct", takes, variants, lower};
