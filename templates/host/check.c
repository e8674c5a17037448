//@ -- Why arguments are refused. Nothing here knows a kernel but by its tables.
//@ param host table
//@ local T, STATIC, map = host.types, host.linkage, host.map_rule
//@ local OF, of = host.shared and "const struct tables *of, " or "", host.shared and "of->" or ""
/* ---- check: the arguments ---------------------------------------------------------------------------------------- */

//@ if host.part.sizes then
/* A size, before any formula over it is computed. */
${STATIC}int check_size(const char *name, long long size, long long most, long long multiple, struct ${T}_error *error)
{
    if (size < 0)
        return REFUSE("%s is %lld, which is no size; write 0 or more", name, size);
    if (size > most)
        return REFUSE("%s is %lld, past %lld, the most that the kernel counts to; split the work", name, size, most);
    if (size % multiple != 0)
        return REFUSE("%s is %lld, no multiple of %lld; pad it to %lld", name, size, multiple,
                      (size / multiple + 1) * multiple);
    return ${T}_OK;
}

//@ end
//@ local alone, kept, somewhere = {}, "", "address"
//@ if host.part.arrays then
//@     somewhere = "(" .. of .. "operands[i].maps && t->slice ? (uint64_t)(uintptr_t)t->slice[0] : address)"
//@ end
//@ if host.part.operands then alone[1] = "(tensor[i].address == 0 && " .. of .. "operands[i].may_be_null)" end
//@ if host.part.pointers then alone[#alone + 1] = of .. "operands[i].pointers" end
//@ if #alone > 0 then kept = " && !(" .. table.concat(alone, " || ") .. ")" end
/* What every variant asks of tensors: no extent below 0 or past a map's, addresses, strides below 2^${map.stride_bits} bytes, none of
 * one that is written below its row; of a target, what its variant that asks least does, and what would do; 0: none. */
${STATIC}int check_tensors(${OF}struct tensor *tensor, int target, struct ${T}_error *error)
{
//@ if host.part.maps then
    uint64_t somewhere = 0;
    int empties = 0;
//@ end
    for (int i = 0; i < ${of}tensor_count; i++) {
        const struct ${T}_tensor *about = &${of}tensors[i];
        const struct tensor *t = &tensor[i];
        const int rank = (int)about->rank;
        const long long row = t->dim[rank - 1];
        const unsigned long long address = t->address, element = about->element_bytes, end = ((uint64_t)1 << ${map.stride_bits}) / element;
        int empty = row <= 0;
//@ if host.part.operands then
        for (int d = 0; d < rank; d++) {
            const long long extent = t->dim[d];
            if (extent < 0 && ${of}operands[i].signs >> d & 1)
                return REFUSE("extent %d of %s is %lld; the sizes must not make it negative", d, about->name, extent);
            if (extent > ${map.most_extent} && ${of}operands[i].large >> d & 1)
                return REFUSE("extent %d of %s is %lld, past 2^${map.extent_bits}, the most of a tensor map; split the work [${map.extent}]", d, about->name, extent);
        }
//@ end
//@ local anywhere = of .. "operands[i].maps && t->slice"
//@ local one = host.part.arrays and " && !(" .. anywhere .. ")" or ""
        if (address >> ${map.address_bits} != 0${one})
            return REFUSE("%s is 0x%llx, at or past 2^${map.address_bits}, so no device address [${map.address}]", about->name, address);
        for (int d = 0; d + 1 < rank; d++) {
            const long long stride = t->stride[d];
            if (t->dim[d] <= 1)
                empty |= t->dim[d] <= 0;
            else if ((unsigned long long)stride >= end)
                return REFUSE("%s_stride[%d] is %lld elements of %u bytes; strides are 0 or more and below 2^${map.stride_bits} bytes, "
                              "%llu elements [${map.stride}]", about->name, d, stride, (unsigned)element, end);
            else if (about->out && stride < row)
                return REFUSE("%s_stride[%d] is %lld elements, and the tensor, which is written, would overlap itself: "
                              "its rows have %lld; write %lld or more", about->name, d, stride, row, row);
        }
//@ if host.part.pointers then
        if (address == 0 && !empty && !${of}operands[i].may_be_null && ${of}operands[i].pointers)
            return REFUSE("%s is NULL; pass the device address of an array of the slices' addresses", about->name);
        if (${of}operands[i].pointers && address % 8 != 0)
            return REFUSE("%s is 0x%llx, no multiple of 8 bytes, and so no array of addresses; pass that of the "
                          "slices' addresses on the device", about->name, address);
//@ end
//@ if host.part.arrays then
        for (int d = 0; ${anywhere} && !empty && d < ${of}operands[i].maps; d++) {
            const unsigned long long at = (uint64_t)(uintptr_t)t->slice[d];
            if (!at)
                return REFUSE("%s_slices[%d] is NULL; pass the slice's device address", about->name, d);
            if (at >> ${map.address_bits} != 0)
                return REFUSE("%s_slices[%d] is 0x%llx, at or past 2^${map.address_bits}, so no device address [${map.address}]", about->name, d, at);
            if (at % 16 != 0)
                return REFUSE("%s_slices[%d] is 0x%llx, no multiple of 16 bytes; move the slice's start, to 0x%llx "
                              "for example [${map.address_align}]", about->name, d, at, at - at % 16);
        }
//@ end
//@ local null = host.part.operands and " && !" .. of .. "operands[i].may_be_null" or ""
        if (address == 0 && !empty${null})
            return REFUSE("%s is NULL; pass the tensor's device address", about->name);
//@ if host.part.maps then
        tensor[i].empty = empty;
        empties |= empty;
        if (!somewhere && !empty${kept})
            somewhere = ${somewhere} & ~(uint64_t)127;
//@ end
        if (!target)
            continue;
        const struct rule *r = &${of}rules[(target - 1) * ${of}tensor_count + i];
        const unsigned long long align = r->align;
//@ if host.part.pointers then
        if (${of}operands[i].pointers && t->align % align != 0)
            return REFUSE("%s_align is %llu, no multiple of %llu bytes, which the addresses of its slices must be "
                          "multiples of", about->name, (unsigned long long)t->align, align);
        if (address % align != 0 && !${of}operands[i].pointers)
//@ else
        if (address % align != 0)
//@ end
            return REFUSE("%s is 0x%llx, no multiple of %llu bytes; move the tensor's start, to 0x%llx for example "
                          "[%s]", about->name, address, align, address - address % align, r->map ? "${map.address_align}" : "ALIGN");
        for (int d = 0; d + 1 < rank; d++) {
            const unsigned long long step = t->dim[d] > 1 ? (uint64_t)t->stride[d] * element : 0;
            if (step % align != 0)
                return REFUSE("the stride of dimension %d of %s is %lld elements of %s, %llu bytes, no multiple of "
                              "%llu; pad it to %llu elements and pass that as %s_stride[%d] [%s]", d, about->name,
                              (long long)t->stride[d], about->dtype, step, align, (step / align + 1) * align / element,
                              about->name, d, r->map ? "${map.stride_align}" : "ALIGN");
        }
        if (r->whole_rows && (uint64_t)row * element % align != 0)
            return REFUSE("rows of %s hold %lld elements of %s, which are no multiple of %llu bytes; pad them to %llu "
                          "elements", about->name, row, about->dtype, align,
                          ((uint64_t)row * element / align + 1) * align / element);
//@ if host.part.fixed then
        for (int d = 0; d + 1 < rank; d++)
            if (r->fixed[d] && t->stride[d] != r->fixed[d])
                return REFUSE("the stride of dimension %d of %s is %lld elements, and the kernel is made for %lld; "
                              "pass 0 for a tensor that lies densely, or copy it [STRIDE]", d, about->name,
                              (long long)t->stride[d], (long long)r->fixed[d]);
//@ end
    }
//@ if host.part.maps then
    /* The map of an empty tensor lies where the first other tensor does: a load whose box is outside of its map touches
     * the map's address [H200], and a tensor of no elements need not have memory. What a box inside would bring, as the
     * map's extent is 1, no kernel uses: there is no such element. */
    for (int i = 0; empties && i < ${of}tensor_count; i++)
        if (somewhere && tensor[i].empty${kept})
            tensor[i].address = somewhere;
//@ end
//@ if host.part.arrays then
    for (int i = 0; target && i < ${of}tensor_count; i++)
        if (${of}operands[i].maps && tensor[i].slice)
            return REFUSE("%s_slices: slices that lie anywhere take a tensor map each, and no variant for this GPU "
                          "that has them takes the arguments: it asks for addresses, strides and rows of whole 16 "
                          "bytes",
                          ${of}tensors[i].name);
//@ end
    return target ? REFUSE("no variant takes these arguments") : ${T}_OK;
}
//@ if host.part.windows then

/* An image along which no window lies, as no driver takes it, or one that is too long for the walk. */
${STATIC}int refuse_picture(const char *tensor, int dim, int64_t pixels, int takes, struct ${T}_error *error)
{
    return REFUSE("dim %d of %s is %lld pixels; with its padding a window takes %d, and up to 2147483647 can be",
                  dim + 1, tensor, (long long)pixels, takes);
}
//@ end
//@ if host.part.workspace then

${STATIC}int refuse_workspace(const void *workspace, const char *bytes, struct ${T}_error *error)
{
    if (!workspace)
        return REFUSE("workspace is NULL; pass the device address of %s, zero before the first launch", bytes);
    return REFUSE("workspace is 0x%llx, no multiple of 16 bytes", (unsigned long long)(uintptr_t)workspace);
}
//@ end
