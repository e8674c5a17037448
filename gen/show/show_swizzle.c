/* Where the elements of a tile lie in shared memory. Every address comes from tw_swizzle. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "show/show.h"

enum { CHUNK = 16, LINE = 128, BANKS = 32, BANK = 4, LANES = 32, ROWS_MOST = 4096, CHUNKS_MOST = 1024 };

/* One box in shared memory: rows of `bytes`, `pitch` apart. */
struct box {
    enum tw_swizzle swizzle;
    enum tw_dtype dtype;
    int rows, columns, bytes, pitch;
    int boxes, box_bytes; /* of the tile: lie behind each other */
    char title[256];
};

static uint32_t place(const struct box *b, int row, int byte)
{
    return tw_swizzle(b->swizzle, (uint32_t)(row * b->pitch + byte));
}

/* Which 16 of the 128 bytes of all banks. */
static int position(const struct box *b, int row, int chunk)
{
    return (int)(place(b, row, chunk * CHUNK) % LINE / CHUNK);
}

/* Rows after which the pattern is the same again, no more than there are. */
static int period(const struct box *b)
{
    int repeat = 1;
    for (; repeat < b->rows; repeat++) {
        bool same = true;
        for (int row = 0; row + repeat < b->rows && same; row++)
            for (int chunk = 0; chunk < b->bytes / CHUNK && same; chunk++)
                same = position(b, row, chunk) == position(b, row + repeat, chunk);
        if (same)
            break;
    }
    return repeat;
}

/* ---- bank conflicts -------------------------------------------------------------------------------------------- */

/* One instruction's lanes: lane i accesses `bytes` bytes at row first_row + i / across % down, and along the row
 * first_byte + i % across * step. bytes and step 0: the element's. */
struct pattern {
    const char *name, *who;
    int lanes, across, bytes, step;
};

/* Lanes that go at a time: 32 up to 4 bytes each, 16 of 8 bytes, 8 of 16 bytes. */
static const struct pattern pattern_all[] = {
    {"8 rows of one chunk", "ldmatrix, stmatrix, wgmma core matrix", 8, 1, CHUNK, CHUNK},
    {"8 chunks along rows", "cp.async, ld.shared.v4", 8, 0, CHUNK, CHUNK},
    {"one element of 32 rows", "a column read by a warp", 32, 1, 0, 0},
    {"32 words along rows", "a row read by a warp", 32, 0, BANK, BANK},
    {"8 rows x 4 pairs", "an mma fragment, st.shared", 32, 4, -2, -2},
};

/* The ways of a conflict: how many different words of one bank the lanes want at most. */
static int ways(const uint32_t *address, int lanes, int bytes)
{
    uint32_t word[LANES * CHUNK / BANK];
    int count = 0, most = 0, in_bank[BANKS] = {0};
    for (int i = 0; i < lanes; i++)
        for (int at = 0; at < bytes; at += BANK) {
            uint32_t w = (address[i] + (uint32_t)at) / BANK;
            bool seen = false;
            for (int k = 0; k < count && !seen; k++)
                seen = word[k] == w;
            if (seen)
                continue;
            word[count++] = w;
            in_bank[w % BANKS]++;
            most = in_bank[w % BANKS] > most ? in_bank[w % BANKS] : most;
        }
    return most;
}

/* The worst over all places of the box where the pattern can begin; 0 where it does not fit. */
static int conflicts(const struct box *b, const struct pattern *p)
{
    int size = (int)tw_dtype_bytes(b->dtype), worst = 0;
    int bytes = p->bytes > 0 ? p->bytes : p->bytes < 0 ? -p->bytes * size : size;
    int step = p->step > 0 ? p->step : bytes, at_once = bytes > 8 ? 8 : bytes > 4 ? 16 : 32;
    int across = p->across ? p->across : b->bytes / step;
    if (p->lanes < at_once)
        at_once = p->lanes;
    across = across > p->lanes ? p->lanes : across;
    if (!across || bytes > CHUNK || across * step > b->bytes || (p->lanes + across - 1) / across > b->rows)
        return 0;
    int down = (p->lanes + across - 1) / across;
    for (int row = 0; row + down <= b->rows; row += down)
        for (int byte = 0; byte + across * step <= b->bytes; byte += across * step)
            for (int first = 0; first < p->lanes; first += at_once) {
                uint32_t address[LANES];
                for (int i = 0; i < at_once; i++)
                    address[i] = place(b, row + (first + i) / across, byte + (first + i) % across * step);
                int found = ways(address, at_once, bytes);
                worst = found > worst ? found : worst;
            }
    return worst;
}

/* ---- text ------------------------------------------------------------------------------------------------------ */

static void number(int value, char *out, size_t room)
{
    if (value)
        snprintf(out, room, "%d", value);
    else
        snprintf(out, room, "-");
}

static void print_access(const struct box *b)
{
    struct box plain = *b;
    char with[16], without[16];
    plain.swizzle = TW_SWIZZLE_NONE;
    printf("\nbank conflicts, in ways: 1 is none, n takes n times as long\n  %-24s%-40s%4s  %s\n", "lanes",
           "for example", tw_swizzles[b->swizzle].name, b->swizzle == TW_SWIZZLE_NONE ? "" : "without");
    for (size_t i = 0; i < sizeof pattern_all / sizeof *pattern_all; i++) {
        number(conflicts(b, &pattern_all[i]), with, sizeof with);
        number(conflicts(&plain, &pattern_all[i]), without, sizeof without);
        printf("  %-24s%-40s%4s", pattern_all[i].name, pattern_all[i].who, with);
        printf(b->swizzle == TW_SWIZZLE_NONE ? "\n" : "  %7s\n", without);
    }
}

static void print_box(const struct box *b)
{
    int chunks = b->bytes / CHUNK, repeat = period(b), shown = chunks > 24 ? 24 : chunks;
    printf("%s\n", b->title);
    printf("swizzle %s: box of %d rows x %d %s, %d bytes of a row, rows %d bytes apart, %d chunks of 16 bytes\n",
           tw_swizzles[b->swizzle].name, b->rows, b->columns, tw_dtype_name(b->dtype), b->bytes, b->pitch, chunks);
    if (b->boxes > 1)
        printf("%d boxes make the tile, each %d bytes behind the one before\n", b->boxes, b->box_bytes);
    if (tw_swizzles[b->swizzle].mask)
        printf("the box begins at a multiple of %u bytes; address ^= address >> 3 & 0x%x\n",
               tw_swizzles[b->swizzle].align, tw_swizzles[b->swizzle].mask);
    printf("\nposition p of each chunk in its 128 bytes: banks 4 p .. 4 p + 3\n  %5s  %6s  chunk", "row", "byte");
    for (int c = 0; c < shown; c++)
        printf(" %2d", c);
    puts(shown < chunks ? " ..." : "");
    for (int row = 0; row < repeat && row < b->rows; row++) {
        printf("  %5d  %6d       ", row, row * b->pitch);
        for (int c = 0; c < shown; c++)
            printf("%s %2d%s", show_paint(position(b, row, c)), position(b, row, c), show_unpaint());
        puts(shown < chunks ? " ..." : "");
    }
    if (repeat < b->rows)
        printf("  rows %d..%d repeat %s\n", repeat, b->rows - 1, repeat == 1 ? "row 0" : "them");
    print_access(b);
}

/* --at ROW,COLUMN. 0 or 2. */
static int read_element(const struct box *b, const char *at, int *row, int *column)
{
    char rest;
    if (sscanf(at, "%9d,%9d%c", row, column, &rest) != 2 || *row < 0 || *column < 0)
        return options_fault("show", "--at %s: write ROW,COLUMN", at);
    if (*row >= b->rows || *column >= b->columns)
        return options_fault("show", "--at %s: the box has %d rows and %d columns", at, b->rows, b->columns);
    return 0;
}

static void print_element(const struct box *b, int row, int column)
{
    int size = (int)tw_dtype_bytes(b->dtype);
    uint32_t byte = place(b, row, column * size);
    printf("\nelement (%d, %d): byte %u of the box (%d without swizzle), chunk %d at position %u, bank %u\n", row,
           column, byte, row * b->pitch + column * size, column * size / CHUNK, byte % LINE / CHUNK,
           byte / BANK % BANKS);
}

/* ---- SVG ------------------------------------------------------------------------------------------------------- */

enum { CELL_WIDTH = 34, CELL_HEIGHT = 20, LEFT = 70, TOP = 78, GAP = 110, DRAWN_ROWS = 32, DRAWN_CHUNKS = 16 };

static int draw(struct svg *svg, const struct box *b, const char *path, struct tw_error *error)
{
    int chunks = b->bytes / CHUNK, rows = period(b) < 8 ? 8 : period(b);
    rows = rows > b->rows ? b->rows : rows > DRAWN_ROWS ? DRAWN_ROWS : rows;
    int columns = chunks > DRAWN_CHUNKS ? DRAWN_CHUNKS : chunks;
    int lines = (rows * b->pitch + LINE - 1) / LINE;
    lines = lines > DRAWN_ROWS ? DRAWN_ROWS : lines;
    int second = LEFT + columns * CELL_WIDTH + GAP, tall = rows > lines ? rows : lines;
    int patterns = (int)(sizeof pattern_all / sizeof *pattern_all);
    int below = TOP + tall * CELL_HEIGHT + 50, width = second + 8 * CELL_WIDTH + 30;
    char note[200];
    width = width < 900 ? 900 : width;
    svg_begin(svg, width, below + (patterns + 2) * 18 + 10, b->title);
    svg_text(svg, 20, 24, 15, SVG_LEFT, "%s", b->title);
    svg_text(svg, LEFT, TOP - 30, 12, SVG_LEFT, "the tensor: where each chunk goes");
    svg_text(svg, second, TOP - 30, 12, SVG_LEFT, "shared memory: which row.chunk lies there");
    for (int c = 0; c < columns; c++)
        svg_text(svg, LEFT + c * CELL_WIDTH + CELL_WIDTH / 2.0, TOP - 8, 11, SVG_MIDDLE, "%d", c);
    for (int row = 0; row < rows; row++) {
        svg_text(svg, LEFT - 8, TOP + row * CELL_HEIGHT + 14, 11, SVG_RIGHT, "row %d", row);
        for (int c = 0; c < columns; c++) {
            int at = position(b, row, c), x = LEFT + c * CELL_WIDTH, y = TOP + row * CELL_HEIGHT;
            uint32_t byte = place(b, row, c * CHUNK);
            snprintf(note, sizeof note, "row %d, chunk %d (bytes %d..%d): byte %u, banks %d..%d", row, c, c * CHUNK,
                     c * CHUNK + CHUNK - 1, byte, 4 * at, 4 * at + 3);
            svg_box(svg, x, y, CELL_WIDTH - 1, CELL_HEIGHT - 1, show_colour[at], note);
            svg_text(svg, x + CELL_WIDTH / 2.0, y + 14, 11, SVG_MIDDLE, "%d", at);
            if ((int)(byte / LINE) >= lines)
                continue;
            x = second + at * CELL_WIDTH;
            y = TOP + (int)(byte / LINE) * CELL_HEIGHT;
            svg_box(svg, x, y, CELL_WIDTH - 1, CELL_HEIGHT - 1, show_colour[at], note);
            svg_text(svg, x + CELL_WIDTH / 2.0, y + 14, 10, SVG_MIDDLE, "%d.%d", row, c);
        }
    }
    for (int p = 0; p < 8; p++)
        svg_text(svg, second + p * CELL_WIDTH + CELL_WIDTH / 2.0, TOP - 8, 10, SVG_MIDDLE, "b%d", 4 * p);
    for (int line = 0; line < lines; line++)
        svg_text(svg, second - 8, TOP + line * CELL_HEIGHT + 14, 11, SVG_RIGHT, "+%d", line * LINE);
    svg_text(svg, LEFT, TOP + tall * CELL_HEIGHT + 18, 11, SVG_LEFT, "%s%s",
             rows < b->rows ? "what follows repeats this; " : "",
             "a cell is 16 bytes; colours are the banks that it lies in");
    svg_text(svg, 20, below, 12, SVG_LEFT, "bank conflicts, in ways (1: none)");
    for (int i = 0; i < patterns; i++) {
        char ways_text[16];
        number(conflicts(b, &pattern_all[i]), ways_text, sizeof ways_text);
        svg_text(svg, 20, below + 18 * (i + 1), 12, SVG_LEFT, "%4s  %-24s%s", ways_text, pattern_all[i].name,
                 pattern_all[i].who);
    }
    svg_end(svg);
    return svg_write(svg, path, error);
}

/* ---- which box ------------------------------------------------------------------------------------------------- */

static int from_words(struct box *b, const char *swizzle, const char *dtype, const char *size)
{
    const char *names[TW_SWIZZLE_COUNT + 1] = {NULL};
    char rest;
    int found = -1;
    for (int i = 0; i < TW_SWIZZLE_COUNT; i++) {
        names[i] = tw_swizzles[i].name;
        found = strcmp(swizzle, names[i]) == 0 ? i : found;
    }
    if (found < 0) {
        const char *near = diag_suggest(swizzle, names);
        return options_fault("show", "there is no swizzle '%s'; %s%s", swizzle,
                             near ? "did you mean "
                                  : "write NONE, 32B, "
                                    "64B or 128B",
                             near ? near : "");
    }
    b->swizzle = (enum tw_swizzle)found;
    b->dtype = tw_dtype_from_name(dtype);
    if (b->dtype == TW_DTYPE_COUNT) {
        const char *types[TW_DTYPE_COUNT + 1] = {NULL};
        for (int i = 0; i < TW_DTYPE_COUNT; i++)
            types[i] = tw_dtype_name((enum tw_dtype)i);
        const char *near = diag_suggest(dtype, types);
        return options_fault("show", "--dtype %s: there is no such type; %s%s", dtype,
                             near ? "did you mean " : "write one such as bf16, fp16, fp8_e4m3, tf32, fp32, int8",
                             near ? near : "");
    }
    int unit = (int)tw_dtype_bytes(b->dtype), span = (int)tw_swizzles[found].span;
    b->rows = 64;
    b->columns = (span ? span : 128) / unit;
    if (size && sscanf(size, "%9d,%9d%c", &b->rows, &b->columns, &rest) != 2)
        return options_fault("show", "--box %s: write ROWS,COLUMNS, as 64,64", size);
    if (b->rows < 1 || b->rows > ROWS_MOST || b->columns < 1 || b->columns > CHUNKS_MOST)
        return options_fault("show", "--box %d,%d: at most %d rows and %d columns", b->rows, b->columns, ROWS_MOST,
                             CHUNKS_MOST);
    b->bytes = b->columns * unit;
    if (b->bytes % CHUNK)
        return options_fault("show", "--box: %d %s are %d bytes, no multiple of 16; write %d columns", b->columns,
                             dtype, b->bytes, (b->bytes + CHUNK - 1) / CHUNK * CHUNK / unit);
    if (span && b->bytes > span)
        return options_fault("show",
                             "--box: %d %s are %d bytes, wider than the %d-byte span of swizzle %s; write %d, or a "
                             "wider swizzle [TMA-SPAN]",
                             b->columns, dtype, b->bytes, span, swizzle, span / unit);
    b->pitch = span ? span : b->bytes;
    b->boxes = 1;
    b->box_bytes = b->rows * b->pitch;
    snprintf(b->title, sizeof b->title, "%d x %d %s, swizzle %s", b->rows, b->columns, dtype, swizzle);
    return 0;
}

static int no_tensor(const struct compile *c, const struct plan *p, const char *tensor)
{
    fprintf(stderr, "tilewright %s: ", c->command);
    if (tensor)
        fprintf(stderr, "kernel '%s' on %s has no tile of '%s' in shared memory; it has", p->kernel, p->arch, tensor);
    else
        fputs("which tensor? write --tensor and one of", stderr);
    const char *comma = "";
    for (int i = 0; i < p->tensor_count; i++)
        if (p->tensor[i].tile_bytes > 0) {
            fprintf(stderr, "%s %s", comma, p->tensor[i].name);
            comma = ",";
        }
    fputs(*comma ? "\n" : " none\n", stderr);
    return tensor ? 1 : 2;
}

static int from_plan(struct box *b, const struct compile *c, const struct plan *p, const char *name)
{
    const struct plan_tensor *t = NULL;
    for (int i = 0; i < p->tensor_count && name; i++)
        if (strcmp(p->tensor[i].name, name) == 0 && p->tensor[i].tile_bytes > 0)
            t = &p->tensor[i];
    if (!t)
        return no_tensor(c, p, name);
    int size = (int)tw_dtype_bytes(t->dtype), rows = 1;
    for (int d = 0; d + 1 < t->rank; d++)
        rows *= t->tile[d] ? t->tile[d] : 1;
    b->swizzle = t->swizzle;
    b->dtype = t->dtype;
    b->rows = rows;
    b->pitch = t->box_bytes / rows;
    b->bytes = t->tile[t->rank - 1] / t->boxes * size;
    b->columns = b->bytes / size;
    b->boxes = t->boxes;
    b->box_bytes = t->box_bytes;
    snprintf(b->title, sizeof b->title, "kernel %s on %s%s%s, tile of %s", p->kernel, p->arch,
             p->variant && *p->variant ? ", variant " : "", p->variant ? p->variant : "", t->name);
    if (b->rows > ROWS_MOST || b->bytes / CHUNK > CHUNKS_MOST || b->bytes % CHUNK) {
        fprintf(stderr, "tilewright %s: a tile of %d rows x %d bytes cannot be shown in chunks of 16 bytes\n",
                c->command, b->rows, b->bytes);
        return 1;
    }
    return 0;
}

static int draw_file(const struct box *b, const char *path)
{
    struct tw_error error;
    struct tw_runtime rt;
    int code = tw_runtime_init(&rt, &error);
    if (code == TW_OK) {
        struct svg svg = {.rt = &rt};
        code = draw(&svg, b, path, &error);
        svg_free(&svg);
    }
    if (code != TW_OK)
        fprintf(stderr, "tilewright show: %s\n", error.text);
    return tw_status_exit(code);
}

static int finish(const struct box *b, const char *at, const char *path)
{
    int row = 0, column = 0;
    int status = at ? read_element(b, at, &row, &column) : 0;
    if (status == 0 && path)
        status = draw_file(b, path);
    if (status)
        return status;
    print_box(b);
    if (at)
        print_element(b, row, column);
    return 0;
}

int show_swizzle(int argc, char **argv)
{
    struct compile_choice choice = {.pick = show_newest, .variant = NULL};
    const char *path = NULL, *tensor = NULL, *swizzle = NULL, *dtype = NULL, *size = NULL, *picture = NULL, *at = NULL;
    int operands;
    const struct option_row rows[] = {
        {"--kernel", OPTION_TEXT, &choice.kernel, "K", "of the spec"},
        {"--arch", OPTION_TEXT, &choice.arch, "A", "the newest of the kernel's by default"},
        {"--variant", OPTION_TEXT, &choice.variant, "V", "by name or number; the first"},
        {"--tensor", OPTION_TEXT, &tensor, "T", "whose tile is shown"},
        {"--swizzle", OPTION_TEXT, &swizzle, "S", "without a spec: NONE, 32B, 64B or 128B"},
        {"--dtype", OPTION_TEXT, &dtype, "TYPE", "without a spec: bf16"},
        {"--box", OPTION_TEXT, &size, "ROWS,COLUMNS", "without a spec: 64 rows as wide as the swizzle"},
        {"--at", OPTION_TEXT, &at, "ROW,COLUMN", "where that element lies"},
        {"--svg", OPTION_TEXT, &picture, "FILE", "the same as a picture"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    struct box box;
    int status = options_parse("show", rows, argc, argv, &path, 1, &operands);
    memset(&box, 0, sizeof box);
    if (status >= 0)
        return status;
    if (!operands) {
        if (!swizzle)
            return options_fault("show", "which tile? write SPEC --tensor A, or --swizzle 128B");
        if (choice.kernel || choice.arch || choice.variant || tensor)
            return options_fault("show", "--kernel, --arch, --variant and --tensor go with a spec");
        status = from_words(&box, swizzle, dtype ? dtype : "bf16", size);
        return status ? status : finish(&box, at, picture);
    }
    if (swizzle || dtype || size)
        return options_fault("show", "--swizzle, --dtype and --box go without a spec");
    struct compile c;
    status = compile_open(&c, "show", path);
    if (status == 0)
        status = show_one_kernel(&c, &choice);
    if (status == 0)
        status = compile_units(&c, &choice);
    compile_report(&c);
    if (status == 0)
        status = from_plan(&box, &c, &c.unit[0].plan, tensor);
    if (status == 0)
        status = finish(&box, at, picture);
    compile_close(&c);
    return status;
}
