//@ -- NAME_line: elements of a tensor along its last dim, 0 outside of it: integers by the element's own column, or
//@ -- floats by the turn. Where they lie is found once, and no load is a branch: a predicate guards it, so that a
//@ -- fragment's loads stand together.
//@ param tensor table
//@ param extent table
//@ local t, rank, list, inside, place, nodes = tensor.name, tensor.rank, "", "", "", {}
//@ for i = 1, rank do nodes[i] = extent["d" .. i - 1] end
//@ local real = tensor.dtype == "fp32"
//@ local type, word, register = real and "float" or "int", real and "f32" or "s32", real and "f" or "r"
//@ local ends = fragment_uniform("x", table.unpack(nodes))
//@ local statements, past = ends.at, ends[rank]
//@ for i = 1, rank - 1 do
//@     local index, between = "i" .. i - 1, i > 1 and " && " or ""
//@     list = list .. ", i64 " .. index
//@     inside = inside .. between .. index .. " >= 0 && " .. index .. " < " .. ends[i]
//@     place = place .. " + " .. index .. " * args." .. t .. "_stride" .. i - 1
//@ end
//@ if rank > 1 then past = inside .. " ? (u32)" .. past .. " : 0" end

struct ${t}_line {
    const ${type} *at;
    u32 count; // elements that there are
};

__device__ __forceinline__ ${t}_line ${t}_line_begin(const arguments &args${list})
{
    ${statements}
    u32 count = ${past};
    asm volatile("" : "+r"(count)); // not before: loads that ask it stay behind what this thread has waited for
    ${t}_line line = {args.${t}${place}, count};
//@ if real then
    asm volatile("" : "+l"(line.at)); // known from now on, and not computed again in each turn
//@ end
    return line;
}

__device__ __forceinline__ ${type} ${t}_line_at(${t}_line line, int i)
{
    ${type} element = 0;
    asm("{\n"
        ".reg .pred p;\n"
        "setp.lt.u32 p, %1, %2;\n"
        "@p ld.global.${word} %0, [%3];\n"
        "}"
        : "+${register}"(element)
        : "r"(i), "r"(line.count), "l"(line.at + i));
    return element;
}
