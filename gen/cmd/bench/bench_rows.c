/* The rows of bench, as a table and as JSON (common/json_fields.def). */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "cmd/bench/bench.h"
#include "common/json.h"

void bench_print_table(const struct bench_host *host)
{
    printf("%s, driver %d.%d, %d rounds; nanoseconds of host time an operation\n", host->device->name,
           host->device->driver_version / 1000, host->device->driver_version % 1000 / 10, host->rounds);
    printf("%-17s %-8s %-86s %11s %11s %11s %11s %7s\n", "kernel", "backend", "problem: what", "median", "least",
           "most", "over first", "faster");
    for (int i = 0, first = 0; i < host->count; i++) {
        const struct bench_row *r = &host->row[i];
        if (r->first) {
            first = i;
            printf("%s", r->group);
            if (r->rounds < r->wanted)
                printf(" (%d of %d rounds: the time was over)", r->rounds, r->wanted);
            putchar('\n');
        }
        char words[128];
        snprintf(words, sizeof words, "%s: %s", r->problem, r->what);
        printf("  %-15s %-8s %-86s %11.1f %11.1f %11.1f", r->kernel, r->backend, words, r->median, r->least, r->most);
        if (i != first)
            printf(" %11.1f %6.1fx", r->over, host->row[first].median / r->median);
        putchar('\n');
    }
}

int bench_print_json(const struct bench_host *host)
{
    struct timespec now;
    char run[64], capability[32], driver[32];
    json_object *o = json_object_new_object(), *rows = o ? json_object_new_array() : NULL;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(run, sizeof run, "%" PRIx64 "-%ld", (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u,
             (long)getpid());
    snprintf(capability, sizeof capability, "%d.%d", host->device->major, host->device->minor);
    snprintf(driver, sizeof driver, "%d.%d", host->device->driver_version / 1000,
             host->device->driver_version % 1000 / 10);
    for (int i = 0; i < host->count && rows; i++) {
        const struct bench_row *r = &host->row[i];
        json_object *row = json_object_new_object();
        json_add_text(row, "kernel", r->kernel);
        json_add_text(row, "backend", r->backend);
        json_add_text(row, "arch", host->device->arch);
        json_add_text(row, "gpu_model", host->device->name);
        json_add_text(row, "compute_capability", capability);
        json_add_text(row, "driver", driver);
        json_add_text(row, "group", r->group);
        json_add_text(row, "problem_size", r->problem);
        json_add_text(row, "what", r->what);
        json_add_measure(row, "latency_ns", r->median);
        json_add_measure(row, "latency_min_ns", r->least);
        json_add_measure(row, "latency_max_ns", r->most);
        json_add_measure(row, "over_first_ns", r->over);
        json_add_number(row, "batch", (uint64_t)r->batch);
        json_add_number(row, "rounds", (uint64_t)r->rounds);
        json_add_text(row, "run", run);
        json_object_array_add(rows, row);
    }
    if (rows)
        json_object_object_add(o, "rows", rows);
    int status = json_print(&(struct json_answer){.command = "bench", .result = o, .pretty = 1});
    json_object_put(o);
    return status;
}
