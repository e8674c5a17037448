//@ -- Which set-up a launch takes: by its sizes and by the GPU.
//@ param host table
//@ local NAME = host.name
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

/* Sizes are halved until all that were measured in a part have one set-up, half-way between two of them by ratio. A
 * size (by number) below `from` goes on at the first of `next`, others at the second; ~n is set-up n. */
static const struct {
    int64_t from;
    int32_t size, next[2];
} splits[] = {
//@     local function place(at) return at >= 0 and "row " .. at or "set-up " .. -1 - at end
//@     local function number(at) return at >= 0 and "" .. at or "~" .. -1 - at end
//@     for _, c in ipairs(host.choice) do
//@         if c.count > 0 then
    /* ${c.gpu} (${c.arch}) begins at row ${c.root} */
//@             for row = c.first, c.first + c.count - 1 do
//@                 local s = host.split[row + 1]
//@                 local next = number(s.less) .. ", " .. number(s.more)
//@                 local words = s.symbol .. " below " .. s.from .. ": " .. place(s.less) .. ", else " .. place(s.more)
    {${s.from}, ${s.size}, {${next}}}, /* ${row}: ${words} */
//@             end
//@         end
//@     end
};
//@ end

/* By GPU: where its choice begins. Another model takes the first of its architecture. */
static const struct {
    const char *gpu;
    int32_t target, begin;
} choices[] = {
//@ for _, c in ipairs(host.choice) do
//@     local begin = c.root >= 0 and "" .. c.root or "~" .. -1 - c.root
    {"${c.gpu}", ${c.target}, ${begin}}, /* ${c.arch} */
//@ end
};

static void choose_table(struct ${NAME} *k, int device)
{
    char name[256] = "";
    int i, found = 0;
    if (k->driver.device_name && k->driver.device_name(name, (int)sizeof name - 1, device))
        name[0] = '\0';
    k->choice = ~0;
    for (i = 0; i < (int)(sizeof choices / sizeof *choices); i++) {
        if (choices[i].target != k->target || (found && strcmp(choices[i].gpu, name) != 0))
            continue;
        k->choice = choices[i].begin;
        found = 1;
    }
}

/* The set-up for these sizes; 0: the spec's own. */
INLINE int setup_of(const struct ${NAME} *k, const struct ${NAME}_args *args)
{
    int32_t at = k->choice;
//@ if host.split_count > 0 then
//@     local sizes = {}
//@     for n, name in ipairs(host.size) do sizes[n] = "args->" .. name end
//@     local list = table.concat(sizes, ", ")
    const int64_t size[] = {${list}};
    while (at >= 0)
        at = splits[at].next[size[splits[at].size] >= splits[at].from];
//@ end
    (void)args;
    return ~at;
}

/* The same for load. */
static int setup_for(const struct ${NAME} *k, const struct ${NAME}_args *args)
{
    return setup_of(k, args);
}
//@ for _, g in ipairs(host.target) do
//@     for n, i in ipairs(g.setup) do
//@         local at = #g.image + n - 1

/* Whether load has left set-up ${n} of ${g.arch} in. */
INLINE int is_loaded_${i}(const struct ${NAME} *k)
{
    return k->function[${at}] != NULL;
}
//@     end
//@ end
