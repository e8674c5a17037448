dims
