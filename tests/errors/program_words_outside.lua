local whole = span(0, 1)
