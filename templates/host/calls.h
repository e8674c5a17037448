//@ -- What a kernel calls of the launcher that it shares with others.
//@ param host table
//@ local T = host.types
#define REFUSE(...) fail(error, ${T}_INVALID, 0, __VA_ARGS__)
int encode_map(const struct ${T}_state *k, const struct map *m, uint64_t *map, const struct tensor *t, struct ${T}_error *error);
COLD int fail(struct ${T}_error *error, int status, int result, const char *format, ...);
COLD int driver_fault(struct ${T}_error *error, int result, const char *call, const char *of);
const char *status_words(int status);
int load_kernel(struct ${T}_state *k, struct ${T}_slot *slots, const struct tables *of,
                const struct ${T}_driver *driver, const struct wanted *wanted, struct ${T}_error *error);
int unload_kernel(struct ${T}_state *k, struct ${T}_slot *slots, const struct tables *of, struct ${T}_error *error);
int check_size(const char *name, long long size, long long most, long long multiple, struct ${T}_error *error);
int check_tensors(const struct tables *of, struct tensor *tensor, int target, struct ${T}_error *error);
int refuse_picture(const char *tensor, int dim, int64_t pixels, int takes, struct ${T}_error *error);
int refuse_workspace(const void *workspace, const char *bytes, struct ${T}_error *error);
