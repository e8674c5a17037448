/* The rows of bench SPEC: a table a group, what they come to over all sizes, and JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "bench/kernels.h"
#include "common/json.h"
#include "verify/layout.h"

enum { SYMBOLS = 256 };

static const char ours[] = "tilewright";

struct bench_result *bench_add_row(struct bench *b)
{
    if ((b->rows & (b->rows - 1)) == 0) {
        struct bench_result *grown =
            tw_realloc(&b->compile.rt, b->row, sizeof *grown * (size_t)(b->rows ? 2 * b->rows : 1));
        if (!grown)
            return NULL;
        b->row = grown;
    }
    struct bench_result *row = &b->row[b->rows++];
    memset(row, 0, sizeof *row);
    row->algorithm = -1;
    return row;
}

void bench_free_rows(struct bench *b)
{
    tw_free(&b->compile.rt, b->row);
}

static bool is_ours(const struct bench_result *row)
{
    return strcmp(row->backend, ours) == 0;
}

void bench_set_ratios(struct bench *b, int first)
{
    double best[TIME_MODES] = {0};
    for (int i = first; i < b->rows; i++) {
        const struct bench_result *r = &b->row[i];
        if (!is_ours(r) && r->timed && (best[r->mode] <= 0.0 || r->time.median < best[r->mode]))
            best[r->mode] = r->time.median;
    }
    for (int i = first; i < b->rows; i++)
        if (b->row[i].timed && b->row[i].time.median > 0.0)
            b->row[i].ratio = best[b->row[i].mode] / b->row[i].time.median;
}

/* Whether it is more than the problem that its peer solves. */
static bool is_fused(const struct bench_result *row)
{
    return is_ours(row) && row->unit->kernel->peer.problem && !row->plain;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static double rate(double amount, const struct bench_result *r)
{
    return r->time.median > 0.0 ? amount / r->time.median : 0.0;
}

/* Clocks in which each multiprocessor has one box more; 0 where the clock is not known. */
static double clocks_a_box(const struct bench *b, const struct bench_result *r)
{
    return r->boxes > 0.0 ? r->time.median * 1e6 * r->time.clock_mhz * b->device->sm_count / r->boxes : 0.0;
}

static void print_row(const struct bench *b, const struct bench_result *r)
{
    char name[64], clock[80] = "";
    snprintf(name, sizeof name, "%s%s", is_ours(r) ? r->kernel : r->backend, is_fused(r) ? " *" : "");
    if (!r->timed) {
        printf("  %-32s %-9s verified\n", name, time_mode_word[r->mode]);
        return;
    }
    if (r->time.clock_mhz > 0.0)
        snprintf(clock, sizeof clock, "%5.0f", r->time.clock_mhz);
    if (r->time.joules > 0.0)
        snprintf(clock, sizeof clock, "%5.0f %5.0f %9.3f", r->time.clock_mhz, r->time.watts, 1e3 * r->time.joules);
    printf("  %-32s %-9s %10.2f %10.2f %10.2f %8.1f %8.1f ", name, time_mode_word[r->mode], 1e6 * r->time.median,
           1e6 * r->time.least, 1e6 * r->time.most, 1e-12 * rate(r->flops, r), 1e-9 * rate(r->bytes, r));
    if (r->ratio > 0.0)
        printf("%7.3f %s\n", r->ratio, clock);
    else
        printf("%7s %s\n", "-", clock);
    if (r->boxes > 0.0)
        printf("  %-32s %-9s %10.3f 10^9 boxes/s %10.1f clocks a box of a multiprocessor\n", "", "",
               1e-9 * rate(r->boxes, r), clocks_a_box(b, r));
}

/* The fastest of our rows from `first` to `end` in a mode, NULL: there is none. */
static const struct bench_result *best_of(const struct bench *b, int first, int end, enum time_mode mode)
{
    const struct bench_result *best = NULL;
    for (int i = first; i < end; i++) {
        const struct bench_result *r = &b->row[i];
        if (is_ours(r) && r->timed && r->mode == mode && (!best || r->time.median < best->time.median))
            best = r;
    }
    return best;
}

void bench_print_group(const struct bench *b, int first)
{
    bool fused = false;
    int kernels[TIME_MODES] = {0};
    if (first == b->rows)
        return;
    printf("%s %s, %d set%s of inputs\n", b->device->name, b->row[first].sizes, b->row[first].sets,
           b->row[first].sets == 1 ? "" : "s");
    if (b->row[first].timed)
        printf("  %-32s %-9s %10s %10s %10s %8s %8s %7s %5s %5s %9s\n", "", "", "us", "least", "most", "TFLOP/s",
               "GB/s", "ratio", "MHz", "W", "mJ");
    for (int i = first; i < b->rows; i++) {
        print_row(b, &b->row[i]);
        fused = fused || is_fused(&b->row[i]);
        kernels[b->row[i].mode] += is_ours(&b->row[i]);
    }
    for (int mode = 0; mode < TIME_MODES; mode++) {
        const struct bench_result *best = best_of(b, first, b->rows, (enum time_mode)mode);
        if (best && kernels[mode] > 1)
            printf("  best %-27s %-9s %10.2f %45.3f\n", best->kernel, time_mode_word[mode], 1e6 * best->time.median,
                   best->ratio);
    }
    if (fused && b->has_lt)
        printf("  * does more than the peer, which is one plain product\n");
    fflush(stdout);
}

/* Rows of one group stand together. */
static int group_end(const struct bench *b, int first)
{
    int end = first;
    while (end < b->rows && b->row[end].group == b->row[first].group)
        end++;
    return end;
}

void bench_print_end(const struct bench *b)
{
    for (int mode = 0; mode < TIME_MODES; mode++) {
        double sum = 0.0, least = 0.0;
        int count = 0;
        for (int i = 0; i < b->rows; i = group_end(b, i)) {
            const struct bench_result *best = best_of(b, i, group_end(b, i), (enum time_mode)mode);
            if (!best || !(best->ratio > 0.0))
                continue;
            sum += log(best->ratio);
            least = count == 0 || best->ratio < least ? best->ratio : least;
            count++;
        }
        if (count)
            printf("%s: best kernel of each of %d sizes beside the best peer: geometric mean %.3f, least %.3f\n",
                   time_mode_word[mode], count, exp(sum / count), least);
    }
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static json_object *sizes_of(const struct bench_result *r)
{
    const struct plan *p = &r->unit->plan;
    json_object *o = json_object_new_object();
    bool used[SYMBOLS] = {false};
    if (p->symbol_count <= SYMBOLS)
        layout_symbols(p, used);
    for (int i = 0; i + 1 < p->symbol_count && i < SYMBOLS; i++)
        if (used[i])
            json_add_number(o, p->symbol[i], (uint64_t)r->symbol[i]);
    return o;
}

/* A measure that may be missing. */
static void add_known(json_object *o, const char *key, bool known, double number)
{
    json_add_measure(o, key, known ? number : (double)INFINITY);
}

/* How a copy's tiles are moved; NULL: it is no copy, or none by boxes. Stages that fit, where the spec says none, have
 * one word, so that tiles of several sizes differ in nothing else. */
static json_object *setup_of(const struct bench_result *r)
{
    const struct plan *p = &r->unit->plan;
    char box[80] = "";
    if (!(r->boxes > 0.0))
        return NULL;
    const struct plan_tensor *t = &p->tensor[p->ring[0].tensor[0]];
    for (int d = 0; d < t->rank; d++)
        snprintf(box + strlen(box), sizeof box - strlen(box), "%s%d", d ? "x" : "", t->tile[d]);
    json_object *o = json_object_new_object();
    json_add_text(o, "box", box);
    struct spec_fields fields;
    spec_merge(r->unit->kernel, r->unit->arch->name, &fields);
    if (fields.value[FIELD_STAGES].set)
        json_add_number(o, "stages", (uint64_t)p->ring[0].stages);
    else
        json_add_text(o, "stages", "fit");
    json_add_text(o, "swizzle", tw_swizzles[t->swizzle].name);
    return o;
}

static json_object *row_object(const struct bench *b, const struct bench_result *r, const char *run)
{
    const struct tw_device *device = b->device;
    char capability[32], driver[32];
    json_object *o = json_object_new_object();
    snprintf(capability, sizeof capability, "%d.%d", device->major, device->minor);
    snprintf(driver, sizeof driver, "%d.%d", device->driver_version / 1000, device->driver_version % 1000 / 10);
    json_add_text(o, "kernel", r->kernel);
    json_add_text(o, "backend", r->backend);
    json_add_text(o, "arch", *r->arch ? r->arch : device->arch);
    json_add_text(o, "gpu_model", device->name);
    json_add_text(o, "compute_capability", capability);
    json_add_text(o, "driver", driver);
    json_object_object_add(o, "problem_size", sizes_of(r));
    json_add_text(o, "mode", time_mode_word[r->mode]);
    add_known(o, "latency_ms", r->timed, 1e3 * r->time.median);
    add_known(o, "latency_min_ms", r->timed, 1e3 * r->time.least);
    add_known(o, "latency_max_ms", r->timed, 1e3 * r->time.most);
    add_known(o, "gflop", r->flops > 0.0, 1e-9 * r->flops);
    add_known(o, "tflops", r->timed && r->flops > 0.0, 1e-12 * rate(r->flops, r));
    add_known(o, "gbs", r->timed && r->bytes > 0.0, 1e-9 * rate(r->bytes, r));
    add_known(o, "boxes", r->timed && r->boxes > 0.0, rate(r->boxes, r));
    add_known(o, "clocks_a_box", r->timed && clocks_a_box(b, r) > 0.0, clocks_a_box(b, r));
    json_object_object_add(o, "setup", setup_of(r));
    add_known(o, "ratio", r->ratio > 0.0, r->ratio);
    add_known(o, "compilation_time", r->compile_seconds >= 0.0, r->compile_seconds);
    add_known(o, "clock_mhz", r->time.clock_mhz > 0.0, r->time.clock_mhz);
    add_known(o, "power_w", r->time.watts > 0.0, r->time.watts);
    add_known(o, "temperature_c", r->time.celsius > 0.0, r->time.celsius);
    add_known(o, "energy_mj", r->time.joules > 0.0, 1e3 * r->time.joules);
    json_add_number(o, "clock_reasons", r->time.reasons);
    json_add_number(o, "rounds", (uint64_t)r->time.rounds);
    json_add_number(o, "sets", (uint64_t)r->sets);
    json_add_truth(o, "plain", r->plain);
    add_known(o, "algorithm", r->algorithm >= 0, r->algorithm);
    json_add_text(o, "run", run);
    return o;
}

int bench_write_json(struct bench *b, FILE *out)
{
    if (!*b->run) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        const uint64_t microseconds = (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
        snprintf(b->run, sizeof b->run, "%" PRIx64 "-%ld", microseconds, (long)getpid());
    }
    for (int i = 0; i < b->rows; i++) {
        json_object *o = row_object(b, &b->row[i], b->run);
        const char *text = o ? json_object_to_json_string_ext(o, JSON_C_TO_STRING_SPACED) : NULL;
        if (text)
            fprintf(out, "%s%s", i ? ",\n " : "[", text);
        json_object_put(o);
        if (!text)
            return 3;
    }
    fprintf(out, "%s]\n", b->rows ? "" : "[");
    return ferror(out) ? 3 : 0;
}
