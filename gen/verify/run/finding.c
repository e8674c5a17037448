#include "verify/run/finding.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/json.h"
#include "emu/emu.h"

static void place_json(const char *file, uint32_t line, uint32_t ptx_line)
{
    fputs("\"file\":", stdout);
    json_text(stdout, file ? file : "");
    printf(",\"line\":%" PRIu32 ",\"ptx_line\":%" PRIu32, line, ptx_line);
}

void finding_json(const struct emu_report *report)
{
    fputs("{\"name\":", stdout);
    json_text(stdout, report->name);
    fputs(",\"text\":", stdout);
    json_text(stdout, report->text);
    fputs(",\"do\":", stdout);
    json_text(stdout, report->todo ? report->todo : "");
    printf(",\"count\":%" PRIu64 ",\"more\":%" PRIu64 ",", report->count, report->more);
    place_json(report->file, report->line, report->ptx_line);
    printf(",\"block\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "],\"warp\":%" PRIu32 ",\"address\":%" PRIu64,
           report->block[0], report->block[1], report->block[2], report->warp, report->address);
    if (report->region && *report->region) {
        fputs(",\"region\":", stdout);
        json_text(stdout, report->region);
    }
    if (report->stage >= 0)
        printf(",\"stage\":%d", report->stage);
    if (report->other_ptx_line) {
        fputs(",\"other\":{", stdout);
        place_json(report->other_file, report->other_line, report->other_ptx_line);
        putchar('}');
    }
    putchar('}');
}
