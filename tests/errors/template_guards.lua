-- One template, in each kernel with something that the proof would not see.
local R, K = dims "R K%4"

local function copy(name)
  kernel(name) {
    template = "template_guards.cu",
    x        = tensor { R, K, dtype = "fp32", tile = { 1, 64 } },
    y        = tensor { R, K, dtype = "fp32", out = true },
    rings    = { { "x", stages = 2 } },
    grid     = { R },
    threads  = 96,
    arch     = { sm_90a = {} },
  }
end

for _, name in ipairs {
  "early_release", "one_thread", "first_turn", "never", "in_a_macro", "in_a_function", "by_goto", "by_return",
  "by_choice", "by_and", "in_a_lambda", "in_a_while", "in_a_comment", "left_out", "other_trips", "for_whoever",
  "no_wait", "no_release", "not_moved", "role_in_if", "own_arrival",
} do copy(name) end
