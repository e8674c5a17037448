//@ -- The source of a kernel's C pair. `host` is what gen/emit/host/host.c decided. The launcher's own pieces stand in
//@ -- it, or in tilewright_host.h and tilewright_host.c, which kernels share.
//@ local what = host.shared and ", with tilewright_host.c for what kernels have alike" or ""
/* ${host.name}.c: a kernel and its host code, made by tilewright ${host.generator}. Do not edit: change the spec and generate
 * again. ${host.name}.h says what it is${what}. */

//@ -- Variants whose text below is one: shape.of by image, from 0, those of one have the same parameter; and by text
//@ -- the cases that have it: fit and patch by shape, count by variant; whether any has words, maps, tensors, and asks
//@ -- tensors to be aligned.
//@ local shape = { of = {}, count = 0, fits = { of = {} }, patches = { of = {} }, counts = { of = {} } }
//@ local shapes = {}
//@ local function add(group, text, case, what)
//@     local at = group.of[text]
//@     if not at then
//@         at = { text = text, cases = "", what = what }
//@         group[#group + 1], group.of[text] = at, at
//@     end
//@     at.cases = at.cases .. (at.cases == "" and "case " or " case ") .. case .. ":"
//@ end
//@ for n, i in ipairs(host.image) do
//@     local low, lines, puts = {}, {}, false
//@     local function line(...) lines[#lines + 1], puts = table.concat { ... }, false end
//@     local function put(offset, what, bytes) -- several stand in a line
//@         local place = offset > 0 and "to + " .. offset or "to"
//@         local text = "memcpy(" .. place .. ", &" .. what .. ", " .. bytes .. ");"
//@         local joins = puts and #lines[#lines] + #text < 111
//@         lines[joins and #lines or #lines + 1] = joins and lines[#lines] .. " " .. text or text
//@         puts, shape.words = true, true
//@     end
//@     for _, r in ipairs(i.rule) do
//@         for _, f in ipairs(r.fixed) do
//@             local stride = "(uint64_t)t[at_" .. r.tensor .. "].stride[" .. f.dim .. "]"
//@             low[#low + 1] = "(" .. stride .. " ^ " .. f.stride .. ")"
//@         end
//@         if r.one_map then low[#low + 1] = "(uint64_t)(t[at_" .. r.tensor .. "].slice != NULL)" end
//@         if r.mask > 0 then
//@             local what = csv { r.rank, r.bytes, r.mask, r.whole_rows }
//@             local word = r.pointers and "unaligned_slices" or "unaligned"
//@             low[#low + 1] = table.concat { word, "(t + at_", r.tensor, ", ", what, ")" }
//@         end
//@     end
//@     shape.aligned = shape.aligned or #low > 0
//@     local fit = #low > 0 and "!(" .. table.concat(low, " | ") .. ")" or "1"
//@     for _, w in ipairs(i.picture) do
//@         local dim = "t[at_" .. w.tensor .. "].dim[" .. w.dim .. "]"
//@         if w.mapped then dim = "(" .. dim .. " > 0 ? " .. dim .. " : 1)" end -- as maps take an empty one
//@         line("if (", dim, " < ", w.takes, " || ", dim, " > ", w.longest, ")")
//@         line("    return refuse_picture(\"", w.tensor, "\", ", w.dim, ", ", dim, ", ", w.takes, ", error);")
//@     end
//@     local maps = 0
//@     for _, q in ipairs(i.param) do
//@         shape.tensors = shape.tensors or q.kind == "map" or q.kind == "pointer" or q.kind == "stride"
//@         if q.kind == "map" then
//@             local m = host.map[q.map + 1]
//@             local place = q.word > 0 and "p->word + " .. q.word or "p->word"
//@             local map = host.tuned and "maps_of[v][" .. maps .. "]" or q.map
//@             local given = csv { "encoder", "&maps[" .. map .. "]", place }
//@             local bytes = m.element_bytes
//@             local word = q.pointers and "put_map_of_slices(" or q.maps > 0 and "put_maps(" or "put_map("
//@             local more = q.maps > 0 and q.maps .. ", " or ""
//@             local last = more .. csv { q.rank, bytes, "error" }
//@             local call = word .. given .. ", t + at_" .. q.tensor .. ", " .. last .. ");"
//@             line(maps > 0 and "status = status ? status : " or "status = ", call)
//@             maps, shape.maps = maps + 1, true
//@         elseif q.kind == "pointer" then
//@             put(q.offset, "t[at_" .. q.tensor .. "].address", 8)
//@         elseif q.kind == "stride" then
//@             put(q.offset, "t[at_" .. q.tensor .. "].stride[" .. q.index .. "]", 8)
//@         elseif q.kind == "dim" then
//@             put(q.offset, "args->" .. q.symbol, q.bytes)
//@         elseif q.kind == "scalar" then
//@             put(q.offset, "args->" .. q.scalar, q.bytes)
//@         elseif q.kind == "workspace" then
//@             local room = host.workspace .. " bytes"
//@             if host.workspace_of_sizes then room = "as many bytes as " .. host.name .. "_workspace says" end
//@             line("if (!args->workspace || (uintptr_t)args->workspace % 16)")
//@             line("    return refuse_workspace(args->workspace, \"", room, "\", error);")
//@             put(q.offset, "args->workspace", q.bytes)
//@         end
//@     end
//@     local patch = table.concat(lines, "\n")
//@     local key = fit .. "\n" .. patch
//@     if not shapes[key] then
//@         add(shape.fits, fit, shape.count, i.entry .. " for " .. i.arch)
//@         add(shape.patches, patch, shape.count, i.entry .. " for " .. i.arch)
//@         shapes[key], shape.count = shape.count, shape.count + 1
//@     end
//@     shape.of[n] = shapes[key]
//@     lines = {}
//@     if has(i, "items") then line("n[3] = ", i.items, ";") end
//@     if has(i, "list") then line("n[4] = ", i.list, ";") end
//@     for d, axis in ipairs { "x", "y", "z" } do
//@         if i.grid[axis] ~= "1" then line("n[", d - 1, "] = ", i.grid[axis], ";") end
//@     end
//@     local count = table.concat(lines, " ")
//@     for at = 1, #count do
//@         shape.sizes = shape.sizes or count:sub(at, at + 5) == "args->"
//@         shape.resident = shape.resident or count:sub(at, at + 7) == "sm_count"
//@     end
//@     local one_line = #count < 80
//@     if not one_line then count = table.concat(lines, "\n") end
//@     add(shape.counts, count, n - 1, "")
//@     shape.counts.of[count].one_line = one_line
//@ end
//@ if host.shared then
#define TILEWRIGHT_INSIDE
#include "${host.name}.h"

//@ else
#include "${host.name}.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
//@     if host.has_text or host.debug then
#include <stdlib.h>
//@     end
#include <string.h>

/* From here down: the kernel and what is known of it, what every launch runs, load, why arguments are refused, how they
 * become a launch's parameter. What most launches run is one stretch of code without a call (INLINE, TOGETHER), and all
 * else is kept apart from it (APART, COLD): between two launches the driver takes the caches for itself, and what is
 * brought back should be little and lie together. */
//@     include "host/marks.h"

//@     include "host/tables.h" host = host

//@ end
//@ include "host/code.c" host = host, shape = shape

//@ if not host.shared then
//@     include "host/fast.h" host = host

//@     include "host/copy.c" host = host

//@     include "host/failures.c" host = host

//@     include "host/driver.c" host = host

//@     if host.part.text then
//@         include "host/nvrtc.c" host = host

//@     end
//@     if host.debug then
//@         include "host/debug.h"

//@     end
//@     if host.part.maps then
//@         include "host/maps.c" host = host

//@     end
//@     include "host/load.c" host = host

//@     include "host/check.c" host = host

//@ end
//@ include "host/params.c" host = host, shape = shape

//@ if not host.shared then
//@     include "host/ordinary.c" host = host

//@ end
//@ include "host/variants.c" host = host, shape = shape

//@ if host.workspace > 0 then
//@     include "host/workspace.c" host = host

//@ end
//@ if host.shared then
/* And the functions that all kernels have alike. */
//@     if host.lists then
#define KERNEL_LISTS
//@     end
//@     if host.workspace > 0 then
#define KERNEL_WORKSPACE
//@     end
//@     if host.tuned then
#define KERNEL_TUNED
//@     end
#define KERNEL ${host.name}
#include "tilewright_host.h"
//@ else
//@     include "host/body.c" host = host, dense = shape.dense
//@ end
//@ if host.tuned then
//@     local NAME = host.name

int ${NAME}_load_for(struct ${NAME} *kernel, const struct ${NAME}_driver *driver, const struct ${NAME}_args *args, int count, struct ${NAME}_error *error)
{
    const struct wanted wanted = {takes, args, count};
    return load_wanted(kernel, driver, &wanted, error);
}
//@ end
