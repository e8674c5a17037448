//@ -- The steps of one role, in their order: every line that synchronises stands here for a step that was proved.
//@ --
//@ -- one_of: all threads of a role that one alone serves else: they wait, and share the rows that are brought by
//@ -- number. Fragments are walked by block (of 64 rows of a warpgroup, 16 of a warp), half (of a thread's two rows),
//@ -- pair (of neighbouring columns) and lane.
//@ param model table
//@ param role table
//@ param next_item text
//@ param blocks int
//@ param one_of bool
//@ local warps = model.mma[1].kind == "mma.sync"
//@ local stays = has(model, "memory") and model.memory.stays == 1
//@ -- Columns of a piece of sums that threads change where they are, in tensor memory; nil: they are in registers.
//@ local function piece_of(place)
//@     return has(model, "pieces") and has(model.pieces, place) and model.pieces[place] or nil
//@ end
//@ -- Where a place's columns begin.
//@ local function columns_of(place)
//@     local column, upper = model.column[place], 16 << 16
//@     if model.memory.crossed == 1 and column >= upper then return "sums.upper + " .. column - upper end
//@     return "sums.columns + " .. column
//@ end
//@ -- What the step computes takes sums from tensor memory.
//@ local function takes_sums(number)
//@     local takes = stays
//@     for _, name in ipairs(has(model, "pieces") and fragment_step(role.name, number).sums or {}) do
//@         takes = takes or piece_of(name) ~= nil
//@     end
//@     return takes
//@ end
//@ -- Who takes items in turn has all their rows: there is no part of them that is a consumer's own.
//@ local shared_loop = nil
//@ for i, step in ipairs(role.step) do if step.op == "loop" and has(step, "share") then shared_loop = i end end
//@ local own_part = shared_loop and "0" or "consumer"
//@ local in_parts = has(model, "parts") and has(model.parts, "stream") -- a block has some of an item's turns
//@ local function own_rows(between) return shared_loop and "" or between .. "(int)consumer * " .. 64 * blocks end
//@ -- An instruction of 128 rows gives each warp 32, which are two blocks; a chunk of a store has both.
//@ local all_lanes = has(model, "memory") and model.memory.wide == 1
//@ local of_warp, stacked = all_lanes and 32 or 16, all_lanes and 1 or blocks
//@ local height, across_warps = (warps or all_lanes) and 16 or 64, warps and model.pipeline.warps_n or 1
//@ -- The ring of what comes into the buffers that results leave by; nil: there is none, or this role does not read it.
//@ local source = nil
//@ for _, step in ipairs(role.step) do
//@     if step.op == "fill" and model.ring[step.ring].filler == "own" then source = step.ring end
//@ end
//@ -- The stage that a dot reads its operand from: of the read before it.
//@ local function stage_of(tensor, before)
//@     for i = before, 1, -1 do
//@         local step = role.step[i]
//@         if step.op == "read" and step.tensor == tensor then return step.ring .. "_stage" end
//@     end
//@ end
//@ local function begin_of(loop) return has(loop, "first") and loop.first or loop.from end
//@ local filled = false -- some items have nothing to store, as data say, and are not taken
//@ for _, a in ipairs(model.item) do filled = filled or has(a, "filled") end
//@ -- Its first value is computed once, in front of it: turns go down from there, or it takes statements to say.
//@ local function counted_from_first(loop)
//@     return has(loop, "first") or fragment_uniform("f", loop.from).at ~= ""
//@ end
//@ local function opt(step, field, fallback) return has(step, field) and step[field] or fallback end
//@ -- Where the item before left tiles in rings (all of as many stages), turns of the loop that fills them go round;
//@ -- nil: they do not, in this role.
//@ local round = nil
//@ for i, step in ipairs(role.step) do
//@     local at = opt(step, "reuse", 0) > 0 and i or 0
//@     while at > 0 and not (role.step[at].op == "loop" and has(role.step[at], "loop")) do at = at - 1 end
//@     if at > 0 then
//@         local turns = role.step[at]
//@         round = { stages = model.ring[step.ring].stages, turns = turns.call .. "_turns",
//@             name = model.loop[turns.loop + 1].name, axis = model.schedule.reuse }
//@     end
//@ end
//@ -- Rows by number into a stage, 16 bytes a thread: each finds the number of the row that it has a chunk of.
//@ local function fill_rows(step, at, threads, copy)
//@     local t, each, statements, list = model.tensor[step.tensor], at.rows, at.at, table.concat(at, ", ")
//@     local height = t.tile[t.gathered]
//@     local width = t.tile_bytes // height // 16
//@     local total, fill = height * width, step.ring .. "_fill"
//@     local passes = ceil_div(total, threads)
${statements}
#pragma unroll 4
for (int pass = 0; pass < ${passes}; ++pass) {
    const int chunk = (pass * ${threads} + threadIdx.x) % ${width}, row = (pass * ${threads} + threadIdx.x) / ${width};
    ${each}
//@     if total % threads ~= 0 then
    if (row < ${height})
        ${copy}(args, ${fill}, row, chunk, ${list});
//@     else
    ${copy}(args, ${fill}, row, chunk, ${list});
//@     end
}
//@ end
//@ local function is_limited(step) return has(model, "limited") and has(model.limited, step.tensor) end
//@ -- Where a tile is filled from, and how many of its rows are there: data may say any number of 64 bits.
//@ local function with_rows(step, at)
//@     local t = model.tensor[step.tensor]
//@     local rows = has(step, "end") and at[t.rank + 1] or "0x7fffffff"
//@     return table.concat(at, ", ", 1, t.rank) .. ", (int)max((i64)0, min((i64)(" .. rows .. "), (i64)0x7fffffff))"
//@ end
//@ local function ended(first)
//@     local depth, steps = 0, role.step
//@     for i = first, #steps do
//@         local op = steps[i].op
//@         if op == "loop" or op == "when" then depth = depth + 1
//@         elseif op == "end" then depth = depth - 1 end
//@         if depth == 0 then return i end
//@     end
//@ end
//@ -- What carries a value that a tensor of the dtype receives, and what it receives of the text of one.
//@ local function number_of(dtype) return dtype == "int32" and "int" or "float" end
//@ local function element_of(dtype, text)
//@     return dtype == "int32" and "(int)(" .. text .. ")" or "to_" .. dtype .. "(" .. text .. ")"
//@ end
//@ local function as_int(value) return tonumber(value) and value or "(int)" .. value end
//@ -- How often loops turn that turn as often in every item: once for all, or the compiler does it again in each turn.
//@ local function fixed_turns()
//@     for i, step in ipairs(role.step) do
//@         if step.op == "loop" and has(step, "loop") then
//@             local range = fragment_uniform("t" .. i .. "_", begin_of(model.loop[step.loop + 1]), step.node)
//@             if range.fixed then
//@                 local statements, turns, name = range.at, as_int(range[2]), step.call
${statements}
const int ${name}_turns = ${turns};
//@             end
//@         end
//@     end
//@ end
//@ -- What memory says of an item, and so how often its loops turn: read once.
//@ local function item_elements()
//@     local held = fragment_item(role.name)
//@     local statements = held.at
    ${statements}
//@     for _, element in ipairs(held) do
    const int ${element.name} = ${element.value};
//@     end
//@ end
//@ -- Whether the loop that begins at step i is one over chunks, in front of each of which another turns on.
//@ local function shares_turns(i) return i < #role.step and opt(role.step[i + 1], "part", 0) > 0 end
//@ -- The variables of the loops right inside of the one that begins at `first`. A loop in a loop of the same variable
//@ -- counts it on.
//@ local function variables(first)
//@     local open, seen, steps = {}, {}, role.step
//@     local own = has(steps[first], "loop") and model.loop[steps[first].loop + 1].name or ""
//@     for i = first + 1, ended(first) - 1 do
//@         local step = steps[i]
//@         local op = step.op
//@         local name = op == "loop" and has(step, "loop") and model.loop[step.loop + 1].name or ""
//@         local right = name ~= "" and name ~= own
//@         for k = 1, right and #open or 0 do
//@             right = right and (open[k] == "when" or open[k] == "shares" or open[k] == name)
//@         end
//@         if right then
//@             local range = fragment_uniform("t" .. i .. "_", begin_of(model.loop[step.loop + 1]), step.node)
//@             local statements, from, turns, call = range.at, range[1], as_int(range[2]), step.call
//@             if not range.fixed then
    ${statements}
//@             end
//@             if not has(seen, name) then
//@                 seen[name] = true
//@                 if counted_from_first(model.loop[step.loop + 1]) then
//@                     local start = as_int(from)
    const int ${name}_first = ${start};
//@                     from = name .. "_first"
//@                 end
    [[maybe_unused]] int ${name} = ${from};
    int ${name}_turn = 0;
//@             end
//@             if not range.fixed and in_parts and role.name == "consumer" then
    const int ${call}_turns = __shfl_sync(~0u, ${turns}, 0); // one for the warp, as the compiler now knows
//@             elseif not range.fixed then
    const int ${call}_turns = ${turns};
//@             end
//@         end
//@         if op == "loop" and shares_turns(i) then open[#open + 1] = "shares"
//@         elseif op == "loop" or op == "when" then open[#open + 1] = name == "" and op or name
//@         elseif op == "end" then open[#open] = nil end
//@     end
//@ end
//@ -- Two values become what the operand has of a pair of columns; so many blocks deep.
//@ local function put(place, depth)
//@     for _ = 1, depth do deeper() end
//@     if place.dtype == "fp8_e4m3" or place.dtype == "fp8_e5m2" then
//@         local low, high = "[block][pair / 4 * 4 + half]", "[block][pair / 4 * 4 + 2 + half]"
put_${place.dtype}(exchange, ${place.name}${low}, ${place.name}${high}, pair % 4, value[0], value[1]);
//@     else
${place.name}[block][pair * 2 + half] = pack_${place.dtype}(value[0], value[1]);
//@     end
//@     for _ = 1, depth do shallower() end
//@ end
//@ -- A step's arithmetic into its place, element by element.
//@ local function evaluate(step, number)
//@     local text, place = fragment_step(role.name, number), model.place[step.place]
//@     local rows, elements, value, kind = text.at[2], text.at[3], text.value, place.kind
//@     local uniform, pairs = text.at[1], place.cols // 8 // across_warps
//@     -- A step that is of one block alone, of rows or of columns, computes that one.
//@     local across = has(step, "cols") and has(step, "block") and step.cols // 8 or 0
//@     local block, end_block = opt(step, "block", 0), has(step, "block") and step.block + 1 or blocks
//@     local first, end_pair = across * block * 2, across > 0 and across * end_block or pairs
//@     if across > 0 then block, end_block = 0, blocks end
//@     local first_sum = first * 2
//@     local given = has(model, "given") and has(model.given, place.name)
//@     if uniform ~= "" or given then
{
    ${uniform}
//@         deeper()
//@     end
//@     if given then
//@         local each = place.registers // blocks
u32 ${place.name}[${blocks}][${each}];
//@     end
//@     if kind == "columns" then
#pragma unroll
for (int i = 0; i < ${place.registers}; ++i) {
//@         if text.column then
    const int column = i * 32 + (int)(threadIdx.x % 32);
//@         end
    ${rows}
    ${elements}
    ${place.name}[i] = ${value};
}
//@     elseif text.shuffled then
// Column by column: what another lane holds of one is held here for as long as both rows take it.
#pragma unroll
for (int block = ${block}; block < ${end_block}; ++block)
    #pragma unroll
    for (int part = ${first}; part < ${end_pair} * 2; ++part) {
        const int pair = part / 2, half = part % 2;
//@         if text.row then
        const int row = first_row + block * ${height} + half * 8;
//@         end
        ${rows}
        float value[2];
        #pragma unroll
        for (int lane = 0; lane < 2; ++lane) {
//@         if text.column then
            const int column = pair * 8 + first_column + lane;
//@         end
            ${elements}
            value[lane] = ${value};
        }
//@         if kind == "operand" then
//@             put(place, 2)
//@         else
        ${place.name}[block][pair * 4 + half * 2] = value[0];
        ${place.name}[block][pair * 4 + half * 2 + 1] = value[1];
//@         end
    }
//@     else
#pragma unroll
for (int block = ${block}; block < ${end_block}; ++block)
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
//@     if text.row then
        const int row = first_row + block * ${height} + half * 8;
//@     end
        ${rows}
//@     if kind == "rows" then
        ${place.name}[block][half] = ${value};
    }
//@     else
//@         if kind == "operand" then
        #pragma unroll
        for (int pair = 0; pair < ${pairs}; ++pair) {
            float value[2];
            #pragma unroll
            for (int lane = 0; lane < 2; ++lane) {
//@             if text.column then
                const int column = pair * 8 + first_column + lane;
//@             end
                ${elements}
                value[lane] = ${value};
            }
//@             put(place, 3)
        }
//@         else
        #pragma unroll
        for (int i = ${first}; i < ${end_pair} * 2; ++i) {
            const int pair = i / 2, lane = i % 2;
//@             if text.column then
            const int column = pair * 8 + first_column + lane;
//@             end
            ${elements}
            ${place.name}[block][pair * 4 + half * 2 + lane] = ${value};
        }
//@         end
    }
//@     end
//@     end
//@     local waits = number < #role.step and role.step[number + 1].op == "mma_wait"
//@     if (text.copy or waits) and kind == "accumulator" and not warps then
//@         local bound = ctype(place.dtype) == "int" and "+r" or "+f"
//@     -- Else the compiler takes the other's registers until the wgmma, and moves them behind its fence; or moves the
//@     -- arithmetic behind the wait that follows.
#pragma unroll
for (int block = ${block}; block < ${end_block}; ++block)
    #pragma unroll
    for (int i = ${first_sum}; i < ${end_pair} * 4; ++i)
        asm volatile("" : "${bound}"(${place.name}[block][i]));
//@     end
//@     if given then
${place.name}_put(sums, ${place.name});
//@     end
//@     if uniform ~= "" or given then
//@         shallower()
}
//@     end
//@ end
//@ -- That of sums in tensor memory, piece by piece.
//@ local function evaluate_pieces(step, number)
//@     local text, place = fragment_step(role.name, number, "chunk"), model.place[step.place]
//@     local rows, elements, value, uniform, name = text.at[2], text.at[3], text.value, text.at[1], step.place
//@     local width, type = piece_of(name), ctype(place.dtype)
//@     local across, pairs, count = place.cols // width, width // 8, width // 2
{
    ${uniform}
    #pragma unroll
    for (int piece = 0; piece < ${blocks} * ${across}; ++piece) {
        [[maybe_unused]] const int block = piece / ${across}, first_pair = piece % ${across} * ${pairs};
        ${type} ${name}_chunk[${count}];
//@     if #text.sums > 0 then
        ${name}_take(sums, block, first_pair, ${name}_chunk);
//@     end
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
//@     if text.row then
            const int row = first_row + block * ${height} + half * 8;
//@     end
            ${rows}
            #pragma unroll
            for (int i = 0; i < ${pairs}; ++i)
                #pragma unroll
                for (int lane = 0; lane < 2; ++lane) {
                    [[maybe_unused]] const int pair = first_pair + i;
//@     if text.column then
                    const int column = pair * 8 + first_column + lane;
//@     end
                    ${elements}
                    ${name}_chunk[i * 4 + half * 2 + lane] = ${value};
                }
        }
        ${name}_give(sums, block, first_pair, ${name}_chunk);
    }
    sums_given();
}
//@ end
//@ -- Along rows: what a thread holds, then ("fold": not yet) the four lanes that share the row.
//@ local function reduce(step, number)
//@     local text, place = fragment_step(role.name, number), model.place[step.place]
//@     local rows, elements, value, uniform = text.at[2], text.at[3], text.value, text.at[1]
//@     local pairs = step.cols // 8
//@     local function joined(a, b)
//@         if step.reduction == "sum" then return a .. " + " .. b end
//@         return (step.reduction == "max" and "fmaxf(" or "fminf(") .. a .. ", " .. b .. ")"
//@     end
//@     local next, both = joined("total[lane]", value), joined("total[0]", "total[1]")
//@     if uniform ~= "" then
{
    ${uniform}
//@         deeper()
//@     end
#pragma unroll
for (int block = 0; block < ${blocks}; ++block)
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
//@     if text.row then
        const int row = first_row + block * ${height} + half * 8;
//@     end
        float total[2];
        ${rows}
        #pragma unroll
        for (int i = 0; i < ${pairs} * 2; ++i) {
            const int pair = i / 2, lane = i % 2;
//@     if text.column then
            const int column = pair * 8 + first_column + lane;
//@     end
            ${elements}
            total[lane] = pair == 0 ? ${value} : ${next};
        }
//@     if step.call == "fold" then
        ${place.name}[block][half] = ${both};
//@     else
        float whole = ${both};
//@         for _, distance in ipairs { 1, 2 } do
//@             local other = joined("whole", "__shfl_xor_sync(~0u, whole, " .. distance .. ")")
        whole = ${other};
//@         end
        ${place.name}[block][half] = whole;
//@     end
    }
//@     if uniform ~= "" then
//@         shallower()
}
//@     end
//@ end
//@ -- Weights of fp8 take shuffles on their way to the products with V, which leave no time behind the wait for more:
//@ -- sums of a row that stand right in front of it are computed while the products run. Of 16 bits it is quicker where
//@ -- the compiler has its way, and waits first.
//@ local function is_held(wait)
//@     local step, fp8 = role.step[wait - 1], false
//@     if wait == 1 or warps or step.op ~= "touch" or step.call ~= "fold" then return false end
//@     for _, place in ipairs(model.place) do
//@         fp8 = fp8 or place.kind == "operand" and (place.dtype == "fp8_e4m3" or place.dtype == "fp8_e5m2")
//@     end
//@     return fp8
//@ end
//@ local function hold(wait)
//@     if not is_held(wait) then return end
//@     local place, sums = role.step[wait - 1].place, {}
//@     for block = 0, blocks - 1 do
//@         sums[#sums + 1] = place .. "[" .. block .. "][0] + " .. place .. "[" .. block .. "][1]"
//@     end
//@     local all = table.concat(sums, " + ")
mma_hold(${all});
//@ end
//@ local function lanes(step)
#pragma unroll
for (int block = 0; block < ${blocks}; ++block)
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
        ${step.place}[block][half] += __shfl_xor_sync(~0u, ${step.place}[block][half], 1);
        ${step.place}[block][half] += __shfl_xor_sync(~0u, ${step.place}[block][half], 2);
    }
//@ end
//@ -- A part of what a loop carries goes, and comes, as far as a thread has rows that there are.
//@ local part_words = { parts_put = "_put", parts_take = "_take", parts_first = "_get", parts_next = "_get" }
//@ local function rows_kept(step, number)
//@     local text = fragment_uniform("k" .. number .. "_", step.inside)
//@     local uniform, rows, inside = text.at, text.rows, text[1]
${uniform}
#pragma unroll
for (int block = 0; block < ${blocks}; ++block) {
    rows[block] = false;
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int row = first_row + block * ${height} + half * 8;
        ${rows}
        rows[block] = rows[block] || ${inside};
    }
}
//@ end
//@ -- Columns of a chunk of a store.
//@ local function chunk_columns(t)
//@     if model.turned[t.name] == 0 then return t.tile[t.rank] end
//@     for d = 1, t.rank - 1 do if t.tile[d] > 1 then return t.tile[d] end end
//@ end
//@ -- A step that packs results for later, or says where they belong; and the chunks of them that the place holds.
//@ local function is_late(step)
//@     return step.op == "touch" and has(step, "place") and model.place[step.place].kind == "late"
//@ end
//@ local function late_chunks(place)
//@     for _, step in ipairs(role.step) do
//@         if is_late(step) and step.place == place and step.call == "hold" then return step.count end
//@     end
//@ end
//@ -- Of a store whose chunks are not unrolled: its arithmetic then stands in the code once, and a few moves choose
//@ -- what it takes.
//@ local function is_long(first)
//@     for i = first, ended(first) do
//@         if role.step[i].op == "write" then return takes_sums(i) or fragment_step(role.name, i).long end
//@     end
//@ end
//@ -- Where a read is: its places by dim, that of its columns so much further than the thread's first.
//@ local function places_of(read, further)
//@     local list = {}
//@     for d, place in ipairs(read.at) do
//@         list[d] = d == read.columns and place .. further .. " + first_column" or place
//@     end
//@     return csv(list)
//@ end
//@ -- What a chunk reads of a tensor into registers: from `row` rows and `column` columns further than the first chunk.
//@ local function read_chunk(read, into, pairs, rows, row, column)
//@     local tensor, guard, halves = read.tensor, has(read, "guard") and read.guard or "true", read.by_row and 2 or 1
//@     local list = places_of(read, column)
#pragma unroll
for (int half = 0; half < ${halves}; ++half) {
//@     if read.by_row or guard ~= "true" then
    const int row = first_row${row} + half * 8;
//@     end
//@     if guard ~= "true" then
    ${rows}
//@     end
    const ${tensor}_line line = ${tensor}_from(args, ${list}, ${guard});
    #pragma unroll
    for (int i = 0; i < ${pairs}; ++i)
        ${into}[half][i] = ${tensor}_read(line, i * 8);
}
//@ end
//@ -- A step that reads for a store: `number` is its own, of the chunk behind that of the loop around it, or of the
//@ -- first.
//@ local function read_ahead(step, number)
//@     local text, pairs = fragment_step(role.name, number, "chunk"), model.place[step.place].cols // 8
//@     local uniform, rows, further, row, column = text.at[1], text.at[2], opt(step, "ahead", 0), "", ""
//@     if further > 0 then
//@         local at = number
//@         while role.step[at].op ~= "loop" do at = at - 1 end
//@         local across, last = role.step[at].count // blocks, role.step[at].count - further
//@         row = blocks > 1 and " + next / " .. across .. " * " .. height or ""
//@         column = " + next" .. (blocks > 1 and " % " .. across or "") .. " * " .. pairs * 8
if (chunk < ${last}) {
    const int next = chunk + ${further};
//@     else
{
    ${uniform}
//@     end
//@     for _, r in ipairs(text.reads) do
//@         if r.tensor == step.tensor then
//@             deeper()
//@             read_chunk(r, step.place, pairs, rows, row, column)
//@             shallower()
//@         end
//@     end
}
//@ end
//@ -- The elements that a step reads into a place of rows: of each row, or one for all. `first` finds where they begin.
//@ local function read_rows(step, at)
//@     local tensor, place, others, by_row = step.tensor, step.place, {}, at.rows ~= ""
//@     local first, uniform, rows, index = step.call == tensor .. "_first", at.at, at.rows, at[step.count]
//@     for d = 1, model.tensor[tensor].rank do
//@         by_row = by_row or at[d] == "row"
//@         if d ~= step.count then others[#others + 1] = at[d] end
//@     end
//@     local list, begin = csv(others), place .. (by_row and "_begin[block][half]" or "_begin[0][0]")
{
    ${uniform}
//@     if not by_row then
//@         if first then
    ${begin} = ${tensor}_begin(args, ${list});
//@         end
    const float element = ${tensor}_along(args, ${begin}, ${index});
//@     end
    #pragma unroll
    for (int block = 0; block < ${blocks}; ++block)
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
//@     if by_row then
            [[maybe_unused]] const int row = first_row + block * ${height} + half * 8;
            ${rows}
//@         if first then
            ${begin} = ${tensor}_begin(args, ${list});
//@         end
            ${place}[block][half] = ${tensor}_along(args, ${begin}, ${index});
//@     else
            ${place}[block][half] = element;
//@     end
        }
}
//@ end
//@ -- Of the loop of chunks around step `number`: by tensor the registers that hold what was read ahead.
//@ local function reads_ahead(number)
//@     local held_in = {}
//@     while role.step[number].op ~= "loop" do
//@         local step = role.step[number]
//@         local reads = step.op == "global" or step.op == "read"
//@         if reads and has(step, "place") then held_in[step.tensor] = step.place end
//@         number = number - 1
//@     end
//@     return held_in
//@ end
//@ -- Where that stands which all rows read of a tensor, for all chunks of a late store of t; nil: it is read by chunk.
//@ local function read_for_all(tensor, t, width)
//@     for _, step in ipairs(role.step) do
//@         local place = step.op == "global" and step.tensor == tensor and has(step, "place") and step.place
//@         if place == tensor .. "_for_" .. t.name and model.place[place].cols > width then return place end
//@     end
//@ end
//@ -- What a chunk takes of sums that stay in tensor memory.
//@ local function take_sums(text, width)
//@     for _, name in ipairs(text.sums) do
//@         local type, count = ctype(model.place[name].dtype), width // 2
${type} ${name}_chunk[${count}];
//@         local there = piece_of(name) and "" or name .. "_flies, "
${name}_take(sums, ${there}block, first_pair, ${name}_chunk);
//@     end
//@ end
//@ -- One chunk of a store of t: 64 rows and a box's columns. into: registers that hold it; else they are its own.
//@ local function part(t, number, count, into)
//@     local stays = takes_sums(number)
//@     local long = count > 1 and not stays and fragment_step(role.name, number).long
//@     local text = fragment_step(role.name, number, (long or stays) and "chunk" or "")
//@     local width, rows, elements, value, uniform = chunk_columns(t), text.at[2], text.at[3], text.value, text.at[1]
//@     local pairs, wide, across, carrier = width // 8, bytes(t.dtype) == 4, count // blocks, number_of(t.dtype)
//@     local type, words = wide and carrier or "u32", wide and width // 2 or width // 4
${uniform}
//@     local to = into or all_lanes and "part[block]" or "part"
//@     if all_lanes then
${type} part[${blocks}][${words}];
#pragma unroll
for (int block = 0; block < ${blocks}; ++block) {
//@         deeper()
//@     end
//@     -- All reads are on their way before the first is waited for; what does not depend on the row is read once.
//@     local held_in = (count > 1 or source) and reads_ahead(number) or {}
//@     for _, r in ipairs(text.reads) do
//@         local early = r.tensor .. "_early"
//@         held_in[r.tensor] = held_in[r.tensor] or read_for_all(r.tensor, t, width)
//@         if not held_in[r.tensor] then
//@             local tensor, halves = r.tensor, r.by_row and 2 or 1
${tensor}_two ${early}[${halves}][${pairs}];
//@             read_chunk(r, early, pairs, rows, " + block * " .. height, " + first_pair * 8")
//@             held_in[r.tensor] = early
//@         end
//@     end
//@     if stays then take_sums(text, width) end
//@     if long then
//@         local name, each, held = text.place, width // 2, across * width // 2
//@         local sums = ctype(model.place[name].dtype)
${sums} ${name}_chunk[${each}];
const auto ${name}_take = [&](const ${sums} (&from)[${held}], int first) {
    #pragma unroll
    for (int i = 0; i < ${each}; ++i)
        ${name}_chunk[i] = from[first + i];
};
switch (chunk) { // and not a choice for each register
//@         for c = 0, count - 1 do
//@             local when = c < count - 1 and "case " .. c or "default"
//@             local from = c // across .. "], " .. c % across * each
${when}: ${name}_take(${name}[${from}); break;
//@         end
}
//@     end
//@     if not into and not all_lanes then
${type} part[${words}];
//@     end
#pragma unroll
for (int half = 0; half < 2; ++half) {
//@     if text.row then
    [[maybe_unused]] const int row = first_row + block * ${height} + half * 8;
//@     end
    ${rows}
    #pragma unroll
    for (int i = 0; i < ${pairs}; ++i) {
        [[maybe_unused]] const int pair = first_pair + i;
        ${carrier} value[2];
//@     for _, r in ipairs(text.reads) do
//@         local tensor, half, early = r.tensor, r.by_row and "half" or "0", held_in[r.tensor]
//@         local all = has(model.place, early) and model.place[early].cols > width
//@         local which = all and "pair" or "i"
        float ${tensor}_pair[2];
        ${tensor}_split(${early}[${half}][${which}], ${tensor}_pair);
//@     end
        #pragma unroll
        for (int lane = 0; lane < 2; ++lane) {
//@     if text.column then
            const int column = pair * 8 + first_column + lane;
//@     end
            ${elements}
            value[lane] = ${value};
        }
//@     if wide then
        ${to}[i * 4 + half * 2] = value[0];
        ${to}[i * 4 + half * 2 + 1] = value[1];
//@     else
        ${to}[i * 2 + half] = pack_${t.dtype}(value[0], value[1]);
//@     end
    }
}
//@     if all_lanes then
//@         shallower()
}
//@     end
//@ end
//@ -- An element of global memory, at a text of its address, is written or added to.
//@ local function put(step, at, element)
//@     return opt(step, "adds", false) and "add_fp32(" .. at .. ", " .. element .. ")" or "*" .. at .. " = " .. element
//@ end
//@ -- That of a tensor.
//@ local function put_at(step, base, place, element)
//@     if opt(step, "adds", false) then return put(step, base .. " + (" .. place .. ")", element) end
//@     return base .. "[" .. place .. "] = " .. element
//@ end
//@ -- Straight to global memory.
//@ local function address(step, text)
//@     local t, index = model.tensor[step.tensor], {}
//@     local base, from = slice(t, text.coordinate[1])
//@     for d = from, t.rank do
//@         local stride = d < t.rank and " * args." .. t.name .. "_stride" .. d - 1 or ""
//@         index[#index + 1] = "(i64)" .. text.coordinate[d] .. stride
//@     end
//@     return base, table.concat(index, " + "), has(text, "inside") and text.inside or "true"
//@ end
//@ -- Values of rows: the first of a row's four lanes has them.
//@ local function global_rows(step, number)
//@     local t, text = model.tensor[step.tensor], fragment_step(role.name, number)
//@     local uniform, rows, elements, value = text.at[1], text.at[2], text.at[3], text.value
//@     local base, place, guard = address(step, text)
//@     local put_element = put_at(step, base, place, element_of(t.dtype, value))
{
    ${uniform}
    #pragma unroll
    for (int block = 0; block < ${blocks}; ++block)
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = first_row + block * ${height} + half * 8;
            ${rows}
            if (first_column == 0 && ${guard})
                ${put_element};
        }
}
//@ end
//@ -- Tiles: a warp's 16 rows, some columns at a time, go through shared memory, so that neighbouring lanes write
//@ -- neighbouring elements.
//@ local function global(step, number)
//@     local t, region = model.tensor[step.tensor], model.shared.rows
//@     -- Arithmetic on one tile alone stands behind its way through shared memory, once.
//@     local held, stays = has(fragment_step(role.name, number, "value"), "place"), takes_sums(number)
//@     local text = fragment_step(role.name, number, held and "held" or stays and "chunk" or "value")
//@     local where, from = fragment_step(role.name, number, "place"), held and text.place or ""
//@     local uniform, rows, elements, value = text.at[1], text.at[2], text.at[3], text.value
//@     local p_uniform, p_rows, p_elements = where.at[1], where.at[2], where.at[3]
//@     local base, place, guard = address(step, where)
//@     local columns = model.store_columns
//@     local across, stride, pairs = step.cols // columns, columns + 1, columns // 8
//@     local warp_bytes = 16 * stride * 4
//@     local turned = model.turned[t.name] == 1
//@     local sums = held and ctype(model.place[from].dtype) or number_of(t.dtype)
//@     local y, x = turned and "i % 16" or "i / " .. columns, turned and "i / 16" or "i % " .. columns
//@     local element = element_of(t.dtype, held and value or "staged[(" .. y .. ") * " .. stride .. " + " .. x .. "]")
//@     local put_element = put_at(step, base, place, element)
{
    const u32 warp_of = threadIdx.x / 32 - ${role.first_warp};
    ${sums} *staged = (${sums} *)(shared_memory + ${region.offset} + warp_of * ${warp_bytes});
//@     if shared_loop then
    const int warp_row = threadIdx.x % 128 / 32 * ${of_warp};
//@     else
    const int warp_row = (int)consumer * ${blocks} * 64 + threadIdx.x % 128 / 32 * ${of_warp};
//@     end
    ${uniform}
    ${p_uniform}
    #pragma unroll
    for (int part = 0; part < ${blocks} * ${across}; ++part) {
        const int block = part / ${across}, first_pair = part % ${across} * ${pairs};
//@     if stays then
//@         deeper()
//@         deeper()
//@         take_sums(text, columns)
//@         shallower()
//@         shallower()
//@     end
//@     local kept = stays and "_chunk[i * 4 + e]" or "[block][(first_pair + i) * 4 + e]"
//@     if held then
        #pragma unroll
        for (int i = 0; i < ${pairs}; ++i)
            #pragma unroll
            for (int e = 0; e < 4; ++e)
                staged[(threadIdx.x % 32 / 4 + e / 2 * 8) * ${stride} + i * 8 + first_column + e % 2] =
                    ${from}${kept};
//@     else
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
//@     if text.row then
            const int row = first_row + block * ${height} + half * 8;
//@     end
            ${rows}
            #pragma unroll
            for (int i = 0; i < ${pairs}; ++i)
                #pragma unroll
                for (int lane = 0; lane < 2; ++lane) {
                    const int pair = first_pair + i;
//@     if text.column then
                    const int column = pair * 8 + first_column + lane;
//@     end
                    ${elements}
                    staged[(threadIdx.x % 32 / 4 + half * 8) * ${stride} + i * 8 + first_column + lane] = ${value};
                }
        }
//@     end
        __syncwarp();
        #pragma unroll 1
        for (int i = threadIdx.x % 32; i < 16 * ${columns}; i += 32) {
            const int row = warp_row + block * ${height} + ${y}, column = first_pair * 8 + ${x};
            ${p_rows}
            ${p_elements}
            if (${guard}) {
//@     if held then
                const ${sums} held = staged[(${y}) * ${stride} + ${x}];
                ${rows}
                ${elements}
//@     end
                ${put_element};
            }
        }
        __syncwarp();
    }
}
//@ end
//@ -- Tiles, from registers: what the text of the step that stores one takes.
//@ local function output_of(number)
//@     local step, where = role.step[number], fragment_step(role.name, number, "place")
//@     local only = warps and has(fragment_step(role.name, number, "value"), "place")
//@     local text = fragment_step(role.name, number, only and "part" or "value")
//@     local parts = only and has(model, "store_parts") and model.store_parts or 1
//@     local base, place, guard = address(step, where)
//@     return { number = number, step = step, t = model.tensor[step.tensor], only = only, text = text,
//@         base = base, place = place, guard = guard, pairs = step.cols // 8 // across_warps // parts, parts = parts,
//@         uniform = text.at[1], rows = text.at[2], p_uniform = where.at[1], p_rows = where.at[2],
//@         p_elements = where.at[3] }
//@ end
//@ -- That of step `number` and of those right behind it that store of the same sums.
//@ local function outputs_from(number)
//@     local list = { output_of(number) }
//@     for i = number + 1, #role.step do
//@         local step = role.step[i]
//@         local stores = step.op == "global" and not has(step, "place") and step.cols > 1
//@         if not stores and (step.op ~= "touch" or has(step, "call")) then break end
//@         if stores then
//@             local other = output_of(i)
//@             if not list[1].only or not other.only or other.text.place ~= list[1].text.place then break end
//@             list[#list + 1] = other
//@         end
//@     end
//@     return list
//@ end
//@ -- What `o` reads of a slab and `held` does not have: how, by tensor.
//@ local function read_slab(o, held)
//@     for _, r in ipairs(o.text.reads) do
//@         local along = o.parts > 1 and " + (first_pair + pair) * 8" or " + pair * 8"
//@         if o.piece then along = " + (first_pair + pair) * 8" end
//@         local list, needed = places_of(r, along), has(r, "guard") and r.guard or "true"
//@         local tensor, pairs = r.tensor, o.pairs
//@         if not has(held, tensor) or held[tensor] ~= list .. " " .. needed then
${tensor}_two ${tensor}_early[${pairs}];
#pragma unroll
for (int pair = 0; pair < ${pairs}; ++pair)
    ${tensor}_early[pair] = ${tensor}_read(args, ${list}, ${needed});
//@             held[tensor] = list .. " " .. needed
//@         end
//@     end
//@ end
//@ local function of_column(node)
//@     local n = model.fused[node + 1]
//@     local of = n.op == "COLUMN" or n.op == "ACC" or n.op == "INDEX" and n.of ~= "warp"
//@     for _, key in ipairs { "arg", "index" } do
//@         for k = 1, has(n, key) and #n[key] or 0 do of = of or of_column(n[key][k]) end
//@     end
//@     return of
//@ end
//@ -- The columns of a row lie in memory one behind the other, and all or none of them are inside.
//@ local function is_line(o)
//@     local step, rank, width = o.step, o.t.rank, bytes(o.t.dtype)
//@     local plain = not o.only and model.turned[o.t.name] ~= 1 and not opt(step, "adds", false)
//@     if not plain or (width ~= 2 and width ~= 4) then return false end
//@     if has(step, "inside") and of_column(step.inside) then return false end
//@     for d = 1, rank - 1 do
//@         if of_column(step.at[d]) then return false end
//@     end
//@     local node = step.at[rank]
//@     while model.fused[node + 1].op == "ADD" do
//@         local arg = model.fused[node + 1].arg
//@         local first, second = of_column(arg[1]), of_column(arg[2])
//@         if first == second then return false end
//@         node = arg[first and 1 or 2]
//@     end
//@     return model.fused[node + 1].op == "COLUMN"
//@ end
//@ -- Such a row: where it begins takes products of 64 bits, which behind a condition each pair would do again.
//@ local function write_line(o)
//@     local t, text, type, carrier, word = o.t, o.text, ctype(o.t.dtype), number_of(o.t.dtype), 2 * bytes(o.t.dtype)
//@     local p_elements, elements, value, i = o.p_elements, text.at[3], text.value, o.piece and "i" or "pair"
//@     local short, head = bytes(t.dtype) == 2, o.guard == "true" and "" or "if (" .. o.guard .. ") "
${head}{
    ${type} *line;
    {
        const int column = first_column;
        ${p_elements}
        line = ${o.base} + (${o.place});
    }
//@     if short then
    u32 both[${o.pairs}];
//@     else
    const bool words = (u64)line % ${word} == 0;
//@     end
    #pragma unroll
    for (int ${i} = 0; ${i} < ${o.pairs}; ++${i}) {
//@     if o.piece then
        const int pair = first_pair + i;
//@     end
        ${carrier} value[2];
//@     for _, r in ipairs(text.reads) do
//@         local tensor = r.tensor
        float ${tensor}_pair[2];
        ${tensor}_split(${tensor}_early[${i}], ${tensor}_pair);
//@     end
        #pragma unroll
        for (int lane = 0; lane < 2; ++lane) {
//@     if text.column then
            const int column = pair * 8 + first_column + lane;
//@     end
            ${elements}
            value[lane] = ${value};
        }
//@     if short then
        both[${i}] = pack_${t.dtype}(value[0], value[1]);
//@     else
        if (words) {
            *(${carrier}2 *)(line + pair * 8) = make_${carrier}2(value[0], value[1]);
            continue;
        }
        line[pair * 8] = value[0];
        line[pair * 8 + 1] = value[1];
//@     end
    }
//@     if short then
//@         local at = o.piece and "(first_pair + i) * 8" or "pair * 8"
    if ((u64)line % ${word} == 0) {
        #pragma unroll
        for (int ${i} = 0; ${i} < ${o.pairs}; ++${i})
            *(u32 *)(line + ${at}) = both[${i}];
    } else {
        #pragma unroll
        for (int ${i} = 0; ${i} < ${o.pairs}; ++${i}) {
            line[${at}] = (u16)both[${i}];
            line[${at} + 1] = (u16)(both[${i}] >> 16);
        }
    }
//@     end
}
//@ end
//@ -- Two neighbours of a row go as one word where both are inside and their address allows it.
//@ local function write_slab(o)
//@     if is_line(o) then
//@         write_line(o)
//@         return
//@     end
//@     local t, text, turned, word = o.t, o.text, model.turned[o.t.name] == 1, 2 * bytes(o.t.dtype)
//@     local carrier = number_of(t.dtype)
//@     local first = put(o.step, "at[0]", element_of(t.dtype, "value[0]"))
//@     local second = put(o.step, "at[1]", element_of(t.dtype, "value[1]"))
//@     local p_elements, elements, value = o.p_elements, text.at[3], text.value
//@     -- A tensor that is named first has a first_pair of its own in here.
//@     local column = (o.parts > 1 and "number" or "pair") .. " * 8 + first_column + lane"
//@     local i = o.piece and "i" or "pair"
#pragma unroll
for (int ${i} = 0; ${i} < ${o.pairs}; ++${i}) {
//@     if o.parts > 1 then
    const int number = first_pair + pair;
//@     elseif o.piece then
    const int pair = first_pair + i;
//@     end
    ${ctype(t.dtype)} *at[2];
    bool inside[2];
    ${carrier} value[2];
    #pragma unroll
    for (int lane = 0; lane < 2; ++lane) {
        const int column = ${column};
        ${p_elements}
        inside[lane] = ${o.guard};
        at[lane] = ${o.base} + (${o.place});
    }
    if (!inside[0] && !inside[1])
        continue;
//@     for _, r in ipairs(text.reads) do
//@         local tensor = r.tensor
    float ${tensor}_pair[2];
    ${tensor}_split(${tensor}_early[${i}], ${tensor}_pair);
//@     end
    #pragma unroll
    for (int lane = 0; lane < 2; ++lane) {
//@     if text.column then
        const int column = ${column};
//@     end
        ${elements}
        value[lane] = ${value};
    }
//@     if not turned and not opt(o.step, "adds", false) then
    if (inside[0] && inside[1] && (u64)at[0] % ${word} == 0) {
//@         if bytes(t.dtype) == 4 then
        *(${carrier}2 *)at[0] = make_${carrier}2(value[0], value[1]);
//@         else
        *(u32 *)at[0] = pack_${t.dtype}(value[0], value[1]);
//@         end
        continue;
    }
//@     end
    if (inside[0])
        ${first};
    if (inside[1])
        ${second};
}
//@ end
//@ -- An output of sums in tensor memory, a piece of them at a time.
//@ local function fragments_of_pieces(number)
//@     local o = output_of(number)
//@     local text, name = fragment_step(role.name, number, "chunk"), o.text.sums[1]
//@     local width, type = piece_of(name), ctype(model.place[name].dtype)
//@     local across, count, pairs = o.pairs * 8 // width, width // 2, width // 8
//@     o.text, o.piece, o.pairs, o.uniform, o.rows = text, width, pairs, text.at[1], text.at[2]
{
    ${o.uniform}
    ${o.p_uniform}
    #pragma unroll
    for (int piece = 0; piece < ${blocks} * ${across}; ++piece) {
        const int block = piece / ${across}, first_pair = piece % ${across} * ${pairs};
        ${type} ${name}_chunk[${count}];
        __syncwarp(); // lanes differ in what they have written
        ${name}_take(sums, block, first_pair, ${name}_chunk);
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = first_row + block * ${height} + half * 8;
            ${o.p_rows}
            ${o.rows}
//@     deeper()
//@     deeper()
//@     deeper()
//@     read_slab(o, {})
//@     write_slab(o)
//@     shallower()
//@     shallower()
//@     shallower()
        }
    }
}
//@ end
//@ -- All outputs of the same sums a slab at a time: it is chosen once, and so is what they read read once.
//@ local function fragments(outputs)
//@     local o = outputs[1]
//@     local slabs = 2 * blocks * o.parts
{
    ${o.uniform}
    ${o.p_uniform}
//@     if o.only then
//@         local name, pairs, parts = o.text.place, o.pairs, o.parts
//@         local sums = ctype(model.place[name].dtype)
//@         local block, from, half = "c / 2", "i", "c % 2"
//@         if parts > 1 then
//@             block, half = "c / " .. 2 * parts, "c / " .. parts .. " % 2"
//@             from = "(c % " .. parts .. " * " .. pairs .. " + i)"
    // Rows 8 apart, and parts of them: one copy of the code serves all, for the choice of registers costs a few moves.
//@         else
    // Rows 8 apart: one copy of the code serves all, for the choice of registers costs a few moves.
//@         end
    #pragma unroll 1
    for (int slab = 0; slab < ${slabs}; ++slab) {
        ${sums} ${name}_part[${pairs} * 2];
        #pragma unroll
        for (int c = 0; c < ${slabs}; ++c)
            if (c == slab) {
                #pragma unroll
                for (int i = 0; i < ${pairs}; ++i) {
                    ${name}_part[i * 2] = ${name}[${block}][${from} * 4 + ${half} * 2];
                    ${name}_part[i * 2 + 1] = ${name}[${block}][${from} * 4 + ${half} * 2 + 1];
                }
            }
//@     else
    #pragma unroll
    for (int slab = 0; slab < ${slabs}; ++slab) {
        const int block = slab / 2, half = slab % 2;
//@     end
//@     if o.parts > 1 then
        const int row = first_row + slab / ${o.parts} * 8, first_pair = slab % ${o.parts} * ${o.pairs};
//@     else
//@         local below = warps and "slab * 8" or "block * " .. height .. " + half * 8"
        const int row = first_row + ${below};
//@     end
        ${o.p_rows}
        ${o.rows}
//@     -- All of the slab's reads are under way before the first is waited for: outside of a tensor they are harmless.
//@     local held = {}
//@     deeper()
//@     deeper()
//@     for _, other in ipairs(outputs) do
//@         other.placed = other.p_uniform == o.p_uniform and other.p_rows == o.p_rows
//@         other.alike = other.uniform == o.uniform and other.rows == o.rows
//@         if other.alike then read_slab(other, held) end
//@     end
//@     for _, other in ipairs(outputs) do
//@         if other.placed and other.alike then
//@             write_slab(other)
//@         else
//@             local own_place, own_value = not other.placed, not other.alike
{
//@             deeper()
//@             if own_place then
${other.p_uniform}
${other.p_rows}
//@             end
//@             if own_value then
${other.uniform}
${other.rows}
//@                 read_slab(other, {})
//@             end
//@             write_slab(other)
//@             shallower()
}
//@         end
//@     end
//@     shallower()
//@     shallower()
    }
}
//@ end
//@ -- The turns of the loop that takes the stages of a ring: of the last, where a loop stands in parts.
//@ local classes = nil
//@ local function turns_of(name)
//@     local around, steps = {}, role.step
//@     for i = 1, classes and 0 or #steps do
//@         local op = steps[i].op
//@         classes = classes or {}
//@         if op == "loop" or op == "when" then around[#around + 1] = op == "loop" and steps[i].call or ""
//@         elseif op == "end" then around[#around] = nil
//@         elseif op == "take" then classes[steps[i].ring] = around[#around] end
//@     end
//@     return classes[name] .. "_turns"
//@ end
//@ -- The variables that count the turns of the loop around step i, and say how many there are.
//@ local function loop_around(i)
//@     local depth = 0
//@     for k = i - 1, 1, -1 do
//@         local step = role.step[k]
//@         if step.op == "end" then depth = depth + 1
//@         elseif (step.op == "loop" or step.op == "when") and depth > 0 then depth = depth - 1
//@         elseif step.op == "loop" then return model.loop[step.loop + 1].name .. "_turn", step.call .. "_turns" end
//@     end
//@ end
//@ -- Whether the value is read from data, and whether it is one for the whole item, whatever the turn of a loop.
//@ local function origin(node)
//@     local n = model.fused[node + 1]
//@     local data, fixed = n.op == "TENSOR", n.op ~= "LOOP" and n.op ~= "TILE" and n.op ~= "ROW" and n.op ~= "COLUMN"
//@     for _, key in ipairs { "arg", "index" } do
//@         for k = 1, has(n, key) and #n[key] or 0 do
//@             local of_data, of_item = origin(n[key][k])
//@             data, fixed = data or of_data, fixed and of_item
//@         end
//@     end
//@     return data, fixed
//@ end
//@ -- Coordinates of a step, by its number, that are read from data, or found by division as windows are, once an item
//@ -- and not in every turn; their names.
//@ local once = {}
//@ local function of_windows(step)
//@     return step.op == "fill" and has(model.tensor[step.tensor], "window") and model.ring[step.ring].filler == "bulk"
//@ end
//@ local function places(step)
//@     local nodes = {}
//@     for d, node in ipairs(step.at) do nodes[d] = node end
//@     if has(step, "end") then nodes[#nodes + 1] = step["end"] end
//@     return nodes
//@ end
//@ local function read_once(i)
//@     local nodes, which = {}, {}
//@     for d, node in ipairs(places(role.step[i])) do
//@         local data, fixed = origin(node)
//@         local found = d == 1 and of_windows(role.step[i])
//@         if (data or found) and fixed then nodes[#nodes + 1], which[#which + 1] = node, d end
//@     end
//@     if #nodes > 0 then
//@         local got = fragment_uniform("i" .. i .. "_", table.unpack(nodes))
//@         local statements = got.at
//@         once[i] = {}
${statements}
//@         for k, d in ipairs(which) do
//@             local name, value, tensor = "i" .. i .. "_at" .. d - 1, as_int(got[k]), role.step[i].tensor
//@             once[i][d] = name
//@             if d == 1 and of_windows(role.step[i]) then
const ${tensor}_place ${name} = ${tensor}_find(args, ${value});
//@             else
const int ${name} = ${value};
//@             end
//@         end
//@     end
//@ end
//@ local function coordinates(i, letter)
//@     local nodes, which, known, got = {}, {}, once[i] or {}, { at = "", rows = "" }
//@     for d, node in ipairs(places(role.step[i])) do
//@         if not known[d] then nodes[#nodes + 1], which[#which + 1] = node, d end
//@     end
//@     if #nodes > 0 then got = fragment_uniform((letter or "c") .. i .. "_", table.unpack(nodes)) end
//@     local all = { at = got.at, rows = got.rows }
//@     for d, name in pairs(known) do all[d] = name end
//@     for k, d in ipairs(which) do all[d] = got[k] end
//@     if of_windows(role.step[i]) and not known[1] then
//@         all[1] = role.step[i].tensor .. "_find(args, " .. as_int(all[1]) .. ")"
//@     end
//@     return all
//@ end
//@ -- The role asks for stages of the ring before it waits for them.
//@ local function is_asked(ring)
//@     local asked = false
//@     for _, s in ipairs(role.step) do asked = asked or s.op == "ask" and s.ring == ring end
//@     return asked
//@ end
//@ -- The dot's operands are found in the turn before.
//@ local function is_early(name) return has(model, "early") and has(model.early, name) end
//@ -- By the step's field, behind the tensor's name: an element that is sent, and the line that it lies in.
//@ local sent = { node = "_element", node2 = "_other" }
//@ local line_of = { node = "_line0", node2 = "_line1" }
//@ -- Where the item's elements begin that step i sends in each turn. begun: the lines that are known; a loop whose
//@ -- last turns stand apart sends in both.
//@ local function sent_lines(i, begun)
//@     local step, letters = role.step[i], { node = "b", node2 = "d" }
//@     for _, which in ipairs({ "node", "node2" }) do
//@         local tensor, name = step.tensor, step.tensor .. line_of[which]
//@         if has(step, which) and not begun[name] and fragment_sends_line(role.name, i) then
//@             local index, range = model.fused[step[which] + 1].index, { at = "" }
//@             local others = { table.unpack(index, 1, #index - 1) }
//@             if #others > 0 then range = fragment_uniform(letters[which] .. i .. "_", table.unpack(others)) end
//@             local statements, list = range.at, #others > 0 and ", " .. csv(range) or ""
//@             begun[name] = true
${statements}
const ${tensor}_line ${name} = ${tensor}_line_begin(args${list});
//@         end
//@     end
//@ end
//@ -- The elements that are sent into the stage which step `number` waits for: under way while it does.
//@ local function element_reads(number)
//@     for i = number + 1, #role.step do
//@         local step = role.step[i]
//@         if step.op == "wait_empty" and step.ring == role.step[number].ring then break end
//@         local sends = step.op == "fill" and step.ring == role.step[number].ring and has(step, "node")
//@         local letters, tensor = { node = "e", node2 = "f" }, step.tensor
//@         for _, which in ipairs({ "node", "node2" }) do
//@             if sends and has(step, which) then
//@                 local line, index = fragment_sends_line(role.name, i), model.fused[step[which] + 1].index
//@                 local range = fragment_uniform(letters[which] .. i .. "_", line and index[#index] or step[which])
//@                 local statements, value, name = range.at, range[1], tensor .. sent[which]
//@                 if line then value = tensor .. "_line_at(" .. tensor .. line_of[which] .. ", " .. value .. ")" end
${statements}
const float ${name} = ${value};
//@             end
//@         end
//@     end
//@ end
//@ -- Whether step `number` reads what a loop of the next item takes first; the last of those that stand together.
//@ local function is_foretold(number)
//@     local step = role.step[number]
//@     return step.op == "global" and has(step, "place") and has(step, "loop") and opt(step, "ahead", 0) > 0
//@ end
//@ local function last_foretold(number)
//@     while number < #role.step and is_foretold(number + 1) do number = number + 1 end
//@     return number
//@ end
//@ -- These: the item is the one in hand, or that of next_AXIS.
//@ local function read_foretold(from, next)
//@     local loop = model.loop[role.step[from].loop + 1]
//@     local range = fragment_uniform("h" .. from .. "_", begin_of(loop))
//@     local statements, first = range.at, as_int(range[1])
//@     for _, item in ipairs(next and {} or model.item) do
at_${item.axis} = more ? at_${item.axis} : 0;
//@     end
{
//@     for _, item in ipairs(next and model.item or {}) do
    [[maybe_unused]] const int at_${item.axis} = next_${item.axis};
//@     end
    ${statements}
    [[maybe_unused]] const int ${loop.name} = ${first};
//@     deeper()
//@     for i = from, last_foretold(from) do read_rows(role.step[i], coordinates(i, "g")) end
//@     shallower()
}
//@ end
//@ -- A stage that all threads of the role have a part in: the next phase of its barriers waits for each of them.
//@ local function shared_by_all(name)
//@     for _, tensor in ipairs(model.ring[name].tensor) do
//@         local t = model.tensor[tensor]
//@         if has(t, "gathered") and not has(t, "run") then return true end
//@     end
//@     return false
//@ end
//@ -- Whether the instruction of step `at` needs the text of its fence once more, because that of other steps stands
//@ -- between the two. A fence names no registers: where a branch follows it, a compiler may place behind that branch
//@ -- what threads did to them before.
//@ local function fence_is_far(at)
//@     local near = { mma = true, mma_commit = true, mma_wait = true }
//@     local mma, far = role.step[at], false
//@     local taken = { [mma.place] = true, [opt(mma, "place2", mma.place)] = true }
//@     for i = at - 1, 1, -1 do
//@         local step = role.step[i]
//@         local op = step.op
//@         if op == "mma_fence" then return far end
//@         if op == "loop" or op == "when" or op == "end" then return false end
//@         if op == "touch" and has(taken, step.place) then return false end
//@         far = far or step.call and not has(near, op)
//@     end
//@     return false
//@ end
//@ -- Tensor memory. Behind a wait sums are in registers of which no product is left in the groups that may still run.
//@ local function land(at)
//@     local running, been, steps = {}, {}, role.step
//@     -- The way back from step i, with so many groups on it that may still run.
//@     local function back(i, left)
//@         while i > 0 and not been[i * 8 + left] do
//@             local op, inside = steps[i].op, i
//@             been[i * 8 + left] = true
//@             if op == "mma_commit" then left = left - 1 end
//@             if left < 0 then return end
//@             if op == "mma" then running[steps[i].place] = true end
//@             if op == "loop" then back(ended(i) - 1, left) end
//@             if op == "end" then
//@                 while inside > 0 and ((steps[inside].op ~= "loop" and steps[inside].op ~= "when")
//@                         or ended(inside) ~= i) do inside = inside - 1 end
//@                 back(inside - 1, left)
//@             end
//@             i = i - 1
//@         end
//@     end
//@     back(at - 1, steps[at].count)
//@     local lands = false
//@     for _, p in ipairs(model.place) do
//@         lands = lands or p.kind == "accumulator" and not has(running, p.name)
//@     end
//@     if lands then
mma_landed();
//@     end
//@     for _, p in ipairs(model.place) do
//@         local name = p.name
//@         if p.kind == "accumulator" and not stays and not piece_of(name) and not has(running, name) then
if (${name}_flies) {
    ${name}_land(sums, ${name});
    ${name}_flies = false;
}
//@         end
//@     end
//@ end
//@ -- What threads made of sums, and operands, go there in front of the products that take them.
//@ local function note_kept(place)
//@     if has(model, "kept") and has(model.kept, place) then
${place}_kept = true;
//@     end
//@ end
//@ local function put_kept(at)
//@     for i = at + 1, #role.step do
//@         local step = role.step[i]
//@         local op = step.op
//@         if op == "loop" or op == "when" or op == "end" or op == "mma_fence" then break end
//@         for _, key in ipairs { "place", "place2" } do
//@             local name = op == "mma" and opt(step, key, "") or ""
//@             if has(model, "kept") and has(model.kept, name) then
if (${name}_kept) {
    ${name}_put(sums, ${name});
    ${name}_kept = false;
}
//@             end
//@         end
//@     end
//@ end
//@ -- The wait for an item's last products: in front of it the next item's place is found, which takes divisions. Not
//@ -- where items come from elsewhere, are another's in turn, or from an order that keeps more of them.
//@ local function last_wait()
//@     local depth, found, items = 0, 0, false
//@     if warps or shared_loop or role.name ~= "consumer" then return 0 end
//@     if has(model, "item_ring") or model.schedule.order == "longest" then return 0 end
//@     for i, step in ipairs(role.step) do
//@         local op = step.op
//@         if op == "loop" and depth == 0 then items = step.call == "tiles" end
//@         if op == "loop" and depth == 0 and not items and not has(step, "place") then return 0 end
//@         if op == "loop" or op == "when" then depth = depth + 1
//@         elseif op == "end" then depth = depth - 1
//@         elseif op == "mma_wait" and depth == 1 and items and step.count == 0 then found = i end
//@     end
//@     return found
//@ end
//@ local foretells, foretold = last_wait(), 0
//@ for i, step in ipairs(role.step) do
//@     local here = step.op == "global" and is_foretold(i)
//@     if here and foretold > 0 and not is_foretold(i - 1) then foretells = i end
//@     if here and foretold == 0 then foretold = i end
//@ end
//@ local function foretell(why)
//@     local places, starts, held = "", {}, {}
//@     for k, item in ipairs(model.item) do
//@         places = places .. ", next_" .. item.axis
//@         starts[k] = "next_" .. item.axis .. " = 0"
//@         held[k] = '"+r"(next_' .. item.axis .. ")"
//@     end
//@     local start_list, held_list = csv(starts), csv(held)
int ${start_list};
more = items_next(args, items${places});
asm volatile("" : ${held_list}); // found now, ${why}
//@ end
//@ -- Another's item: what its loops take of the rings is gone past. `skipped`: the ring of a loop that takes one stage
//@ -- a turn and nothing else, all of whose turns it makes.
//@ local function skips(i)
//@     local step = role.step[i]
//@     if step.op == "skip" then return true end
//@     for j = i, (step.op == "loop" or step.op == "when") and ended(i) or i - 1 do
//@         if role.step[j].op == "skip" then return true end
//@     end
//@ end
//@ local function skipped(i)
//@     local found, others = nil, 0
//@     for j, step in ipairs(role.step) do
//@         local loops = step.op == "loop" and has(step, "loop")
//@         if loops and j ~= i and step.loop == opt(role.step[i], "loop", -1) then others = others + 1 end
//@     end
//@     for j = i + 1, ended(i) - 1 do
//@         local step = role.step[j]
//@         if step.op == "skip" and found or (step.op == "loop" or step.op == "when") and skips(j) then return nil end
//@         if step.op == "skip" then found = step.ring end
//@     end
//@     return others == 0 and found or nil
//@ end
//@ -- Copies with much text, by pages or of rows that end somewhere, are said once, not in front of a loop, in it and
//@ -- behind it: the loop begins a turn earlier, with what stands in front, and ends with what stands behind.
//@ local joined, gone = {}, {}
//@ local function alike(one, other, by) -- the first node where its loop is `by` further is the second
//@     local a, b = model.fused[one + 1], model.fused[other + 1]
//@     local function is_further(n)
//@         for k = 1, a.op == "LOOP" and n.op == "ADD" and 2 or 0 do
//@             local shift = model.fused[n.arg[3 - k] + 1]
//@             if shift.op == "CONST_INT" and shift.integer == by and alike(one, n.arg[k], 0) then return true end
//@         end
//@     end
//@     if by ~= 0 and (a.op == "LOOP" or b.op == "LOOP") then return is_further(b) end
//@     for _, key in ipairs {
//@         "op", "type", "integer", "real", "symbol", "loop", "place", "axis", "scalar", "tensor", "dtype",
//@     } do
//@         if opt(a, key, "") ~= opt(b, key, "") then return false end
//@     end
//@     for _, key in ipairs { "arg", "index" } do
//@         local of_a, of_b = opt(a, key, {}), opt(b, key, {})
//@         if #of_a ~= #of_b then return false end
//@         for k, node in ipairs(of_a) do
//@             if not alike(node, of_b[k], by) then return false end
//@         end
//@     end
//@     return true
//@ end
//@ local function is_copy(i)
//@     local step = i >= 1 and role.step[i] or { op = "end" }
//@     local plain = step.op == "wait_empty" or step.op == "expect" or (step.op == "fill" and has(step, "at"))
//@     return plain and model.ring[step.ring].filler == "bulk"
//@ end
//@ local function copies_alike(i, j, by)
//@     local one, other = role.step[i], role.step[j]
//@     for _, key in ipairs { "op", "call", "ring", "tensor", "count", "phase" } do
//@         if opt(one, key, "") ~= opt(other, key, "") then return false end
//@     end
//@     local of_one, of_other = one.op == "fill" and places(one) or {}, other.op == "fill" and places(other) or {}
//@     if #of_one ~= #of_other then return false end
//@     for k, node in ipairs(of_one) do
//@         if not alike(node, of_other[k], by) then return false end
//@     end
//@     return true
//@ end
//@ -- Loops that go on with the same copies, where others turn to masks, are one.
//@ local twins = {}
//@ local function unite(first)
//@     local turns, own, last = { role.step[first].call .. "_turns" }, ended(first) - first, ended(first)
//@     local function goes_on(i)
//@         local step = role.step[i]
//@         local same = step.op == "loop" and opt(step, "loop", -1) == role.step[first].loop
//@         if not same or ended(i) - i ~= own then return false end
//@         for k = 1, own - 1 do
//@             if not is_copy(i + k) or not copies_alike(first + k, i + k, 0) then return false end
//@         end
//@         return true
//@     end
//@     while own > 1 and last < #role.step and goes_on(last + 1) do
//@         turns[#turns + 1] = role.step[last + 1].call .. "_turns"
//@         for i = last + 1, ended(last + 1) do gone[i] = true end
//@         last = ended(last + 1)
//@     end
//@     if #turns > 1 then twins[first] = { turns = turns, last = last } end
//@ end
//@ local function join(first)
//@     local last, loop, tail, long = ended(first), model.loop[role.step[first].loop + 1], 0, false
//@     local before, behind = first, twins[first] and twins[first].last or last
//@     local around = first > 1 and role.step[first - 1]
//@     if around and around.op == "when" and has(around, "node") and ended(first - 1) == last + 1 then
//@         before, behind = first - 1, last + 1
//@     end
//@     while is_copy(behind + 1 + tail) do tail = tail + 1 end
//@     local head = last - first - 1 - tail
//@     if tail == 0 or head < 1 or before <= head then return end
//@     local by = has(loop, "first") and -loop.step or loop.step
//@     for i = first + 1, last - 1 do
//@         local step, own = role.step[i], i - first <= head
//@         local other = own and i - first - 1 + before - head or i - first - head + behind
//@         if not is_copy(i) or not is_copy(other) or not copies_alike(other, i, own and by or 0) then return end
//@         local t = step.op == "fill" and model.tensor[step.tensor]
//@         long = long or t and (is_limited(step) or has(t, "run"))
//@     end
//@     if not long then return end
//@     joined[first] = { head = first + head, around = before < first and before or nil }
//@     for i = before - head, before do gone[i] = i ~= first end
//@     for i = behind, behind + tail do gone[i] = gone[i] or i ~= last end
//@ end
//@ for i, step in ipairs(role.step) do
//@     if step.op == "loop" and has(step, "loop") and not gone[i] and not one_of and not warps and profile() == 0 then
//@         unite(i)
//@         join(i)
//@     end
//@ end
//@ -- Where items come from a counter, their places are found at one place in the text: what stands in front of their
//@ -- loop is what ends it, which waits for a stage of the ring first: there all are empty.
//@ local first_of = {}
//@ for i, step in ipairs(role.step) do
//@     local last = step.op == "loop" and step.call == "tiles" and profile() == 0 and ended(i)
//@     local function is(k, op)
//@         return k >= 1 and role.step[k].op == op and role.step[k].ring == model.item_ring
//@     end
//@     if last and has(model, "item_ring") and is(i - 2, "write") and is(i - 1, "arrive")
//@             and is(last - 3, "wait_empty") and is(last - 2, "write") and is(last - 1, "arrive") then
//@         first_of[i] = last - 3
//@         for k = 1, 3 do gone[last - k] = true end
//@         gone[i - 2], gone[i - 1] = true, true
//@     end
//@ end
//@ -- The steps in the order of the text: what a consumer goes past stands before its own items' steps.
//@ local listed = {}
//@ -- What a consumer does with half an item whose rows others have: the same waits and releases, in their order.
//@ local function rest(first)
//@     listed[#listed + 1] = { first, "rest" }
//@     local ends = {}
//@     for i = first + 1, ended(first) - 1 do
//@         local step = role.step[i]
//@         local turns = step.op == "loop" and has(step, "loop")
//@         if turns then ends[ended(i)] = true end
//@         local ring = step.op == "wait_full" or step.op == "ask" or step.op == "release"
//@         if turns or ends[i] or ring then listed[#listed + 1] = { i } end
//@     end
//@     listed[#listed + 1] = { first, "rested" }
//@ end
//@ for i, step in ipairs(role.step) do
//@     if not gone[i] then listed[#listed + 1] = { i } end
//@     if step.op == "loop" and step.call == "tiles" and opt(role, "resting", 0) > 0 then rest(i) end
//@     if first_of[i] then
//@         for k = 0, 2 do listed[#listed + 1] = { first_of[i] + k } end
//@         listed[#listed + 1] = { i, "none" }
//@     end
//@     if i == shared_loop then
//@         listed[#listed + 1] = { i, "begin" }
//@         local j, last = i + 1, ended(i)
//@         while j < last do
//@             if role.step[j].op == "loop" and skips(j) and skipped(j) then
//@                 listed[#listed + 1] = { j, "skip" }
//@                 j = ended(j)
//@             elseif (role.step[j].op == "loop" or role.step[j].op == "when") and not skips(j) then
//@                 j = ended(j)
//@             elseif role.step[j].op == "skip" or role.step[j].op == "loop" or role.step[j].op == "when"
//@                     or role.step[j].op == "end" then
//@                 listed[#listed + 1] = { j, "past" }
//@             end
//@             j = j + 1
//@         end
//@         listed[#listed + 1] = { i, "end" }
//@     end
//@ end
//@ -- What an item's steps are said in, behind the place of the item.
//@ local function begin_item(i)
//@     if foretells == 0 then item_elements() end
//@     local begun = {}
//@     variables(i)
//@     deeper()
//@     if round then
//@         local name, axis, turns, stages = round.name, round.axis, round.turns, round.stages
// Turns go round: they begin with those that were the last item's last, whose tiles its rows left in the ring.
begin_of_${name} = ${turns} < ${stages} ? 0 : begin_of_${name} < ${stages} ? begin_of_${name} + ${turns} - ${stages} : begin_of_${name} - ${stages};
const int left_of_${name} = ${turns} >= ${stages} && at_${axis} == before_${axis} ? ${stages} : 0;
before_${axis} = at_${axis};
//@     end
//@     for j = i + 1, ended(i) do
//@         local fill = role.step[j]
//@         local copied = fill.op == "fill" and #model.ring[fill.ring].tensor > 0
//@         copied = copied and model.ring[fill.ring].filler == "bulk" and has(fill, "at")
//@         if copied and not has(model.tensor[fill.tensor], "gathered") then read_once(j) end
//@         if fill.op == "fill" and has(fill, "node") then sent_lines(j, begun) end
//@     end
//@ end
//@ local storing, opened, filled_of, stored_to = nil, {}, {}, 0
//@ for _, entry in ipairs(listed) do
//@     local i, past = entry[1], entry[2]
//@     local step = role.step[i]
//@     local op, call, ring = step.op, step.call, step.ring
//@     if past == "rest" then
//@         local working = role.instances - role.resting
if (items.halved && consumer >= ${working}) { // its rows are another block's
//@         deeper()
//@     elseif past == "rested" then
break;
//@         shallower()
}
//@     elseif past == "begin" then
if (!own_item) {
//@         deeper()
//@     elseif past == "end" then
//@         for _, r in ipairs(model.ring) do
//@             local name = r.name
//@             if r.filler ~= "threads" and #r.tensor > 0 then
${name}_oldest = ${name}_next;
//@             end
//@         end
continue;
//@         shallower()
}
//@     elseif past == "skip" then
//@         local name = skipped(i)
${name}_skip(${name}_next, ${call}_turns);
//@     elseif past == "none" then
//@         local first_item = model.item[1].axis
if (at_${first_item} < 0)
    break;
//@         shallower()
//@         begin_item(i)
//@     elseif op == "skip" then
//@         if past then
${call}(${ring}_next, 1);
//@         end
//@     elseif op == "loop" and call == "tiles" then
//@         fixed_turns()
//@         if round then
//@             local name, axis, stages = round.name, round.axis, round.stages
int begin_of_${name} = ${stages}, before_${axis} = -1; // of the item before; none was
//@         end
//@         if shared_loop then
u32 whose = 0; // the consumer whose item comes next
//@         end
//@         if first_of[i] then
for (;;) {
//@         elseif has(model, "item_ring") then
//@             local first_item = model.item[1].axis
while (at_${first_item} >= 0) {
//@         elseif foretells > 0 then
//@             if foretold > 0 then read_foretold(foretold, false) end
while (more) {
//@         elseif not warps then
for (; more; more = items_next(args, items${next_item})) {
//@         elseif has(model.launch, "once") and filled then
if (items_next(args, items${next_item})) {
//@         elseif has(model.launch, "once") then
items_next(args, items${next_item});
{
//@         else
while (items_next(args, items${next_item})) {
//@         end
//@         if shared_loop then
//@             local consumers = step.share
    const bool own_item = whose == consumer;
    whose = whose + 1 == ${consumers} ? 0 : whose + 1;
//@         end
//@         opened[#opened + 1] = { items = true }
//@         if first_of[i] then deeper() else begin_item(i) end
//@     elseif op == "loop" and has(step, "loop") then
//@         -- The variable follows from the turn: nothing but that is carried around.
//@         local loop = model.loop[step.loop + 1]
//@         local from = fragment_uniform("f", loop.from)[1]
//@         local start = from == "0" and "" or from .. " + "
//@         local sign = has(loop, "first") and "_first - " or "_first + "
//@         if counted_from_first(loop) then start = loop.name .. sign end
//@         local single, kept, turns = opt(step, "most", 0) == 1 and not twins[i], joined[i], call .. "_turns"
//@         local part = opt(step, "part", 0)
//@         if part > 0 then
//@             local up = part - 1
const int ${call}_until = ((chunk + 1) * ${call}_turns + ${up}) / ${part};
//@             turns = call .. "_until"
//@         end
//@         if twins[i] then
//@             local of = twins[i].turns
//@             turns = call .. "_all"
//@             for k = 2, #of do of[k] = "max(" .. of[k - 1] .. ", " .. of[k] .. ")" end
//@             local all = of[#of]
const int ${turns} = ${all};
//@         end
//@         if kept then
//@             local some, none = "", ""
//@             if kept.around then
//@                 local around = role.step[kept.around]
//@                 local range = fragment_uniform("w" .. kept.around .. "_", around.node)
//@                 local statements = range.at
//@                 some, none = range[1] .. " > " .. around.count .. " ? ", " : " .. loop.name .. "_turn"
${statements}
//@             end
const int ${call}_begin = ${loop.name}_turn;
const int ${call}_last = ${some}max(${loop.name}_turn, ${turns})${none};
#pragma unroll 1
for (--${loop.name}_turn;; ++${loop.name}_turn) {
//@         elseif single then
if (${loop.name}_turn < ${turns}) {
//@         else
#pragma unroll 1
for (; ${loop.name}_turn < ${turns}; ++${loop.name}_turn) {
//@         end
//@         if round and round.name == loop.name then
    ${loop.name} = begin_of_${loop.name} + ${loop.name}_turn;
    ${loop.name} = ${start}(${loop.name} < ${turns} ? ${loop.name} : ${loop.name} - ${turns}) * ${loop.step};
//@         else
    ${loop.name} = ${start}${loop.name}_turn * ${loop.step};
//@         end
//@         variables(i)
//@         deeper()
//@         opened[#opened + 1] = { loop.name, start, loop.step, single, joined = kept and call, number = i }
//@         if kept then
if (${loop.name}_turn < ${call}_last) {
//@             deeper()
//@         end
//@     elseif (op == "loop" or op == "when") and has(step, "place") then
//@         opened[#opened + 1] = {}
//@         -- A chunk of what the item before has left in registers, or all that is left.
//@         local place, chunks, pairs = step.place, late_chunks(step.place), chunk_columns(model.tensor[call]) // 8
//@         local across = chunks // blocks
//@         if op == "loop" and chunks > 1 then
#pragma unroll 1
while (${place}_next < ${chunks}) {
//@         elseif opt(step, "part", 0) > 0 then
//@             local turn, turns = loop_around(i)
//@             local by, next = step.part * chunks * role.instances, place .. "_next"
//@             if role.instances > 1 then next = "(" .. next .. " * " .. role.instances .. " + (int)consumer)" end
if (${place}_next < ${chunks} && ${turn} * ${by} >= ${next} * ${turns}) {
//@         else
if (${place}_next < ${chunks}) {
//@         end
    const int block = ${place}_next / ${across}, first_pair = ${place}_next % ${across} * ${pairs};
//@         deeper()
//@     elseif op == "loop" and call == "parts_combine" then
//@         opened[#opened + 1] = {}
//@         local more = "part <= " .. step.count
//@         if has(step, "inside") then
bool parts_rows = false;
{
    bool rows[${blocks}];
//@             deeper()
//@             rows_kept(step, i)
//@             shallower()
    for (int block = 0; block < ${blocks}; ++block)
        parts_rows = parts_rows || rows[block];
}
//@             more = more .. " && parts_rows"
//@         end
//@         -- Of many parts the next is on its way while one is added, where registers hold both beside the sums.
//@         local ahead, many = 1, 8
//@         for j = i, ended(i) do
//@             local held = role.step[j].call == "parts_next" and model.place[role.step[j].place].registers or 0
//@             ahead = math.max(ahead, step.count + 1 >= many and held > 1 and held <= 64 and 2 or 1)
//@         end
#pragma unroll ${ahead}
for (int part = 1; ${more}; ++part) {
//@         deeper()
//@     elseif op == "loop" and shares_turns(i) then
//@         opened[#opened + 1] = { chunks_of = model.tensor[call] }
#pragma unroll 1
for (int chunk = 0; chunk < ${step.count}; ++chunk) {
//@         deeper()
//@     elseif op == "loop" then
//@         local brings = source and role.step[i + 1].op == "expect"
//@         opened[#opened + 1] = { guarded = brings }
//@         if brings then
if (${source}_issues() && elect_one()) {
//@             deeper()
//@         end
//@         -- The chunks of a store.
//@         storing = model.tensor[call]
//@         for j = i, ended(i) do if role.step[j].op == "store" then read_once(j) end end
//@         local across = step.count // stacked
//@         local pairs = chunk_columns(storing) // 8
//@         -- A residual's chunks pass under no products, and the moves that choose would cost 1 % at 4096^3.
//@         local unroll = is_long(i) and not source and 1 or step.count
#pragma unroll ${unroll}
for (int chunk = 0; chunk < ${step.count}; ++chunk) {
//@         if all_lanes then
    const int first_pair = chunk * ${pairs};
//@         else
    const int block = chunk / ${across}, first_pair = chunk % ${across} * ${pairs};
//@         end
//@         deeper()
//@         for j = i, ended(i) do
//@             if role.step[j].op == "write" and not source then part(storing, j, step.count)
//@             elseif is_late(role.step[j]) then part(storing, j, step.count, role.step[j].place .. "[chunk]") end
//@         end
//@     elseif op == "when" and (call == "parts_last" or call == "parts_early") then
//@         local whether = call == "parts_last" and "parts_are_here" or "!parts_are_here"
if (${whether}) {
//@         opened[#opened + 1] = {}
//@         deeper()
//@     elseif op == "when" and call == "parts_cut" then
//@         local range = fragment_uniform("w" .. i .. "_", step.node)
//@         local statements, others = range.at, range[1]
bool parts_are_here = true;
${statements}
if (${others} > 0) {
//@         opened[#opened + 1] = {}
//@         deeper()
//@     elseif op == "when" then
//@         local range = fragment_uniform("w" .. i .. "_", step.node)
//@         local statements, turns = range.at, range[1]
${statements}
if (${turns} > ${step.count}) {
//@         if not past and role.step[i + 1].op == "touch" then
    asm volatile(""); // a branch, and not a choice for each register
//@         end
//@         opened[#opened + 1] = {}
//@         deeper()
//@     elseif op == "end" then
//@         local variable = opened[#opened]
//@         opened[#opened] = nil
//@         if has(variable, "items") and foretells > 0 then
//@             for _, item in ipairs(model.item) do
at_${item.axis} = next_${item.axis};
//@             end
//@         end
//@         if variable[4] then
//@             local name = variable[1]
++${name}_turn;
//@         elseif opt(variable, "joined", false) then
//@             local name, call = variable[1], variable.joined
if (${name}_turn == ${call}_last)
    break;
//@         end
//@         shallower()
}
//@         if has(variable, "guarded") and variable.guarded then
//@             shallower()
}
//@         end
//@         if variable[1] and not opt(variable, "joined", false) then
//@             local name, start, by = variable[1], variable[2], variable[3]
${name} = ${start}${name}_turn * ${by};
//@         end
//@         storing = nil
//@     elseif op == "wait_empty" then
//@         element_reads(i)
//@         if one_of and not shared_by_all(ring) then
if (threadIdx.x < 32 && elect_one())
    ${call}(${ring}_fill);
//@         else
${call}(${ring}_fill);
//@         end
//@     elseif op == "expect" and ring == source then
//@         if role.step[i - 1].op ~= "loop" then
//@             local across = model.ring[source].stages // blocks
//@             local pairs = chunk_columns(opened[#opened].chunks_of) // 8
if (${source}_issues() && elect_one()) {
    const int block = chunk / ${across}, first_pair = chunk % ${across} * ${pairs};
//@             deeper()
//@         end
${call}(consumer, chunk);
//@     elseif op == "expect" then
//@         if one_of then
if (threadIdx.x < 32 && elect_one())
    ${call}(${ring}_fill);
//@         elseif round and opt(step, "reuse", 0) > 0 then
//@             local name = round.name
${call}(${ring}_fill, ${name}_turn < left_of_${name});
//@         else
${call}(${ring}_fill);
//@         end
//@     elseif op == "fill" and model.ring[ring].filler == "cp_async" then
//@         local at = coordinates(i)
//@         local statements, list, filled = at.at, table.concat(at, ", "), (filled_of[ring] or 0) + 1
//@         filled_of[ring] = filled % #model.ring[ring].tensor
//@         if is_limited(step) then list = with_rows(step, at) end
//@         local before, next_step = i > 1 and role.step[i - 1], i < #role.step and role.step[i + 1]
//@         local function together(other)
//@             return other and other.op == "fill" and other.ring == ring
//@                 and opt(other, "loop", -1) == opt(step, "loop", -1)
//@                 and opt(other, "ahead", 0) == opt(step, "ahead", 0)
//@         end
//@         -- In a loop's last turn nothing is left to fill for.
//@         local inner = #opened > 0 and opened[#opened] or {}
//@         local last = has(step, "loop") and opt(step, "ahead", 0) > 0 and inner[4] or false
//@         if not last then
//@         if has(step, "loop") and not together(before) then
//@             local turn, turns = model.loop[step.loop + 1].name .. "_turn", turns_of(ring)
//@             local ahead = opt(step, "ahead", 0)
//@             local next_turn = ahead > 0 and turn .. " + " .. ahead or turn
if (${next_turn} < ${turns}) {
//@         end
//@         if has(step, "loop") then deeper() end
//@         if has(model.tensor[step.tensor], "gathered") then
//@             fill_rows(step, at, model.launch.block, call)
//@         else
${statements}
${call}(args, ${ring}_fill, ${list});
//@         end
//@         if filled_of[ring] == 0 then
${ring}_advance(${ring}_fill);
//@         end
//@         local where, mark = stamp(role.name, i)
//@         if where == "beside" then
profile_mark<${mark}>(stamps);
//@         end
//@         if has(step, "loop") then shallower() end
//@         if has(step, "loop") and not together(next_step) then
}
//@         end
//@         end
//@     elseif op == "cp_commit" or op == "cp_wait" then
${call}();
//@     elseif op == "take" then
${call}(${ring}_stage);
//@     elseif op == "fill" and ring == source then
//@         local t, at, list = model.tensor[step.tensor], coordinates(i), {}
//@         local statements = at.at
//@         for d = 1, t.rank do
//@             local further = d == t.rank and " + first_pair * 8" or own_rows(" + ") .. " + block * 64"
//@             list[d] = at[d] .. (t.tile[d] > 1 and further or "")
//@         end
//@         local places = table.concat(list, ", ")
${statements}
${call}(args, consumer, chunk, ${places});
//@         if role.step[i - 2].op ~= "loop" then
//@             shallower()
}
//@         end
//@     elseif op == "fill" and model.ring[ring].filler == "peers" then
${call}(${ring}_fill, ${step.place}, consumer);
${ring}_advance(${ring}_fill);
//@     elseif op == "fill" and has(step, "node") then
//@         filled_of[ring] = ((filled_of[ring] or 0) + 1) % #model.ring[ring].tensor
//@         local element = step.tensor .. "_element" .. (has(step, "node2") and ", " .. step.tensor .. "_other" or "")
${call}(${ring}_fill, ${element});
//@         if filled_of[ring] == 0 then
${ring}_advance(${ring}_fill);
//@         end
//@     elseif op == "fill" then
//@         local at = coordinates(i)
//@         local statements, list, filled = at.at, table.concat(at, ", "), (filled_of[ring] or 0) + 1
${statements}
//@         local filled_tensor = model.tensor[step.tensor]
//@         if is_limited(step) then list = with_rows(step, at) end
//@         if has(filled_tensor, "gathered") and has(filled_tensor, "run") then
//@             -- Runs of rows: the numbers of some, then their copies, each kind one behind the other without waits.
//@             local each, places, by, run = at.rows, {}, filled_tensor.gathered, filled_tensor.run
//@             local height, number, batch = filled_tensor.tile[by], at[by], 4
//@             while height // run % batch > 0 do batch = batch // 2 end
//@             for d = 1, filled_tensor.rank do places[d] = d == by and "number[k]" or at[d] end
//@             local from, together = table.concat(places, ", "), batch * run
//@             local there = run
//@             if has(step, "end") then
//@                 local left = "(i64)(" .. at[filled_tensor.rank + 1] .. ") - first - k * " .. run
//@                 there = "(int)max((i64)0, min(" .. left .. ", (i64)" .. run .. "))"
//@             end
//@             local guard = one_of and "if (threadIdx.x < 32 && elect_one()) " or ""
//@             if together < height then
#pragma unroll 1
for (int first = 0; first < ${height}; first += ${together}) {
//@             else
{
    const int first = 0;
//@             end
    int number[${batch}];
    #pragma unroll
    for (int k = 0; k < ${batch}; ++k) {
        const int row = first + k * ${run};
        ${each}
        number[k] = (int)(${number});
    }
//@             local ends = has(step, "end")
//@             local more = ends and ", ending" or ""
//@             if ends then
    int ending[3] = {0, 0, 0};
//@             end
    #pragma unroll
    for (int k = 0; k < ${batch}; ++k)
        ${guard}${call}_run(args, ${ring}_fill, first + k * ${run}, ${there}, ${from}${more});
//@             if ends then
//@                 local others = ""
//@                 for d = 1, filled_tensor.rank do if d ~= by then others = others .. ", " .. at[d] end end
    ${guard}${call}_end(args, ${ring}_fill, ending${others});
//@             end
}
//@         elseif has(filled_tensor, "gathered") then
//@             -- Each warp a quarter of the rows: its lanes find their numbers, then one brings row after row.
//@             local each, places, by = at.rows, {}, filled_tensor.gathered
//@             local quarter = filled_tensor.tile[by] // 4
//@             local lanes, number = 32, at[by]
//@             while quarter % lanes > 0 do lanes = lanes - 1 end
//@             local batch = 8 -- shuffles, then copies: each kind one behind the other without waits
//@             while lanes % batch > 0 do batch = batch - 1 end
//@             for d = 1, filled_tensor.rank do places[d] = d == by and "number[k]" or at[d] end
//@             local from = table.concat(places, ", ")
#pragma unroll 1
for (int first = (int)warp * ${quarter}; first < (int)warp * ${quarter} + ${quarter}; first += ${lanes}) {
    const int row = first + threadIdx.x % 32;
    ${each}
    const int own = (int)${number};
    #pragma unroll 1
    for (int i = 0; i < ${lanes}; i += ${batch}) {
        int number[${batch}];
        #pragma unroll
        for (int k = 0; k < ${batch}; ++k)
            number[k] = __shfl_sync(~0u, own, i + k);
        if (elect_one()) {
            #pragma unroll
            for (int k = 0; k < ${batch}; ++k)
                ${call}(args, ${ring}_fill, first + i + k, ${from});
        }
    }
}
//@         elseif one_of then
if (threadIdx.x < 32 && elect_one())
    ${call}(args, ${ring}_fill, ${list});
//@         elseif round and opt(step, "reuse", 0) > 0 then
//@             local name = round.name
if (${name}_turn >= left_of_${name})
    ${call}(args, ${ring}_fill, ${list});
//@         else
${call}(args, ${ring}_fill, ${list});
//@         end
//@         filled_of[ring] = filled % #model.ring[ring].tensor
//@         if filled_of[ring] == 0 then
${ring}_advance(${ring}_fill);
//@         end
//@     elseif op == "drain" then
//@         if one_of then
if (threadIdx.x < 32 && elect_one())
    ${call}(${ring}_fill);
//@         else
${call}(${ring}_fill);
//@         end
//@     elseif op == "wait_full" and ring == source then
${call}(${ring}_next, consumer);
//@     elseif op == "ask" then
${call}(${ring}_next, ${ring}_came);
//@     elseif op == "wait_full" then
//@         local came = is_asked(ring) and ", " .. ring .. "_came" or ""
${call}(${ring}_next${came});
${ring}_stage = ${ring}_next.stage;
${ring}_advance(${ring}_next);
//@         for _, mma in ipairs(model.mma) do
//@             local name, issued = mma.name, 0
//@             for k, other in ipairs(role.step) do
//@                 if other.op == "mma" and other.call == name then issued = k end
//@             end
//@             if is_early(name) and stage_of(mma.operand[2].tensor, issued) == ring .. "_stage" then
${name}_a = ${name}_next_a, ${name}_b = ${name}_next_b;
mma_${name}_advance(${name}_next_a, ${name}_next_b, ${ring}_next.stage == 0);
//@             end
//@         end
//@     elseif op == "mma_fence" or op == "mma_commit" or op == "mma_wait" then
//@         if i == foretells then foretell("while the last products run") end
//@         if op == "mma_wait" and not has(model, "memory") then hold(i) end
//@         if not has(model, "memory") then
${call}();
//@         elseif op == "mma_fence" then
//@             put_kept(i)
${call}(consumer);
//@         else
${call}(sums, consumer);
//@             if op == "mma_wait" then land(i) end
//@         end
//@     elseif op == "mma" and has(model, "memory") then
//@         local mma, least, place = model.mma[call], opt(step, "least", 0), step.place
//@         local column = columns_of(place)
//@         local a, second = mma.operand[1].tensor, stage_of(mma.operand[2].tensor, i)
//@         local first, last = a and stage_of(a, i), a and ", " .. own_part or ""
//@         if not a then first = columns_of(step.place2) end
//@         local accumulate = ({ [0] = "1", least == 1 and model.loop[step.loop + 1].name .. "_turn > 0", "0" })[least]
mma_${call}(${column}, ${first}, ${second}${last}, ${accumulate});
//@         if not piece_of(place) then
${place}_flies = true;
//@         end
//@     elseif op == "mma" then
//@         local mma, least = model.mma[call], opt(step, "least", 0)
//@         local a, b = mma.operand[1].tensor, mma.operand[2].tensor
//@         local first, last = a and stage_of(a, i) or step.place2, warps and ", warp" or a and ", " .. own_part or ""
//@         local second = stage_of(b, i)
//@         if is_early(call) then first, second, last = call .. "_a", call .. "_b", "" end
//@         if has(step, "block") then last = last .. ", " .. step.block end
//@         if fence_is_far(i) then
mma_fence();
//@         end
//@         local accumulate = ({ [0] = "1", least == 1 and model.loop[step.loop + 1].name .. "_turn > 0", "0" })[least]
//@         if has(step, "at") then
//@             local from = coordinates(i, "b")
//@             local statements, begins = from.at, as_int(from[1])
{
    ${statements}
    mma_${call}(${step.place}, ${first}, ${second}${last}, ${accumulate}, (u32)${begins});
}
//@         else
mma_${call}(${step.place}, ${first}, ${second}${last}, ${accumulate});
//@         end
//@     elseif op == "read" and ring == source then
${call}(${step.place}, ${ring}_next, consumer);
${ring}_advance(${ring}_next);
//@         for j = i, #role.step do
//@             if role.step[j].op == "write" then
//@                 part(storing, j, model.ring[ring].stages)
//@                 break
//@             end
//@         end
//@     elseif op == "read" and has(model, "item_ring") and ring == model.item_ring then
${call}(${ring}_stage${next_item});
//@     elseif op == "read" and model.ring[ring].filler == "peers" then
${call}(${step.place}, ${step.place2}, ${ring}_stage, consumer);
//@     elseif op == "read" and call and model.place[step.place].kind == "rows" then
//@         local row = model.tensor[step.tensor].access == "global" and "" or ", first_row"
//@         local other = has(step, "place2") and ", " .. step.place2 or ""
${call}(${step.place}${other}, ${ring}_stage${row});
//@     elseif op == "read" and call then
//@         local who = warps and "warp_m" or own_part
${call}(${step.place}, ${ring}_stage, ${who});
//@         note_kept(step.place)
//@     elseif op == "release" and warps then
${call}(${ring}_stage);
//@     elseif op == "release" then
//@         if opt(step, "back", 0) > 0 then
//@             local turn = model.loop[step.loop + 1].name .. "_turn"
//@             local where, mark = stamp(role.name, i)
//@             if where == "beside" then
if (${turn} > 0) {
    ${call}(${ring}_oldest);
    profile_mark<${mark}>(stamps);
}
//@             else
if (${turn} > 0)
    ${call}(${ring}_oldest);
//@             end
//@         else
${call}(${ring}_oldest);
//@         end
//@     elseif op == "touch" and (call == "reduce" or call == "fold") then
//@         reduce(step, i)
//@     elseif op == "touch" and call == "keep" then
${step.place}_keep(${step.place});
//@     elseif is_late(step) and call == "hold" then
//@         local at, place = coordinates(i, "h"), step.place
//@         local statements, count = at.at, #step.at
${statements}
//@         for d = 1, count do
//@             local where, number = at[d], d - 1
${place}_at${number} = ${where};
//@         end
${place}_next = 0;
//@     elseif is_late(step) then
//@         -- Packed where its loop begins.
//@     elseif op == "touch" and call == "lanes" then
//@         lanes(step)
//@     elseif op == "touch" and call and stays and model.place[step.place].kind == "accumulator" then
${step.place}_flies = false;
//@     elseif op == "touch" and call and piece_of(step.place) then
//@         evaluate_pieces(step, i)
//@     elseif op == "touch" and call then
//@         evaluate(step, i)
//@         note_kept(step.place)
//@     elseif op == "global" and call == "items_take" then
items_take(args, items);
//@     elseif op == "global" and call == "items_done" then
items_done(args);
//@     elseif op == "global" and call == "parts_seen" then
//@         local at = coordinates(i, "g")
//@         local statements, turn, count = at.at, at[1], at[2]
${statements}
const item_parts parts = parts_of(args, ${turn}, ${count});
parts_are_here = parts_seen(args, parts);
//@     elseif op == "global" and in_parts and call == "parts_count" then
parts_are_here = parts_count(args, parts);
//@     elseif op == "global" and in_parts and (call == "parts_put" or call == "parts_take") then
//@         local word = call == "parts_put" and "_put" or "_take"
${step.place}${word}(args, parts, ${step.place});
//@     elseif op == "global" and call == "parts_clear" then
${step.place}_clear(args, parts);
//@     elseif op == "global" and has(part_words, call) then
//@         local at = coordinates(i, "g")
//@         local statements, tile, word = at.at, at[1], part_words[call]
//@         local part = call == "parts_put" and ", at_" .. model.item[#model.item].axis or
//@             call == "parts_first" and ", 0" or call == "parts_next" and ", part" or ""
{
    ${statements}
//@         if has(step, "inside") then
    bool rows[${blocks}];
//@             deeper()
//@             rows_kept(step, i)
//@             shallower()
    ${step.place}${word}(args, (int)(${tile})${part}, rows, ${step.place});
//@         else
    ${step.place}${word}(args, (int)(${tile})${part}, ${step.place});
//@         end
}
//@     elseif op == "global" and call == "parts_count" then
//@         local at = coordinates(i, "g")
//@         local statements, tile = at.at, at[1]
${statements}
bool parts_are_here = parts_count(args, (int)(${tile}));
//@     elseif op == "barrier" and call == "parts_meet" then
parts_meet();
//@     elseif op == "barrier" and call == "parts_last" and in_parts then
//@         -- A branch that all of a warp take: behind another one the compiler has what main loops count in each lane.
parts_are_here = __any_sync(~0u, parts_last(parts_are_here));
//@     elseif op == "barrier" and call == "parts_last" then
parts_are_here = parts_last(parts_are_here);
//@     elseif op == "global" and has(step, "place") and model.place[step.place].kind == "rows" then
//@         if not is_foretold(i) then
//@             read_rows(step, coordinates(i, "g"))
//@         elseif i == foretells then
//@             foretell("and what its first turn takes with it")
//@             read_foretold(i, true)
//@         end
//@     elseif op == "global" and has(step, "place") then
//@         read_ahead(step, i)
//@     elseif op == "global" then
//@         if step.cols == 1 then
//@             global_rows(step, i)
//@         elseif not warps and not (has(model, "direct") and has(model.direct, step.tensor)) then
//@             global(step, i)
//@         elseif not warps and takes_sums(i) then
//@             fragments_of_pieces(i)
//@         elseif i > stored_to then
//@             local outputs = outputs_from(i)
//@             fragments(outputs)
//@             stored_to = outputs[#outputs].number
//@         end
//@     elseif op == "store_wait" then
${call}();
//@     elseif op == "barrier" and warps then
${call}();
//@     elseif op == "barrier" or op == "barrier_arrive" then
//@         if has(step, "next") then
if (consumer == whose)
    ${call}(consumer);
//@         elseif has(step, "only") then
if (consumer == ${step.only})
    ${call}(consumer);
//@         else
${call}(consumer);
//@         end
//@     elseif op == "write" and model.ring[ring].filler == "arrive" and #model.ring[ring].tensor > 0 then
//@         fill_rows(step, coordinates(i), 128, step.tensor .. "_copy")
//@     elseif op == "write" and has(model, "item_ring") and ring == model.item_ring then
${call}(args, items, ${ring}_fill.stage${next_item});
//@     elseif op == "arrive" then
${call}(${ring}_fill);
${ring}_advance(${ring}_fill);
//@     elseif op == "write" and has(step, "place") then
//@         local place, last = step.place, late_chunks(step.place) - 1
//@         if last == 0 then
${call}(${place}[0], consumer, buffer);
//@         else
switch (${place}_next) { // and not a choice for each register
//@             for c = 0, last do
//@                 local when = c < last and "case " .. c or "default"
${when}: ${call}(${place}[${c}], consumer, buffer); break;
//@             end
}
//@         end
//@     elseif op == "write" and all_lanes then
#pragma unroll
for (int block = 0; block < ${blocks}; ++block)
    ${call}(part[block], consumer, buffer, block);
//@     elseif op == "write" then
${call}(part, consumer, buffer);
//@     elseif op == "fence_async" then
${call}();
//@     elseif op == "store" then
//@         local t, late = model.tensor[step.tensor], has(step, "place") and step.place
//@         local below, above = all_lanes and "" or " + block * 64", all_lanes and "" or " - block * 64"
//@         local at, list = late and { at = "" } or coordinates(i), {}
//@         for d = 1, late and t.rank or 0 do at[d] = late .. "_at" .. d - 1 end
//@         local statements = at.at
//@         for d = 1, t.rank do
//@             local more = ""
//@             local columns = d == t.rank
//@             if model.turned[t.name] == 1 then columns = d < t.rank end
//@             if t.tile[d] > 1 and columns then more = " + first_pair * 8" end
//@             if t.tile[d] > 1 and not columns then more = own_rows(" + ") .. below end
//@             list[d] = at[d] .. more
//@         end
//@         if has(step, "end") then
//@             list[t.rank + 1] = "(int)" .. at[t.rank + 1] .. own_rows(" - ") .. above
//@         end
//@         local places = table.concat(list, ", ")
${statements}
${call}(args, consumer, buffer, ${places});
//@         if late then
++${late}_next;
//@         end
//@     end
//@     local where, mark = stamp(role.name, i)
//@     if not past and where == "behind" then
profile_mark<${mark}>(stamps);
//@     end
//@     local inner = #opened > 0 and opened[#opened] or {}
//@     if opt(inner, "joined", false) and joined[inner.number].head == i then
//@         local name, call = inner[1], inner.joined
//@         shallower()
}
if (${name}_turn < ${call}_begin)
    continue;
//@     end
//@ end
//@ fragment_item()
