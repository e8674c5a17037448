/* Inputs, a function of the element's place: so slices of them are made where they are needed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor_parallel.h"

float bf16_value(uint16_t bits)
{
    const uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

uint16_t bf16_of(float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    if (value != value)
        return 0x7fff;
    return (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

/* ---- Whole numbers ----------------------------------------------------------------------------------------------- */

/* What gelu is given are multiples of 8, of which it gives itself, or 0: so it is exact. TERMS weights of a row are not
 * 0, which keeps sums below 256, all whole numbers up to which bf16 has. */
enum { TERMS = 8, GELU_STEP = 8 };

static int x_of(int64_t row, int64_t k)
{
    return (int)((uint32_t)(row * 7 + k * 3) % 5) - 2;
}

static int sign_of(int64_t row, int64_t column)
{
    return (uint32_t)(row + 2 * column) % 3 ? 1 : -1;
}

/* In steps of GELU_STEP. */
static int up_of(const struct sizes *is, int64_t h, int64_t k)
{
    return (uint32_t)(h * 3 + k) % (uint32_t)(is->in / TERMS) ? 0 : sign_of(h, k);
}

static int up_bias_of(int64_t h)
{
    return (int)(h % 3) - 1;
}

/* In steps of 1 / GELU_STEP. */
static int down_of(const struct sizes *is, int64_t n, int64_t h)
{
    return (uint32_t)(n * 5 + h) % (uint32_t)(is->hidden / TERMS) ? 0 : sign_of(n, h);
}

static int down_bias_of(int64_t n)
{
    return (int)(n % 5) - 2;
}

int whole_result(const struct sizes *is, int64_t row, int64_t column)
{
    int sum = down_bias_of(column);
    for (int64_t h = 0; h < is->hidden; h++) {
        const int weight = down_of(is, column, h);
        int inner = up_bias_of(h);
        for (int64_t k = 0; weight && k < is->in; k++)
            inner += x_of(row, k) * up_of(is, h, k);
        sum += inner > 0 ? weight * inner : 0;
    }
    return sum;
}

/* ---- Normal numbers ---------------------------------------------------------------------------------------------- */

enum { TABLE = 1 << 16 };
static uint16_t table[TABLE];

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
    return x ^ x >> 32;
}

static void make_table(double deviation)
{
    for (uint64_t i = 0; i < TABLE; i++) { /* Box and Muller's */
        const double u = (double)(mixed(2 * i + 1) >> 11) * 0x1p-53, v = (double)(mixed(2 * i + 2) >> 11) * 0x1p-53;
        table[i] = bf16_of((float)(deviation * sqrt(-2 * log(u + 0x1p-54)) * cos(6.283185307179586 * v)));
    }
}

/* ---- Tensors ----------------------------------------------------------------------------------------------------- */

enum tensor { X, UP, DOWN };

static uint16_t element(const struct sizes *is, enum tensor tensor, enum numbers numbers, int64_t row, int64_t column)
{
    if (numbers == NORMAL) {
        const int64_t width = tensor == DOWN ? is->hidden : is->in;
        return table[mixed((uint64_t)(row * width + column) * 4 + (uint64_t)tensor) % TABLE];
    }
    switch (tensor) {
    case X:
        return bf16_of((float)x_of(row, column));
    case UP:
        return bf16_of((float)(up_of(is, row, column) * GELU_STEP));
    default:
        return bf16_of((float)down_of(is, row, column) / GELU_STEP);
    }
}

/* Rows `first_row` on, columns `first_column` on, of a tensor, a piece at a time. */
static void fill(const struct layer *layer, enum tensor tensor, enum numbers numbers, uint64_t to, int64_t first_row,
                 int64_t rows, int64_t first_column, int64_t columns)
{
    const int64_t many = 1 + ((int64_t)1 << 23) / columns, piece = many < rows ? many : rows;
    uint16_t *values = malloc((size_t)(piece * columns) * sizeof *values);
    must(!values, "out of memory");
    for (int64_t done = 0; done < rows; done += piece) {
        const int64_t count = rows - done < piece ? rows - done : piece;
        for (int64_t row = 0; row < count; row++)
            for (int64_t column = 0; column < columns; column++)
                values[row * columns + column] =
                    element(&layer->is, tensor, numbers, first_row + done + row, first_column + column);
        must(cuda.upload(to + (uint64_t)(done * columns) * 2, values, (size_t)(count * columns) * sizeof *values),
             "cuMemcpyHtoD");
    }
    free(values);
}

static void fill_bias(uint64_t to, int64_t count, int64_t first, bool up, bool zero)
{
    float *values = malloc((size_t)count * sizeof *values);
    must(!values, "out of memory");
    for (int64_t i = 0; i < count; i++)
        values[i] = zero ? 0 : up ? (float)(up_bias_of(first + i) * GELU_STEP) : (float)down_bias_of(first + i);
    must(cuda.upload(to, values, (size_t)count * sizeof *values), "cuMemcpyHtoD");
    free(values);
}

void layer_fill(const struct layer *layer, enum numbers numbers, int64_t first)
{
    const struct sizes *is = &layer->is;
    const int64_t shard = is->hidden / layer->ranks;
    if (numbers == NORMAL)
        make_table(1);
    fill(layer, X, numbers, layer->x, 0, is->rows, 0, is->in);
    if (numbers == NORMAL)
        make_table(1 / sqrt((double)is->in));
    fill(layer, UP, numbers, layer->up, first, shard, 0, is->in);
    if (numbers == NORMAL)
        make_table(1 / sqrt((double)is->hidden));
    fill(layer, DOWN, numbers, layer->down, 0, is->out, first, shard);
    fill_bias(layer->up_bias, shard, first, true, false);
    fill_bias(layer->down_bias, is->out, 0, false, layer->rank != 0); /* it is added once */
    must(cuda.context_synchronize(),
         "cuCtxSynchronize"); /* copies may be under way, and streams do not wait for them */
}
