//@ -- A word of the records of which turns a loop has, where the Plan has such a list.
//@ param model table
//@ if has(model, "list") then

// A word of the records of which turns there are, behind the counters of the workspace.
//@ local list_words = model.list.offset // 4
__device__ __forceinline__ int listed(const arguments &args, i64 at)
{
    return ((const int *)args.workspace)[${list_words} + at];
}
//@ end
