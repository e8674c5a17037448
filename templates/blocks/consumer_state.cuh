//@ -- What a consumer has in hand from its first item to its last: its own rows and columns, registers by place,
//@ -- and where it stands in each ring. model: the Plan; blocks: of 64 rows.
//@ param model table
//@ param blocks int
//@ -- What it holds is in tensor memory, and in no registers from step to step.
//@ local function in_memory(place)
//@     local stays = has(model, "memory") and model.memory.stays == 1
//@     if place.kind == "accumulator" and stays then return true end
//@     local pieces, given = has(model, "pieces") and model.pieces or {}, has(model, "given") and model.given or {}
//@     return has(pieces, place.name) or has(given, place.name)
//@ end
//@ local staged, parts = false, nil
//@ for _, r in ipairs(model.ring) do
//@     staged = staged or r.filler == "threads"
//@     if r.filler == "peers" then parts = r end
//@ end
//@ if has(model, "item_ring") then
${model.item_ring}_position ${model.item_ring}_next = {0, 0}, ${model.item_ring}_oldest = {0, 0};
u32 ${model.item_ring}_stage = 0;
//@ end
//@ local rows = 64 * blocks
//@ local in_turn = false
//@ for _, s in ipairs(model.role.consumer.step) do in_turn = in_turn or s.op == "loop" and has(s, "share") end
//@ local along = false -- rows come in stages
//@ for _, s in ipairs(model.role.consumer.step) do
//@     local place = s.op == "read" and has(s, "place") and model.place[s.place].kind == "rows"
//@     along = along or place and model.tensor[s.tensor].access ~= "global"
//@ end
//@ local of_warp = has(model, "memory") and model.memory.wide == 1 and 32 or 16
//@ if along and not in_turn then
// Handed through a shuffle: the compiler would else find it again in each turn, in front of the reads of rows.
const int first_row =
    __shfl_sync(~0u, (int)consumer * ${rows} + threadIdx.x % 128 / 32 * ${of_warp} + threadIdx.x % 32 / 4, threadIdx.x % 32);
//@ elseif in_turn then
[[maybe_unused]] const int first_row = threadIdx.x % 128 / 32 * ${of_warp} + threadIdx.x % 32 / 4;
//@ else
[[maybe_unused]] const int first_row = (int)consumer * ${rows} + threadIdx.x % 128 / 32 * ${of_warp} + threadIdx.x % 32 / 4;
//@ end
//@ if fragment_foretold() then
const int first_column = unforetold(threadIdx.x % 4 * 2);
//@ else
[[maybe_unused]] const int first_column = threadIdx.x % 4 * 2;
//@ end
//@ for _, p in ipairs(model.place) do
//@     if p.kind == "read" then
//@         local tensor, halves, pairs = nil, p.rows > 1 and 2 or 1, p.cols // 8
//@         for _, s in ipairs(model.role.consumer.step) do
//@             if has(s, "place") and s.place == p.name then tensor = s.tensor end
//@         end
${tensor}_two ${p.name}[${halves}][${pairs}];
//@     elseif p.kind == "late" then
//@         -- Packed results of the item before, by chunk; the first chunk that has not gone out; where they belong.
//@         local type, name = bytes(p.dtype) == 4 and ctype(p.dtype) or "u32", p.name
//@         local chunks, places = 0, ""
//@         for _, s in ipairs(model.role.consumer.step) do
//@             if s.op == "touch" and s.call == "hold" and s.place == name then
//@                 chunks = s.count
//@                 for d = 0, #s.at - 1 do places = places .. ", " .. name .. "_at" .. d .. " = 0" end
//@             end
//@         end
//@         local each = p.registers // chunks
${type} ${name}[${chunks}][${each}];
int ${name}_next = ${chunks}${places};
//@     elseif p.kind == "columns" then
//@         local type = ctype(p.dtype)
${type} ${p.name}[${p.registers}]; // of the columns of 32 lanes each
//@     elseif not in_memory(p) then
//@         local type = p.kind == "operand" and "u32" or ctype(p.dtype)
//@         local held = has(p, "block") and 1 or blocks
//@         local each = p.registers // held
${type} ${p.name}[${held}][${each}];
//@     end
//@     local begins = false
//@     for _, s in ipairs(p.kind == "rows" and model.role.consumer.step or {}) do
//@         local first = s.op == "global" and has(s, "tensor") and has(s, "place") and s.place == p.name
//@         begins = begins or first and s.call == s.tensor .. "_first"
//@     end
//@     if begins then
i64 ${p.name}_begin[${blocks}][2];
//@     end
//@ end
//@ include "blocks/operand_bytes.cuh" model = model, state = true, kept = true
//@ for _, r in ipairs(model.ring) do
//@     if r.filler == "own" then
${r.name}_position ${r.name}_next = {0, 0};
//@     elseif r.filler ~= "threads" and #r.tensor > 0 then
${r.name}_position ${r.name}_next = {0, 0}, ${r.name}_oldest = {0, 0};
u32 ${r.name}_stage = 0;
//@         local asked = false
//@         for _, s in ipairs(model.role.consumer.step) do asked = asked or s.op == "ask" and s.ring == r.name end
//@         if asked then
bool ${r.name}_came = false; // the next stage is known to be full
//@         end
//@     end
//@ end
//@ for _, mma in ipairs(model.mma) do
//@     if has(model, "early") and has(model.early, mma.name) then
//@         local name = mma.name
u32 ${name}_a = 0, ${name}_b = 0, ${name}_next_a, ${name}_next_b; // operands in this stage and in the next
mma_${name}_begin(${name}_next_a, ${name}_next_b, consumer);
//@     end
//@ end
//@ if has(model, "memory") then
//@     local which = model.role.consumer.instances > 1 and "consumer" or ""
products sums = products_begin(${which});
//@     for _, p in ipairs(model.place) do
//@         if p.kind == "accumulator" and not (has(model, "pieces") and has(model.pieces, p.name)) then
bool ${p.name}_flies = false; // in tensor memory are sums that its registers do not hold
//@         end
//@         if has(model, "kept") and has(model.kept, p.name) then
bool ${p.name}_kept = false; // in its registers is what tensor memory does not hold
//@         end
//@     end
//@ end
//@ if parts then
${parts.name}_position ${parts.name}_fill = {0, 0}, ${parts.name}_next = {0, 0}, ${parts.name}_oldest = {0, 0};
u32 ${parts.name}_stage = 0;
//@ end
//@ if staged then
u32 buffer = 0;
//@ end
