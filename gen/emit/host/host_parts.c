#include "emit/host/host_parts.h"

#include <string.h>

#include "emit/host/host.h"
#include "emit/host/host_maps.h"
#include "plan/map_pointers.h"
#include "tensormap/tensormap.h"

const struct host_parts host_all_parts = {
    .cubin = true,
    .source = true,
    .ptx = true,
    .text = true,
    .maps = true,
    .windows = true,
    .pointers = true,
    .arrays = true,
    .large = true,
    .sizes = true,
    .operands = true,
    .fixed = true,
    .tuned = true,
    .lists = true,
    .counted = true,
    .workspace = true,
    .clusters = true,
    .programmatic = true,
};

/* What a map asks of a tensor, and the rules by their names. */
static void map_rules(const struct sink *s)
{
    sink_object(s, "map_rule");
    sink_integer(s, "address_bits", TW_TENSORMAP_ADDRESS_BITS);
    sink_integer(s, "stride_bits", TW_TENSORMAP_STRIDE_BITS);
    sink_integer(s, "extent_bits", TW_TENSORMAP_DIM_BITS);
    sink_integer(s, "most_extent", INT64_C(1) << TW_TENSORMAP_DIM_BITS);
    sink_text(s, "address", tw_tensormap_rule_name(TW_TENSORMAP_RULE_ADDR57));
    sink_text(s, "address_align", tw_tensormap_rule_name(TW_TENSORMAP_RULE_ADDR16));
    sink_text(s, "extent", tw_tensormap_rule_name(TW_TENSORMAP_RULE_DIM));
    sink_text(s, "stride", tw_tensormap_rule_name(TW_TENSORMAP_RULE_STRMAX));
    sink_text(s, "stride_align", tw_tensormap_rule_name(TW_TENSORMAP_RULE_STR16));
    sink_integer(s, "base", POINTERS_BASE);
    sink_integer(s, "unit", POINTERS_UNIT);
    sink_integer(s, "low_bits", POINTERS_LOW_BITS);
    sink_integer(s, "high_bits", POINTERS_HIGH_BITS);
    sink_end(s);
}

void host_parts(const struct sink *s, const struct host_parts *parts, const char *kernel)
{
    sink_text(s, "types", kernel ? kernel : "tilewright");
    sink_text(s, "linkage", kernel ? "static " : "");
    sink_boolean(s, "shared", !kernel);
    sink_object(s, "part");
    sink_boolean(s, "cubin", parts->cubin);
    sink_boolean(s, "source", parts->source);
    sink_boolean(s, "ptx", parts->ptx);
    sink_boolean(s, "text", parts->text);
    sink_boolean(s, "maps", parts->maps);
    sink_boolean(s, "windows", parts->windows);
    sink_boolean(s, "pointers", parts->pointers);
    sink_boolean(s, "arrays", parts->arrays);
    sink_boolean(s, "large", parts->large);
    sink_boolean(s, "sizes", parts->sizes);
    sink_boolean(s, "operands", parts->operands);
    sink_boolean(s, "fixed", parts->fixed);
    sink_boolean(s, "tuned", parts->tuned);
    sink_boolean(s, "lists", parts->lists);
    sink_boolean(s, "counted", parts->counted);
    sink_boolean(s, "workspace", parts->workspace);
    sink_boolean(s, "clusters", parts->clusters);
    sink_boolean(s, "programmatic", parts->programmatic);
    sink_boolean(s, "debug", parts->debug);
    sink_end(s);
    map_rules(s);
    host_map_rows(s);
}

/* ---- the launcher that kernels share ---------------------------------------------------------------------------- */

/* What it has for the linker. */
static const char *const calls[] = {"fail",           "driver_fault",    "status_words", "load_kernel",
                                    "unload_kernel",  "encode_map",      "check_size",   "check_tensors",
                                    "refuse_picture", "refuse_workspace"};

static void walk(const void *model, const struct sink *s)
{
    const struct emit_options *options = model;
    sink_object(s, NULL);
    sink_integer(s, "generator", options->generator_version);
    sink_integer(s, "rank", SPEC_MAX_RANK);
    sink_text(s, "name", "KERNEL");
    sink_boolean(s, "body", true); /* a text for any kernel: what is of some stands under #ifdef */
    sink_boolean(s, "lists", false);
    sink_boolean(s, "debug", false);
    sink_integer(s, "variants", 0);
    sink_integer(s, "workspace", 0);
    sink_array(s, "calls");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        sink_text(s, NULL, calls[i]);
    sink_end(s);
    host_parts(s, &host_all_parts, NULL);
    sink_end(s);
}

int emit_host_shared(const struct emit_options *options, char **header, char **source, struct diag_set *diags)
{
    const struct emit_model model = {.root = "host", .walk = walk, .model = options, .kernel = "tilewright_host"};
    struct emit_options plain = *options; /* what is shipped carries no #line */
    size_t length = 0, second = 0;
    plain.line_directives = false;
    *header = *source = NULL;
    int status = emit_expand("host/shared.h", &model, &plain, header, &length, diags);
    if (!status)
        status = emit_expand("host/shared.c", &model, &plain, source, &second, diags);
    if (status && *header)
        *header = memory_resize(&options->memory, *header, length + 1, 0);
    return status;
}
