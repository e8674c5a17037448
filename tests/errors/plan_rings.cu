// Never expanded: the Plans of plan_rings.lua are at fault.
