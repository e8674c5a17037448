/* server SOCKET [cuda | emu | auto]: answers requests for the layer, one connection at a time, until a signal ends it.
 * A line for each request goes to stdout. */
#define _GNU_SOURCE /* ppoll */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "ffn.h"
#include "protocol.h"
#include "weights.h"

static volatile sig_atomic_t ended;

static void end(int number)
{
    (void)number;
    ended = 1;
}

/* Waits until there is something to accept or to read. 0 where a signal came: they come here and nowhere else. */
static int ready(int file)
{
    struct pollfd wait = {.fd = file, .events = POLLIN};
    sigset_t none;
    sigemptyset(&none);
    return !ended && ppoll(&wait, 1, NULL, &none) > 0 && !ended;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One request. 1, or 0 at the end of the connection. */
static int answer(struct ffn *ffn, int connection)
{
    static float x[MOST_ROWS * FFN_WIDTH], out[MOST_ROWS * FFN_WIDTH];
    struct request request;
    struct reply reply = {0, 0};
    size_t bytes;
    double start;
    if (!receive(connection, &request, sizeof request))
        return 0;
    bytes = sizeof(float) * FFN_WIDTH * request.rows;
    if (request.rows < 1 || request.rows > MOST_ROWS) {
        printf("refused: %u rows, 1 to %d are taken\n", (unsigned)request.rows, MOST_ROWS);
        give(connection, &reply, sizeof reply);
        return 0;
    }
    if (!receive(connection, x, bytes))
        return 0;
    start = now();
    if (ffn_run(ffn, x, out, request.rows)) {
        fprintf(stderr, "server: %s\n", ffn->gpu->why);
        give(connection, &reply, sizeof reply);
        return 0;
    }
    reply.rows = request.rows;
    reply.microseconds = (uint32_t)((now() - start) * 1e6);
    printf("answered: %u rows\n", (unsigned)request.rows);
    return give(connection, &reply, sizeof reply) && give(connection, out, bytes);
}

static int listen_at(const char *path)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int socket_file = socket(AF_UNIX, SOCK_STREAM, 0);
    if (socket_file < 0 || strlen(path) >= sizeof name.sun_path)
        return -1;
    strcpy(name.sun_path, path);
    unlink(path);
    return bind(socket_file, (struct sockaddr *)&name, sizeof name) || listen(socket_file, 8) ? -1 : socket_file;
}

static void serve(struct ffn *ffn, int at)
{
    while (ready(at)) {
        int connection = accept(at, NULL, NULL);
        while (connection >= 0 && ready(connection) && answer(ffn, connection))
            fflush(stdout);
        if (connection >= 0)
            close(connection);
    }
}

static void take_signals(void)
{
    struct sigaction on_end = {.sa_handler = end}, ignore = {.sa_handler = SIG_IGN};
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    sigaction(SIGTERM, &on_end, NULL);
    sigaction(SIGINT, &on_end, NULL);
    sigaction(SIGPIPE, &ignore, NULL); /* a client that has gone is a write that fails */
}

int main(int argc, char **argv)
{
    static struct ffn_weights weights;
    struct gpu gpu;
    struct ffn ffn = {.gpu = &gpu};
    int at = -1, status = EXIT_FAILURE;
    if (argc < 2) {
        fprintf(stderr, "usage: %s SOCKET [cuda | emu | auto]\n", argv[0]);
        return 2;
    }
    take_signals();
    make_weights(&weights);
    if (gpu_open(&gpu, argc > 2 ? argv[2] : "auto") || ffn_open(&ffn, &gpu, &weights)) {
        fprintf(stderr, "server: %s\n", gpu.why);
    } else if ((at = listen_at(argv[1])) < 0) {
        perror(argv[1]);
    } else {
        printf("serving on %s, %s\n", gpu.device->name, gpu.device->arch);
        fflush(stdout);
        serve(&ffn, at);
        unlink(argv[1]);
        status = EXIT_SUCCESS;
    }
    if (at >= 0)
        close(at);
    ffn_close(&ffn);
    gpu_close(&gpu);
    return status;
}
