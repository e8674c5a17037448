local seed = os.time()
