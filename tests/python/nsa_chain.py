"""Native sparse attention by blocks of keys as one chain on the emulator: nsa_places, nsa_queries, nsa_kv and
nsa_combine (specs/nsa_kv.lua), each on what the ones before left, against attention over each query's own list."""
import array
import math
import struct

import fake_gpu
from lab import *

driver = fake_gpu.emulator("sm_90a")
import nsa_combine_b16
import nsa_kv_b16
import nsa_places_b16
import nsa_queries_b16

for module in (nsa_places_b16, nsa_queries_b16, nsa_kv_b16, nsa_combine_b16):
    module.load(driver)

B, G, HEADS, SLOTS, D, BLOCK, TURN, SCALE = 1, 2, 4, 4, 64, 16, 64, 0.1
POISON = b"\xff"  # NaN, and no number of a query


def on_device(shape, data, code=FLOAT, bits=32):
    return tensor(shape, code, bits, data=fake_gpu.upload(data))


def whole(shape, values):
    return on_device(shape, array.array("i", values).tobytes(), INT)


def halves(shape, values):
    return on_device(shape, struct.pack("<%de" % len(values), *values), FLOAT, 16)


def read(one, form, count):
    data = fake_gpu.download(fake_gpu.read(one)[0], struct.calcsize(form) * count)
    return struct.unpack("<%d%s" % (count, form), data)


def entry(q, g, s):
    """No block, the query's own, one behind it, one twice, any before it; of some queries nothing that is seen."""
    own, pick = q // BLOCK, (q * 7 + g * 3 + s * 5) % 9
    if pick == 0 or q // 8 % 5 == 3:
        return -1
    if pick == 1:
        return own + 1
    return own if pick < 4 else (q * 31 + s * s * 17 + g) % (own + 1)


def expected(q, g, head, listed, Q, K, V):
    """Of the blocks that the list names, as often as it does: what is seen, and its logarithm."""
    seen = []
    for block in listed:
        if 0 <= block <= q // BLOCK:
            for kv in range(block * BLOCK, min(block * BLOCK + BLOCK, q + 1)):
                at = ((q * G + g) * HEADS + head) * D
                score = SCALE * sum(Q[at + e] * K[(kv * G + g) * D + e] for e in range(D))
                seen.append((score, (kv * G + g) * D))
    if not seen:
        return [0.0] * D, -math.inf
    most = max(s for s, _ in seen)
    weights = [math.exp(s - most) for s, _ in seen]
    total = sum(weights)
    return [sum(w * V[at + e] for w, (_, at) in zip(weights, seen)) / total for e in range(D)], most + math.log(total)


def chain(T, changed={}):
    """The largest error of O and LSE by what they may have; text: which is wrong. changed: entries of the kernels'
    lists alone, by their place."""
    lists = [entry(q, g, s) for q in range(T) for g in range(G) for s in range(SLOTS)]
    lengths = [(q * 5 + g) % (SLOTS + 3) - 1 for q in range(T) for g in range(G)]  # below 0 and above SLOTS too
    Q = [((i * 13) % 17 - 8) / 8 for i in range(T * G * HEADS * D)]
    K = [((i * 11) % 19 - 9) / 8 for i in range(T * G * D)]
    V = [((i * 7) % 23 - 11) / 4 for i in range(T * G * D)]
    blocks, turns = (T + BLOCK - 1) // BLOCK, (T + TURN - 1) // TURN + 1

    given = [changed.get(i, block) for i, block in enumerate(lists)]
    of = whole((B, T, G, SLOTS), given), whole((B, T, G), lengths)
    places = on_device((B, G, blocks, turns), POISON * (4 * G * blocks * turns), INT)
    queries, times = (on_device((B, G, T * SLOTS), POISON * (4 * G * T * SLOTS), INT) for _ in range(2))
    rows = T * SLOTS * HEADS
    part = on_device((B, G, rows, D), POISON * (4 * G * rows * D))
    weight = on_device((B, G, rows), POISON * (4 * G * rows))
    O = on_device((B, T, G, HEADS, D), POISON * (2 * T * G * HEADS * D), FLOAT, 16)
    LSE = on_device((B, T, G, HEADS), POISON * (4 * T * G * HEADS))

    nsa_places_b16.nsa_places_b16(*of, places)
    nsa_queries_b16.nsa_queries_b16(*of, places, queries, times)
    nsa_kv_b16.nsa_kv_b16(halves((B, T * G * HEADS, D), Q), halves((B, T, G, D), K), halves((B, T, G, D), V), places,
                          queries, times, part, weight, scale=SCALE)
    nsa_combine_b16.nsa_combine_b16(*of, places, queries, part, weight, O, LSE)

    found, logarithm = read(O, "e", T * G * HEADS * D), read(LSE, "f", T * G * HEADS)
    worst = 0
    for row in range(T * G * HEADS):
        q, g, head = row // HEADS // G, row // HEADS % G, row % HEADS
        count = min(max(lengths[q * G + g], 0), SLOTS)
        listed = lists[(q * G + g) * SLOTS:(q * G + g) * SLOTS + count]
        o, lse = expected(q, g, head, listed, Q, K, V)
        pairs = [(found[row * D + e], o[e], 2 ** -8) for e in range(D)] + [(logarithm[row], lse, 2 ** -12)]
        for got, want, bound in pairs:
            if not (got == want or abs(got - want) <= bound * max(1, abs(want))):  # NaN is neither
                return "query %d, group %d, head %d: %g, not %g" % (q, g, head, got, want)
            if got != want:
                worst = max(worst, abs(got - want) / max(1, abs(want)) / bound)
    return worst


for T in (19, 70, 131):
    result = chain(T)
    check(isinstance(result, (int, float)), "%d queries" % T, result)
wrong = chain(70, {(61 * G + 1) * SLOTS: 2})
check(isinstance(wrong, str), "one block of one list that differs is seen", wrong)
end()
