/* A stand-in for NCCL between processes of one machine, over POSIX shared memory: what it is asked for is work on the
 * stream, a copy to the host, a call of the host in which the ranks meet, and a copy back. Sums are of bf16 or fp32,
 * made in fp32 in the order of the ranks and rounded once. One stream a communicator. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tensor_parallel.h"

enum { OK, FAILED = 1, INVALID = 4 }; /* of ncclResult_t */
enum { FP32 = 7, ROOM = 1 << 20 };    /* bytes of a rank */

struct meeting { /* what the ranks share; each one's bytes stand behind it */
    atomic_uint arrived, phase;
};

struct communicator {
    int rank, ranks;
    struct meeting *meeting;
    char result[ROOM];
};

/* A collective that a stream comes to. It stays, as a graph may come to it again. */
struct call {
    struct communicator *of;
    size_t first, count; /* elements of the sum, or of what was gathered, that this rank gets */
    size_t each;         /* elements of a rank */
    int type;
    bool adds;
};

static int (*copy_down)(void *to, uint64_t from, size_t bytes, void *stream);
static int (*copy_up)(uint64_t to, const void *from, size_t bytes, void *stream);
static int (*call_host)(void *stream, void (*function)(void *data), void *data);

int ncclGetVersion(int *version);
int ncclGetUniqueId(struct nccl_id *id);
int ncclCommInitRank(void **communicator, int ranks, struct nccl_id id, int rank);
int ncclCommDestroy(void *communicator);
int ncclAllReduce(const void *from, void *to, size_t count, int type, int operation, void *communicator, void *stream);
int ncclReduceScatter(const void *from, void *to, size_t count, int type, int operation, void *communicator,
                      void *stream);
int ncclAllGather(const void *from, void *to, size_t count, int type, void *communicator, void *stream);

static char *bytes_of(const struct communicator *c, int rank)
{
    return (char *)(c->meeting + 1) + (size_t)rank * ROOM;
}

static void meet_ranks(const struct communicator *c)
{
    struct meeting *meeting = c->meeting;
    const unsigned phase = atomic_load(&meeting->phase);
    if (atomic_fetch_add(&meeting->arrived, 1) + 1 == (unsigned)c->ranks) {
        atomic_store(&meeting->arrived, 0);
        atomic_store(&meeting->phase, phase + 1);
    } else
        while (atomic_load(&meeting->phase) == phase)
            usleep(20);
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

static float value_at(const char *bytes, size_t i, int type)
{
    float value;
    if (type == FP32)
        memcpy(&value, bytes + i * 4, sizeof value);
    else {
        uint16_t half;
        uint32_t word;
        memcpy(&half, bytes + i * 2, sizeof half);
        word = (uint32_t)half << 16;
        memcpy(&value, &word, sizeof value);
    }
    return value;
}

static void put(char *bytes, size_t i, int type, float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    if (type == FP32)
        memcpy(bytes + i * 4, &word, sizeof word);
    else {
        const uint16_t half = value != value ? (uint16_t)0x7fff : (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
        memcpy(bytes + i * 2, &half, sizeof half);
    }
}

static void collect(void *data)
{
    const struct call *call = data;
    struct communicator *c = call->of;
    meet_ranks(c); /* all have copied theirs down */
    for (size_t i = 0; i < call->count; i++) {
        const size_t at = call->first + i;
        float value = 0;
        if (!call->adds)
            value = value_at(bytes_of(c, (int)(at / call->each)), at % call->each, call->type);
        for (int r = 0; r < c->ranks && call->adds; r++)
            value += value_at(bytes_of(c, r), at, call->type);
        put(c->result, i, call->type, value);
    }
    meet_ranks(c); /* all have read them */
}

static int enqueue(const void *from, void *to, struct call call, void *stream)
{
    const size_t size = call.type == FP32 ? 4 : 2;
    struct call *kept = malloc(sizeof *kept);
    if (!kept || (call.type != FP32 && call.type != NCCL_BF16) || call.each * size > ROOM || call.count * size > ROOM)
        return free(kept), INVALID;
    *kept = call;
    if (copy_down(bytes_of(call.of, call.of->rank), (uint64_t)(uintptr_t)from, call.each * size, stream) ||
        call_host(stream, collect, kept) ||
        copy_up((uint64_t)(uintptr_t)to, call.of->result, call.count * size, stream))
        return FAILED;
    return OK;
}

/* ---- The interface ----------------------------------------------------------------------------------------------- */

int ncclGetVersion(int *version)
{
    *version = 1;
    return OK;
}

int ncclGetUniqueId(struct nccl_id *id)
{
    memset(id, 0, sizeof *id);
    snprintf(id->bytes, sizeof id->bytes, "/tilewright_nccl_%d", (int)getpid());
    return OK;
}

int ncclCommInitRank(void **communicator, int ranks, struct nccl_id id, int rank)
{
    const size_t bytes = sizeof(struct meeting) + (size_t)ranks * ROOM;
    struct communicator *c = calloc(1, sizeof *c);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    const int file = shm_open(id.bytes, O_RDWR | O_CREAT, 0600);
    if (!c || !driver || file < 0 || ftruncate(file, (off_t)bytes))
        return FAILED;
    c->rank = rank;
    c->ranks = ranks;
    c->meeting = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    *(void **)&copy_down = dlsym(driver, "cuMemcpyDtoHAsync_v2");
    *(void **)&copy_up = dlsym(driver, "cuMemcpyHtoDAsync_v2");
    *(void **)&call_host = dlsym(driver, "cuLaunchHostFunc");
    if (c->meeting == MAP_FAILED || !copy_down || !copy_up || !call_host)
        return FAILED;
    meet_ranks(c);
    shm_unlink(id.bytes); /* whoever is first; all have it */
    *communicator = c;
    return OK;
}

int ncclCommDestroy(void *communicator)
{
    struct communicator *c = communicator;
    munmap(c->meeting, sizeof *c->meeting + (size_t)c->ranks * ROOM);
    free(c);
    return OK;
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int operation, void *communicator, void *stream)
{
    const struct call call = {communicator, 0, count, count, type, true};
    return operation == NCCL_SUM ? enqueue(from, to, call, stream) : INVALID;
}

int ncclReduceScatter(const void *from, void *to, size_t count, int type, int operation, void *communicator,
                      void *stream)
{
    struct communicator *c = communicator;
    const struct call call = {c, (size_t)c->rank * count, count, (size_t)c->ranks * count, type, true};
    return operation == NCCL_SUM ? enqueue(from, to, call, stream) : INVALID;
}

int ncclAllGather(const void *from, void *to, size_t count, int type, void *communicator, void *stream)
{
    struct communicator *c = communicator;
    const struct call call = {c, 0, (size_t)c->ranks * count, count, type, false};
    return enqueue(from, to, call, stream);
}
