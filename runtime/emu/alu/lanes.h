/* Lanes and operations: what an instruction is when it runs, and what of a warp arithmetic sees.

   A warp is 32 lanes in lock step on registers stored lane by lane: a register of 32 bits is a row of 32 words. Each
   PTX instruction is one or more struct emu_op: a handler, and where its operands lie. A handler writes the lanes that
   execute and no others. */
#ifndef EMU_LANES_H
#define EMU_LANES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EMU_LIKELY(x) __builtin_expect(!!(x), 1)
#define EMU_UNLIKELY(x) __builtin_expect(!!(x), 0)

enum {
    EMU_LANES = 32,
    EMU_SLOT = 128 /* bytes of a 32-bit register; 64-bit ones take two slots, 128-bit ones four */
};

struct emu_warp; /* whoever runs operations says what else a warp is; it begins with its struct emu_lanes */
struct emu_op;

/* Execute op; returns the next one, or NULL after emu_stop or a switch of paths: warp->pc then says where the path
   goes on. */
typedef const struct emu_op *(*emu_handler)(struct emu_warp *warp, const struct emu_op *op);

/* One operation. d, a, b, c, e: for lanes of 32, 64 or 128 bits the byte offset in the warp's frame, or with bit 0 set
   in the module's constants; for predicates twice their number, plus 1 where negated. */
struct emu_op {
    emu_handler run;
    uint32_t d, a, b, c, e;
    uint32_t source;   /* instruction of the function, PTX_NONE: none */
    uint32_t counts;   /* PTX instructions that are executed with it: an instruction may be several operations */
    uint64_t imm;      /* address offset, flags of the handler, ... */
    const void *extra; /* struct of the handler's own */
};

/* Operands of loads, stores and everything else whose operands are a list. Offsets as in struct emu_op. */
struct emu_list {
    uint32_t count;
    uint32_t at[];
};

struct emu_lanes {
    unsigned char *base[2]; /* registers of the frame; constants of the module */
    uint32_t *preds;        /* predicates of the frame */
    uint32_t mask;          /* lanes that execute */
    uint32_t carry;         /* condition code CC.CF of the lanes */
};

static inline struct emu_lanes *emu_lanes(struct emu_warp *warp)
{
    return (struct emu_lanes *)(void *)warp;
}

static inline const struct emu_lanes *emu_lanes_of(const struct emu_warp *warp)
{
    return (const struct emu_lanes *)(const void *)warp;
}

#define EMU_EACH for (int i = 0; i < EMU_LANES; i++)

static inline void *emu_at(const struct emu_warp *warp, uint32_t offset)
{
    return emu_lanes_of(warp)->base[offset & 1] + (offset & ~1u);
}

/* Lanes of 32 and 64 bits, as source or destination, of a function whose warp is called `warp`. */
#define EMU_W(offset) ((uint32_t *)emu_at(warp, (offset)))
#define EMU_L(offset) ((uint64_t *)emu_at(warp, (offset)))

static inline uint32_t emu_pred(const struct emu_warp *warp, uint32_t operand)
{
    return emu_lanes_of(warp)->preds[operand >> 1] ^ (0u - (operand & 1));
}

static inline void emu_put_pred(struct emu_warp *warp, uint32_t operand, uint32_t bits)
{
    const struct emu_lanes *lanes = emu_lanes(warp);
    uint32_t *word = &lanes->preds[operand >> 1];
    *word = (*word & ~lanes->mask) | (bits & lanes->mask);
}

static inline uint32_t emu_carry(const struct emu_warp *warp)
{
    return emu_lanes_of(warp)->carry;
}

static inline void emu_put_carry(struct emu_warp *warp, uint32_t bits)
{
    struct emu_lanes *lanes = emu_lanes(warp);
    lanes->carry = (lanes->carry & ~lanes->mask) | (bits & lanes->mask);
}

extern const uint32_t emu_lane_bits[EMU_LANES]; /* 1 << lane */

static inline void emu_put32(struct emu_warp *warp, uint32_t offset, const uint32_t *values)
{
    uint32_t *to = EMU_W(offset);
    uint32_t mask = emu_lanes_of(warp)->mask;
    if (EMU_LIKELY(mask == UINT32_MAX)) {
        memcpy(to, values, EMU_SLOT);
        return;
    }
    for (int i = 0; i < EMU_LANES; i++)
        to[i] = (mask >> i & 1) ? values[i] : to[i];
}

static inline void emu_put64(struct emu_warp *warp, uint32_t offset, const uint64_t *values)
{
    uint64_t *to = EMU_L(offset);
    uint32_t mask = emu_lanes_of(warp)->mask;
    if (EMU_LIKELY(mask == UINT32_MAX)) {
        memcpy(to, values, 2 * EMU_SLOT);
        return;
    }
    for (int i = 0; i < EMU_LANES; i++)
        to[i] = (mask >> i & 1) ? values[i] : to[i];
}

static inline unsigned emu_first(uint32_t mask) /* lowest lane; mask not 0 */
{
    return (unsigned)__builtin_ctz(mask);
}

static inline unsigned emu_last(uint32_t mask) /* highest lane; mask not 0 */
{
    return 31u - (unsigned)__builtin_clz(mask);
}

static inline unsigned emu_count(uint32_t mask)
{
    return (unsigned)__builtin_popcount(mask);
}

#endif
