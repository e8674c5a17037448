//@ -- What takes the place of torch's exchange, by NAME_torch.cpp.
//@ param host table
//@ local NAME = host.name
#if defined(TILEWRIGHT_TORCH)
/* Of ${NAME}_torch.cpp: torch's exchange, which is `of`, but with views that read tensors in place; NULL: it was compiled
 * for another version than this, which is torch.__version__. Both live as long as the process. */
const struct dl_exchange *${NAME}_torch(const char *version, const struct dl_exchange *of);

static const struct dl_exchange *torchs, *in_place; /* set while the module is imported; NULL: none takes its place */
#define PREFERRED(exchange) ((exchange) && (exchange) == READ(torchs) ? in_place : (exchange))
#endif
