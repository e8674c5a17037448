//@ -- The steps of a role of a copy, as the Plan has them. The producer is one lane; of the consumer all lanes wait and
//@ -- release, and one, the same each time, stores and waits for what it stored.
//@ param model table
//@ param role table
//@ param number int
//@ local ring, steps, filling, alone = model.ring[1].name, role.step, role.name == "producer", 0
//@ local position, depth, last = filling and ring .. "_fill" or ring .. "_next", 0, 0
//@ for n, s in ipairs(steps) do
//@     if s.op == "fill" then last = n end
//@     if s.op == "release" and s.count > depth then depth = s.count end
//@ end
//@ local function of_one(s) return not filling and (s.op == "read" or s.op == "mma_commit" or s.op == "mma_wait") end
//@ local function list(s)
//@     local at, places = place_uniform("c_", table.unpack(s.at)), {}
//@     for d = 1, #s.at do places[d] = "(int)(" .. at[d] .. ")" end
//@     return at.at, csv(places)
//@ end
${ring}_position ${position} = {0, 0};
//@ if not filling then
${ring}_position ${ring}_oldest = {0, 0};
u32 held = 0; // stages that stores may still read
//@ end
//@ if profile() > 0 then
//@     local one = filling and "true" or "threadIdx.x % 32 == 0"
profile_stamps stamps = profile_begin(profile_began, ${number}, ${one});
//@ end
//@ for n, s in ipairs(steps) do
//@     local call, within = s.call, of_one(s)
//@     if within and alone == 0 then
if (elect_one()) {
//@         deeper()
//@         alone = 1
//@     elseif not within and alone == 1 then
//@         shallower()
//@         alone = 0
}
__syncwarp();
//@     end
//@     if s.op == "loop" then
#pragma unroll 1
for (u32 block = blockIdx.x; block < items; block += gridDim.x) {
//@         deeper()
//@         include "blocks/item_places.cuh" axes = model.item, first = "block"
//@     elseif s.op == "end" then
//@         shallower()
}
//@     elseif s.op == "wait_empty" or s.op == "wait_full" or s.op == "expect" then
${call}(${position});
//@     elseif s.op == "fill" or s.op == "read" then
//@         local before, places = list(s)
//@         if before == "" then
${call}(args, ${position}, ${places});
//@         else
{
    ${before}
    ${call}(args, ${position}, ${places});
}
//@         end
//@         if n == last then
${ring}_advance(${position});
//@         end
//@     elseif s.op == "mma_commit" then
${call}();
//@     elseif s.op == "mma_wait" then
//@         local left = s.count
${call}<${left}>();
//@     elseif s.op == "release" and s.count > 0 then
//@         local left = s.count
${ring}_advance(${position});
if (held == ${left})
    ${call}(${ring}_oldest);
else
    ++held;
//@     elseif s.op == "release" then
for (; held > 0; --held)
    ${call}(${ring}_oldest);
//@     elseif s.op == "drain" then
${call}(${position});
//@     end
//@     if profile() > 0 and s.op ~= "end" then
profile_mark<${n}>(stamps);
//@     end
//@ end
//@ if profile() > 0 then
profile_end(stamps, ${number});
//@ end
