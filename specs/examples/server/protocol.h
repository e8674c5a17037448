/* What client and server say to each other on a Unix socket: struct request and rows x FFN_WIDTH floats, struct reply
 * and as many floats. Any number of requests a connection. */
#ifndef PROTOCOL_H
#define PROTOCOL_H

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

enum { MOST_ROWS = 128 };

struct request {
    uint32_t rows; /* 1 to MOST_ROWS */
};

struct reply {
    uint32_t rows; /* as many as were asked for; 0: refused, nothing follows, the connection ends */
    uint32_t microseconds;
};

/* All bytes, in as many calls as it takes. 1, or 0 where the other side has gone. */
static inline int receive(int from, void *bytes, size_t count)
{
    char *at = bytes;
    while (count > 0) {
        ssize_t got = read(from, at, count);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return 0;
        at += got;
        count -= (size_t)got;
    }
    return 1;
}

static inline int give(int to, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count > 0) {
        ssize_t put = write(to, at, count);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return 0;
        at += put;
        count -= (size_t)put;
    }
    return 1;
}

#endif
