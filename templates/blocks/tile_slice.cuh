//@ -- NAME_slice: the coordinates of a slice in its tensor's map, where the slices along the first dim have addresses
//@ -- of their own. gen/plan/map_pointers.h has the picture.
//@ param tensor table
//@ param extent table
//@ local t, pointers = tensor.name, map_pointers()
//@ local ends = fragment_uniform("x", extent.d0)
//@ local statements, count = ends.at, ends[1]
// Where slice `index` of ${t} lies: its address is ${pointers.base} + (high << ${pointers.shift}) + low * ${pointers.unit}. Of no slice they lie outside of the map:
// zeros come from there, and nothing goes there.
__device__ __forceinline__ void ${t}_slice(const arguments &args, i64 index, int &high, int &low)
{
    ${statements}
    const u64 at = index >= 0 && index < ${count} ? (u64)args.${t}[index] - ${pointers.base} : ~0ull;
    high = (int)(at >> ${pointers.shift});
    low = (int)(at / ${pointers.unit} & ${hex(pointers.low)});
}
