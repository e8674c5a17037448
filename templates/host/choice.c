//@ -- Which set-up a launch takes: by its sizes and by the GPU.
//@ param host table
/* ---- choose ------------------------------------------------------------------------------------------------------ */

/* What was measured, in microseconds; ratio: the best peer's time by this one's. Of sizes measured in both modes,
 * sustained counts. Set-up 0 is the spec's own.
//@ local heading = ""
//@ for _, name in ipairs(host.size) do heading = heading .. string.format("%9s", name) end
//@ for _, c in ipairs(host.choice) do
 *
 * ${c.gpu} (${c.arch}):
 *${heading}           us  ratio  mode       set-up
//@     local uses, most = {}, 0
//@     for _, r in ipairs(c.row) do
//@         local sizes = ""
//@         for _, size in ipairs(r.size) do sizes = sizes .. string.format("%9d", size) end
//@         local us = r.ns > 0 and string.format("%13.3f", r.ns / 1000) or string.format("%13s", "")
//@         local ratio = r.ratio > 0 and string.format("%7.3f", r.ratio / 1000) or string.format("%7s", "")
//@         local mode = string.format("%-9s", r.mode)
 *${sizes}${us}${ratio}  ${mode}  ${r.setup}
//@         uses[r.setup], most = r.use, math.max(most, r.setup)
//@     end
//@     for setup = 1, most do
//@         if uses[setup] then
//@             local use = uses[setup]
 * set-up ${setup}: ${use}
//@         end
//@     end
//@ end
 */
//@ if host.split_count > 0 then

/* Sizes are halved until all that were measured in a part have one set-up, half-way between two of them by ratio. */
static const struct split splits[] = {
//@     local function place(at) return at >= 0 and "row " .. at or "set-up " .. -1 - at end
//@     local function number(at) return at >= 0 and at or "~" .. -1 - at end
//@     local rows = {}
//@     for n, s in ipairs(host.split) do
//@         rows[n] = "{" .. s.from .. ", " .. s.size .. ", {" .. number(s.less) .. ", " .. number(s.more) .. "}}"
//@     end
//@     if #rows > 16 then -- what was measured says more than they
//@         local list = table.concat(rows, ", ")
    ${list}
//@     else
//@         for n, s in ipairs(host.split) do
//@             local row, at = rows[n], n - 1
//@             local words = s.symbol .. " below " .. s.from .. ": " .. place(s.less) .. ", else " .. place(s.more)
    ${row}, /* ${at}: ${words} */
//@         end
//@     end
};
//@ end

static const struct choice choices[] = {
//@ for _, c in ipairs(host.choice) do
//@     local begin = c.root >= 0 and "" .. c.root or "~" .. -1 - c.root
    {"${c.gpu}", ${c.target}, ${begin}}, /* ${c.arch} */
//@ end
};
