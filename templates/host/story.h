//@ -- The first lines of both files: what made them, and what the kernel costs.
//@ param host table
//@ param file text
/* ${host.name}${file}: a kernel and its host code, made by tilewright ${host.generator}. Do not edit: change the spec and generate again.
 *
//@ for _, i in ipairs(host.image) do
 * ${i.arch}${i.label}: ${i.cost}
//@ end
 *
//@ if host.debug then
 * A debug build: waits that last too long leave records, which ${host.name}_debug_report tells, and end the kernel.
 *
//@ end
 * C99 and C++17; needs libc and, at run time, the CUDA driver${host.needs}.
 * Link with -ldl where libc is older than glibc 2.34.
 * The output of the generator belongs to whoever generated it. */
