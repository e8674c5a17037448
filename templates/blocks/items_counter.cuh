//@ -- Items from a counter: one thread takes numbers, in a band of workspace that each launch leaves at zero, and
//@ -- passes on where their items begin, through a ring of its own.
//@ param model table
//@ local ring, items = model.item_ring, model.item
//@ local where, words = model.shared[ring .. ".item"], #items
//@ local each = where.bytes // where.count
//@ local places, list = "", {}
//@ for i, item in ipairs(items) do
//@     places = places .. ", int &at_" .. item.axis
//@     list[i] = "at_" .. item.axis
//@ end
//@ local all = csv(list)
// Asks for the number of the item after the one that was taken last. Blocks begin with their own.
__device__ __forceinline__ void items_take(const arguments &args, item_order &s)
{
    s.next = (int)(gridDim.x + atomicAdd(args.workspace, 1u));
}

// Where the item begins that was taken last, for who reads the stage, and for the writer itself; below zero where there
// is none.
__device__ __forceinline__ void ${ring}_write(const arguments &args, const item_order &s, u32 stage${places})
{
//@ local none = table.concat(list, " = ") .. " = -1"
    if (!items_at(args, s, ${all}))
        ${none};
//@ for i, name in ipairs(list) do
//@     local at = where.offset + 4 * (i - 1)
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(shared_address(${at} + ${each} * stage)), "r"(${name}) : "memory");
//@ end
}

__device__ __forceinline__ void ${ring}_read(u32 stage${places})
{
//@ for i, name in ipairs(list) do
//@     local at = where.offset + 4 * (i - 1)
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(${name}) : "r"(shared_address(${at} + ${each} * stage)) : "memory");
//@ end
}

// Each block has taken its last number, and says so behind that; who is last leaves both words as they were found.
__device__ __forceinline__ void items_done(const arguments &args)
{
    u32 before;
    asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;" : "=r"(before) : "l"(args.workspace + 1) : "memory");
    if (before + 1 == gridDim.x) {
        args.workspace[0] = 0;
        args.workspace[1] = 0;
    }
}
