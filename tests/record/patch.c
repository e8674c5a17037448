// Changes bytes of a record and makes its checksum right again.
//   patch IN OUT KIND ITEM BYTE XOR   in the payload of the section of that kind and item
//   patch IN OUT cut BYTES            the first bytes alone, checksum and all as they were
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/record.h"

static unsigned char bytes[1 << 24];

int main(int count, char **words)
{
    struct recorded_header header;
    FILE *in = count > 4 ? fopen(words[1], "rb") : NULL, *out = in ? fopen(words[2], "wb") : NULL;
    if (!out)
        return 2;
    size_t size = fread(bytes, 1, sizeof bytes, in);
    memcpy(&header, bytes, sizeof header);
    if (strcmp(words[3], "cut") == 0) {
        size = (size_t)atol(words[4]);
    } else {
        size_t at = sizeof header;
        struct recorded_section section;
        for (;; at += sizeof section + (section.bytes + 7) / 8 * 8) {
            if (at >= size)
                return 1;
            memcpy(&section, bytes + at, sizeof section);
            if (section.kind == (unsigned)atoi(words[3]) && section.item == (unsigned)atoi(words[4]))
                break;
        }
        bytes[at + sizeof section + (size_t)atol(words[5])] ^= (unsigned char)atoi(words[6]);
        header.checksum = recorded_checksum(0, bytes + sizeof header, size - sizeof header);
        memcpy(bytes, &header, sizeof header);
    }
    fwrite(bytes, 1, size, out);
    return fclose(out);
}
