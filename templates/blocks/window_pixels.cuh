//@ -- How many pixels of the result there are along each spatial dim of an image. along: its extents, as texts.
//@ param window table
//@ param along table
//@ for d = 1, #along do
//@     local step, count = window.step[d], "(u32)" .. along[d]
//@     local room = window.before[d] + window.after[d] - window.dilation[d] * (window.taps[d] - 1) - 1
//@     if step > 1 or room ~= -1 then
//@         if room ~= 0 then count = count .. (room > 0 and " + " or " - ") .. math.abs(room) .. "u" end
//@         if step > 1 then count = (room ~= 0 and "(" .. count .. ")" or count) .. " / " .. step end
//@         count = count .. " + 1"
//@     end
const u32 pixels${d} = ${count};
//@ end
