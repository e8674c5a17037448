//@ -- What single elements and pairs of tensors are read and added to by: of tensors that functions name (read), and
//@ -- where a consumer's step adds to what is there; what of a stage is read row by row; and which turns there are.
//@ param model table
//@ param read table
//@ include "blocks/listed.cuh" model = model
//@ local adds = false
//@ for _, step in ipairs(model.role.consumer.step) do adds = adds or has(step, "adds") end
//@ if adds then

//@ include "blocks/add.cuh"
//@ end

//@ local sourced = {} -- read from where bulk copies bring them: tile_source.cuh
//@ for _, r in ipairs(model.ring) do if r.filler == "own" then sourced[r.tensor[1]] = true end end
//@ for _, t in ipairs(model.tensor) do
//@     local reads = has(read, t.name) and fragment_reads(t.name) or {}
//@     if has(reads, "elements") and reads.elements then
//@ include "blocks/element.cuh" tensor = t, extent = model.extent[t.name], known = {}, still = false

//@     end
//@     if has(reads, "lines") and reads.lines then
//@ include "blocks/element_line.cuh" tensor = t, extent = model.extent[t.name]

//@     end
//@     if has(reads, "rows") and reads.rows > 0 then
//@ include "blocks/element_row.cuh" tensor = t, extent = model.extent[t.name], along = reads.rows

//@     end
//@     if has(reads, "pairs") and reads.pairs and not has(sourced, t.name) then
//@ include "blocks/tile_line.cuh" tensor = t, extent = model.extent[t.name], columns = reads.columns

//@     end
//@ end
//@ local rows, fences = {}, {}
//@ local wide = has(model, "memory") and model.memory.wide == 1 -- the 64 rows of blocks lie in turns of 16
//@ for _, step in ipairs(model.role.consumer.step) do
//@     if step.op == "fence_async" then fences[step.call] = true end
//@ end
//@ for _, step in ipairs(model.role.consumer.step) do
//@     local read = step.op == "read" and has(step, "place") and model.place[step.place].kind == "rows"
//@     if read and not rows[step.call] then
//@         rows[step.call] = true

//@ include "blocks/stage_rows.cuh" tensor = model.tensor[step.tensor],
//@     offset = model.shared[step.ring .. "." .. step.tensor].offset,
//@     blocks = model.mma[1].blocks_m * (wide and 2 or 1), height = wide and 16 or 64,
//@     fenced = has(fences, step.tensor .. "_read")
//@     end
//@ end
