//@ local e, i, f, o, p = ...
//@ e(4, 1) i(1, {}) f(2) o(3, { by = "one" })
//@ __e(0) __p.x = 1
${banner}
//@ table.sort(plan.tensor) table.insert(plan.ring, 1) next({}, 1)
//@ place_step(1) place_uniform("u", 0) fragment_step("producer", 1) fragment_uniform("u", 0) fragment_reads("x")
//@ stamp("producer", 1)
//@ local t = table.pack(fragment_foretold(), plan.role.producer, #plan, plan["x"], rawlen(plan))
//@ string.format("%s %d %q", plan, 1, "x") table.concat(plan.tensor, ",") table.unpack(plan.param)
