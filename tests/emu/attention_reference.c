// Attention forward in double precision on the bytes of tests/emu/attention.sh: reads Q, K, V, O (bf16, [sequence,
// heads, 128]) and LSE (fp32, [heads, sequence]), and prints the relative Frobenius error of O and the largest error of
// LSE. Status 0 where both are within what bf16 results and approximate functions allow; 1 where not; 3 where a file is
// short.
//   usage: attention_reference DIRECTORY SEQUENCE HEADS SHARED_BY CAUSAL
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 128 };

static float from_bf16(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// `count` elements of `width` bytes of a file, or NULL.
static void *contents(const char *directory, const char *name, size_t count, size_t width)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "rb");
    void *bytes = malloc(count * width);
    if (!file || !bytes || fread(bytes, width, count, file) != count) {
        free(bytes);
        bytes = NULL;
    }
    if (file)
        fclose(file);
    return bytes;
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 3;
    size_t sequence = strtoul(argv[2], NULL, 10), heads = strtoul(argv[3], NULL, 10);
    size_t shared_by = strtoul(argv[4], NULL, 10), causal = strtoul(argv[5], NULL, 10);
    size_t kv_heads = heads / shared_by, count = sequence * heads * SIZE, kv_count = sequence * kv_heads * SIZE;
    uint16_t *q = contents(argv[1], "Q", count, 2), *o = contents(argv[1], "O", count, 2);
    uint16_t *k = contents(argv[1], "K", kv_count, 2), *v = contents(argv[1], "V", kv_count, 2);
    float *lse = contents(argv[1], "LSE", sequence * heads, 4);
    double *p = malloc(sequence * sizeof *p);
    int status = 3;
    if (!q || !k || !v || !o || !lse || !p)
        goto end;
    double wrong = 0.0, all = 0.0, lse_wrong = 0.0;
    for (size_t head = 0; head < heads; ++head)
        for (size_t row = 0; row < sequence; ++row) {
            const uint16_t *q_row = q + (row * heads + head) * SIZE, *o_row = o + (row * heads + head) * SIZE;
            size_t seen = causal ? row + 1 : sequence, kv_head = head / shared_by;
            double most = -INFINITY, sum = 0.0;
            for (size_t at = 0; at < seen; ++at) {
                const uint16_t *k_row = k + (at * kv_heads + kv_head) * SIZE;
                p[at] = 0.0;
                for (size_t d = 0; d < SIZE; ++d)
                    p[at] += (double)from_bf16(q_row[d]) * (double)from_bf16(k_row[d]);
                p[at] /= sqrt(SIZE);
                most = fmax(most, p[at]);
            }
            for (size_t at = 0; at < seen; ++at)
                sum += p[at] = exp(p[at] - most);
            for (size_t d = 0; d < SIZE; ++d) {
                double want = 0.0;
                for (size_t at = 0; at < seen; ++at)
                    want += p[at] * (double)from_bf16(v[(at * kv_heads + kv_head) * SIZE + d]);
                want /= sum;
                wrong += pow((double)from_bf16(o_row[d]) - want, 2.0);
                all += want * want;
            }
            double off = fabs((double)lse[head * sequence + row] - most - log(sum));
            lse_wrong = off <= lse_wrong ? lse_wrong : off; // a NaN stays
        }
    double error = sqrt(wrong / all);
    printf("O %.2g LSE %.2g\n", error, lse_wrong);
    status = !(error < 4e-3 && lse_wrong < 1e-4);
end:
    free(q);
    free(k);
    free(v);
    free(o);
    free(lse);
    free(p);
    return status;
}
