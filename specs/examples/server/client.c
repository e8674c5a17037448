/* client SOCKET: asks a running server for the layer of some batches, and compares its answers with the same layer in
 * double precision. Exit status 1 where one is further off than bf16 allows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "protocol.h"
#include "weights.h"

static struct ffn_weights weights;

static double gelu(double x)
{
    return x / 2 * (1 + erf(x / sqrt(2)));
}

/* One row in double precision, with the hidden one rounded to bf16 as the kernels pass it on. */
static void reference(const float *x, double *out)
{
    static double hidden[FFN_HIDDEN];
    for (int h = 0; h < FFN_HIDDEN; h++) {
        double sum = from_bf16(weights.up_bias[h]);
        for (int i = 0; i < FFN_WIDTH; i++)
            sum += (double)from_bf16(to_bf16(x[i])) * from_bf16(weights.up[h][i]);
        hidden[h] = from_bf16(to_bf16((float)gelu(sum)));
    }
    for (int i = 0; i < FFN_WIDTH; i++) {
        out[i] = from_bf16(to_bf16(x[i])) + from_bf16(weights.down_bias[i]);
        for (int h = 0; h < FFN_HIDDEN; h++)
            out[i] += hidden[h] * from_bf16(weights.down[i][h]);
    }
}

/* Norm of the differences over norm of the results. */
static double error_of(const float *x, const float *got, uint32_t rows)
{
    double off = 0, all = 0, want[FFN_WIDTH];
    for (uint32_t r = 0; r < rows; r++) {
        reference(x + r * FFN_WIDTH, want);
        for (int i = 0; i < FFN_WIDTH; i++) {
            off += pow(got[r * FFN_WIDTH + i] - want[i], 2);
            all += want[i] * want[i];
        }
    }
    return sqrt(off / all);
}

static int connect_to(const char *path)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    if (server < 0 || strlen(path) >= sizeof name.sun_path)
        return -1;
    strcpy(name.sun_path, path);
    return connect(server, (struct sockaddr *)&name, sizeof name) ? -1 : server;
}

int main(int argc, char **argv)
{
    static const uint32_t batches[] = {1, 5, 64, 77, MOST_ROWS};
    static float x[MOST_ROWS * FFN_WIDTH], out[MOST_ROWS * FFN_WIDTH];
    const double bound = 1.0 / 256; /* half a step of bf16, and what rounding of the hidden rows adds */
    uint32_t state = 88172645;
    int server, worst = EXIT_SUCCESS;
    if (argc != 2) {
        fprintf(stderr, "usage: %s SOCKET\n", argv[0]);
        return 2;
    }
    if ((server = connect_to(argv[1])) < 0) {
        perror(argv[1]);
        return EXIT_FAILURE;
    }
    make_weights(&weights);
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        struct request request = {batches[i]};
        struct reply reply;
        size_t bytes = sizeof(float) * FFN_WIDTH * request.rows;
        double error;
        for (size_t k = 0; k < request.rows * (size_t)FFN_WIDTH; k++)
            x[k] = next_number(&state);
        if (!give(server, &request, sizeof request) || !give(server, x, bytes) ||
            !receive(server, &reply, sizeof reply) || reply.rows != request.rows || !receive(server, out, bytes)) {
            fprintf(stderr, "client: the server refused %u rows\n", (unsigned)request.rows);
            return EXIT_FAILURE;
        }
        error = error_of(x, out, request.rows);
        printf("%3u rows: error %.5f of at most %.5f, %u us\n", (unsigned)request.rows, error, bound,
               (unsigned)reply.microseconds);
        if (!(error <= bound))
            worst = EXIT_FAILURE;
    }
    close(server);
    return worst;
}
