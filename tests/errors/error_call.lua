error("this spec is not ready")
