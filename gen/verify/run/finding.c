#include "verify/run/finding.h"

#include <stdio.h>

#include <json-c/json.h>

#include "common/json.h"
#include "emu/emu.h"

static void add_place(json_object *o, const char *file, uint32_t line, uint32_t ptx_line)
{
    json_add_text(o, "file", file ? file : "");
    json_add_number(o, "line", line);
    json_add_number(o, "ptx_line", ptx_line);
}

json_object *finding_object(const struct emu_report *report)
{
    json_object *o = json_object_new_object(), *block = o ? json_object_new_array() : NULL, *other;
    if (!block)
        return o;
    json_add_text(o, "name", report->name);
    json_add_text(o, "text", report->text);
    json_add_text(o, "do", report->todo ? report->todo : "");
    json_add_number(o, "count", report->count);
    json_add_number(o, "more", report->more);
    add_place(o, report->file, report->line, report->ptx_line);
    for (int i = 0; i < 3; i++)
        json_object_array_add(block, json_object_new_int64(report->block[i]));
    json_object_object_add(o, "block", block);
    json_add_number(o, "warp", report->warp);
    json_add_number(o, "address", report->address);
    if (report->region && *report->region)
        json_add_text(o, "region", report->region);
    if (report->stage >= 0)
        json_add_number(o, "stage", (uint64_t)report->stage);
    if (report->other_ptx_line && (other = json_object_new_object())) {
        add_place(other, report->other_file, report->other_line, report->other_ptx_line);
        json_object_object_add(o, "other", other);
    }
    return o;
}
