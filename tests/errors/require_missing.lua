local shapes = require "shapes"
