//@ -- One step over a tile's elements, each thread its own: load, store, set, fold, or the writing half of a transpose.
//@ -- `text` are the step's statements by level: once, for each row, for each vector, for each element.
//@ param step table
//@ param text table
//@ param place table
//@ param tensor table
//@ param layout table
//@ param offset int
//@ local base = offset > 0 and "shared_memory + " .. offset or "shared_memory"
//@ local n, call = step.layout, step.call
//@ local more, own_rows = has(step, "more") and step.more or 0, step.rows // layout.down
//@ local rows, vectors = own_rows + more, step.cols // (layout.across * layout.vector)
//@ local vector = step.cols > 1 and layout.vector or 1
//@ local level0, level1, level2, level3 = text.at[1], text.at[2], text.at[3], text.at[4]
//@ local columns, moves = step.cols > 1, step.op == "global"
//@ local inside = has(text, "inside") and text.inside or "true"
//@ local value = has(text, "value") and text.value or ""
//@ -- Where in memory: what is the same for all threads, for a row, for a vector.
//@ local dtype, from, at_row, at_column, one = "", "", "", "", {}
//@ local near, fixed = 0, moves and has(tensor, "fixed") -- rows that are numbers apart: offsets of one address
//@ if moves then
//@     dtype = tensor.dtype
//@     local first = 1
//@     from, first = slice(tensor, text.coordinate[1].base)
//@     for d = first, tensor.rank do
//@         local c = text.coordinate[d]
//@         local number = fixed and tensor.fixed[d] or 0
//@         near = near + c.more * number -- elements: below 2^62
//@         local stride = d < tensor.rank and " * args." .. tensor.name .. "_stride" .. d - 1 or ""
//@         if number > 0 then stride = " * " .. number .. "ll" end
//@         if c.base ~= "0" then
//@             local term = " + " .. c.base .. stride
//@             if c.base_level == 0 then from = from .. term
//@             elseif c.base_level == 1 then at_row = at_row .. term
//@             else at_column = at_column .. term end
//@         end
//@         if c.row and layout.apart < layout.down and rows > 1 then
//@             -- Rows beside each other: the thread's first, and from there row by row.
//@             from, at_row = from .. " + row" .. n .. stride, at_row .. " + i" .. stride
//@         elseif c.row then
//@             at_row = at_row .. " + row" .. stride
//@         end
//@         if c.column and fixed and vectors == 1 then
//@             from = from .. " + column" .. n .. stride -- the same for all rows: known before their numbers are
//@         elseif c.column then
//@             at_column = at_column .. " + column" .. stride
//@         end
//@     end
//@     -- A tile of one row or column is held by many threads; one of them stores it.
//@     if call ~= "load" and step.rows == 1 and layout.down > 1 then one[#one + 1] = "row" .. n .. " == 0" end
//@     if call ~= "load" and step.cols == 1 and layout.across > 1 then one[#one + 1] = "column" .. n .. " == 0" end
//@     for _, condition in ipairs(one) do
//@         inside = inside == "true" and condition or inside .. " && " .. condition
//@     end
//@     -- An instruction holds offsets of 31 bits, here from the beginning of a tile's vector on.
//@     if math.abs(near) >= 0x7fff0000 // bytes(dtype) then from, near = from .. " + " .. near .. "ll", 0 end
//@     near = near * bytes(dtype)
//@ end
//@ local const, pointer = call == "load" and "const " or "", moves and ctype(dtype) or ""
//@ local held = ""
//@ if call ~= "store" and call ~= "add" and call ~= "turn" then
//@     held = place.name .. (place.turns > 0 and "[turn]" or "")
//@     if place.rows // layout.down + more > 1 then held = held .. "[i]" end
//@     if place.cols // (layout.across * layout.vector) > 1 then held = held .. "[j]" end
//@     if not place.packed and place.cols > 1 and layout.vector > 1 then held = held .. "[e]" end
//@ end
//@ local own = moves and at_row ~= ""
//@ local head = call == "turn" and "transpose" or call
//@ local subject = moves and tensor.name or call == "turn" and "" or place.name
// ${head} ${subject}
{
    ${level0}
//@ if moves then
//@     if fixed and not columns and near ~= 0 then at_column = at_column .. " + " .. near // bytes(dtype) end
//@     if fixed then from = dtype .. "_same(" .. from .. ")" end
    ${const}${pointer} *const first = ${from};
//@ end
//@ if rows > 1 then
    #pragma unroll
    for (int i = 0; i < ${rows}; ++i) {
//@     deeper()
//@ end
//@ local spread = layout.apart > 1 and " + i * " .. layout.apart or " + i"
//@ if (text.row or call == "turn") and rows > 1 then
    const int row = row${n}${spread};
//@ elseif (text.row or call == "turn") then
    const int row = row${n};
//@ end
    ${level1}
//@ if own then
    ${const}${pointer} *const from = first${at_row};
//@ end
//@ local start = own and "from" or "first"
//@ if not columns then
//@     if call == "load" then
    ${held} = ${inside} ? element_${dtype}(*(${start}${at_column})) : 0;
//@     elseif call == "store" then
    if (${inside})
        *(${start}${at_column}) = to_${dtype}(${value});
//@     elseif call == "add" then
    if (${inside})
        add_${dtype}(${start}${at_column}, ${value});
//@     elseif call == "set" then
    ${held} = ${value};
//@     elseif call == "fold" then
//@         local name = step.reduction
//@         if inside ~= "true" then
    if (${inside})
        ${held} = fold_${name}(${held}, ${value});
//@         else
    ${held} = fold_${name}(${held}, ${value});
//@         end
//@     end
//@ else
//@     if vectors > 1 then
    #pragma unroll
    for (int j = 0; j < ${vectors}; ++j) {
//@         deeper()
//@     end
//@     local apart = layout.across * layout.vector
//@     local once = has(step, "once") and "_once" or fixed and "_near<" .. near .. ">" or ""
//@     local own = "column" .. n .. (vectors > 1 and " + j * " .. apart or "")
//@     if has(step, "shift") then
    ${dtype}_vector pair[2];
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int column = ${own} + half * ${vector} - ${step.shift};
        ${level2}
        pair[half] = ${dtype}_load${once}(${start}${at_column}, ${inside});
    }
    ${held} = ${dtype}_between(pair[0], pair[1], ${step.shift});
//@     else
//@         if text.column or call == "turn" or has(step, "partial") then
    const int column = ${own};
//@         end
    ${level2}
//@     end
//@     if call == "load" and not has(step, "shift") then
    ${held} = ${dtype}_load${once}(${start}${at_column}, ${inside});
//@     elseif call ~= "load" then
//@         local name = call == "store" and dtype or place.dtype
//@         local type = (name == "bf16" or name == "fp16" or name == "fp32") and "float" or "i64"
//@         local whole, partial = call == "store" or call == "turn", has(step, "partial")
//@         local kind = call == "turn" and place.dtype or dtype
//@         local joined = whole and kind .. "_join(part)" or ""
//@         local copies = call == "set" and place.packed
//@         local moved = whole and has(text, "whole") and text.whole_dtype == kind and not partial or copies
//@         if moved then
//@             joined = text.whole
//@         else
//@         if whole and vector > 1 then
    ${type} part[${vector}];
//@         end
//@         local folds = (call == "fold" or call == "add") and inside ~= "true" and not partial
//@         if folds then
    if (${inside}) {
//@             deeper()
//@         end
//@         if vector > 1 then
    #pragma unroll
    for (int e = 0; e < ${vector}; ++e) {
//@             deeper()
//@         end
    ${level3}
//@         if whole and vector > 1 then
    part[e] = ${value};
//@         elseif whole then
    const ${type} part[1] = {${value}};
//@         elseif call == "set" then
    ${held} = ${value};
//@         elseif call == "add" then
//@             local lane = vector > 1 and " + e" or ""
    add_${dtype}(${start}${at_column}${lane}, ${value});
//@         else
//@             local name = step.reduction
//@             if partial then
    if (${inside})
        ${held} = fold_${name}(${held}, ${value});
//@             else
    ${held} = fold_${name}(${held}, ${value});
//@             end
//@         end
//@         if vector > 1 then
//@             shallower()
    }
//@         end
//@         if folds then
//@             shallower()
    }
//@         end
//@         end
//@         if copies then
    ${held} = ${joined};
//@         end
//@         if call == "store" and has(step, "partial") then
//@             local first, last, before = text.first, text.last, inside == "true" and "" or inside .. " && "
    if (${before}column >= ${first} && column + ${vector} <= ${last}) {
        ${dtype}_store(${start}${at_column}, ${joined});
    } else {
        #pragma unroll
        for (int e = 0; e < ${vector}; ++e)
            if (${before}column + e >= ${first} && column + e < ${last})
                (${start}${at_column})[e] = to_${dtype}(part[e]);
    }
//@         elseif call == "store" and inside ~= "true" then
    if (${inside})
        ${dtype}_store(${start}${at_column}, ${joined});
//@         elseif call == "store" then
    ${dtype}_store(${start}${at_column}, ${joined});
//@         elseif call == "turn" and vector > 1 then
//@             local type = ctype(kind)
//@             local chunks, swap = step.cols // vector, 1
//@             while swap < 8 and chunks % (2 * swap) == 0 do swap = 2 * swap end
//@             local cols = step.cols
    ${type} *const to = (${type} *)(${base}) + row * ${cols};
    *(${kind}_vector *)(to + (column / ${vector} ^ row / ${vector} % ${swap}) * ${vector}) = ${joined};
//@         elseif call == "turn" then
//@             local type, pitch, element = ctype(kind), step.cols + 1, "to_" .. kind .. "(part[0])"
//@             if moved then element = joined .. ".word[0]" end
//@             if moved and kind == "fp32" then element = "__uint_as_float(" .. element .. ")" end
    ((${type} *)(${base}))[row * ${pitch} + column] = ${element};
//@         end
//@     end
//@     if vectors > 1 then
//@         shallower()
    }
//@     end
//@ end
//@ if rows > 1 then
//@     shallower()
    }
//@ end
}
