/* Results as Markdown: a table a kernel, GPU and mode. */
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "common/json.h"
#include "results/results_internal.h"

/* A cell's text: what Markdown would read is escaped. */
static void put(const char *text)
{
    for (; *text; text++) {
        if (strchr("|\\`*<>[&", *text))
            putchar('\\');
        putchar(*text);
    }
}

/* Four digits, but no more than three behind the point: 0.513, 13.64, 203.4, 5703. */
static void put_number(double value)
{
    printf("%.*f", value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0, value);
}

/* What a view has beside latencies. */
struct extent {
    bool micro;              /* its times are microseconds */
    bool tflops, gbs, ratio; /* this program's rows tell them */
    bool apart;
};

static struct extent extent_of(const struct results_view *v)
{
    struct extent e = {.micro = true};
    for (int l = 0; l < v->lines; l++)
        for (int c = 0; c < v->columns; c++) {
            const struct results_cell *cell = &v->line[l].cell[c];
            if (!cell->row)
                continue;
            e.micro = e.micro && cell->row->latency < 10;
            e.tflops = e.tflops || (v->column[c].ours && cell->row->tflops > 0);
            e.gbs = e.gbs || (v->column[c].ours && cell->row->gbs > 0);
            e.ratio = e.ratio || (v->column[c].ours && !cell->apart && cell->row->ratio > 0);
            e.apart = e.apart || cell->apart;
        }
    return e;
}

static void put_rule(int columns)
{
    for (int i = 0; i < columns; i++)
        fputs(i ? " --- |" : "| --- |", stdout);
    putchar('\n');
}

/* The columns of this program's throughput and ratio: heads where line is NULL. Returns how many. */
static int put_own(const struct results_view *v, const struct results_line *line, struct extent e)
{
    const struct {
        const char *head;
        bool shown;
    } measure[] = {{"TFLOP/s", e.tflops}, {"GB/s", e.gbs}, {"ratio", e.ratio}};
    int count = 0, own = 0;
    for (int c = 0; c < v->columns; c++)
        own += v->column[c].ours;
    for (int m = 0; m < 3; m++)
        for (int c = 0; c < v->columns; c++) {
            if (!measure[m].shown || !v->column[c].ours)
                continue;
            const struct results_cell *cell = line ? &line->cell[c] : NULL;
            const struct results_row *row = cell ? cell->row : NULL;
            double value = !row ? 0 : m == 0 ? row->tflops : m == 1 ? row->gbs : cell->apart ? 0 : row->ratio;
            count++;
            if (!line || value > 0)
                putchar(' ');
            if (!line && own > 1) {
                put(v->column[c].name);
                fputs(", ", stdout);
            }
            if (!line)
                fputs(measure[m].head, stdout);
            else if (value > 0 && m == 2)
                printf("%.3f", value);
            else if (value > 0)
                put_number(value);
            fputs(" |", stdout);
        }
    return count;
}

/* The last lines: of each ratio the least and the mean. */
static void put_summary(const struct results_view *v, struct extent e)
{
    for (int mean = 0; mean < 2; mean++) {
        printf("| %s |", mean ? "geometric mean" : "least");
        for (int c = 0; c < v->columns; c++)
            fputs(" |", stdout);
        for (int m = 0; m < e.tflops + e.gbs; m++)
            for (int c = 0; c < v->columns; c++)
                fputs(v->column[c].ours ? " |" : "", stdout);
        for (int c = 0; c < v->columns; c++) {
            struct results_summary s = results_sum_up(v, c);
            if (!v->column[c].ours)
                continue;
            if (s.count && mean)
                printf(" **%.3f** |", s.mean);
            else if (s.count)
                printf(" %.3f |", s.least);
            else
                fputs(" |", stdout);
        }
        putchar('\n');
    }
}

static int print_lines(const struct results_view *v, struct extent e, struct tw_error *error)
{
    for (int l = 0; l < v->lines; l++) {
        char *label = results_label(v, &v->line[l]);
        if (!label)
            return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
        fputs("| ", stdout);
        put(label);
        fputs(" |", stdout);
        tw_free(v->rt, label);
        for (int c = 0; c < v->columns; c++) {
            const struct results_cell *cell = &v->line[l].cell[c];
            putchar(' ');
            if (cell->row)
                put_number(cell->row->latency * (e.micro ? 1e3 : 1));
            fputs(cell->apart ? " (apart) |" : cell->row ? " |" : "|", stdout);
        }
        put_own(v, &v->line[l], e);
        putchar('\n');
    }
    return TW_OK;
}

/* What a program reads: who was compared and how it went. */
static int add_summary(const struct results_view *v, const struct tell *tell)
{
    json_object *list;
    if (!json_object_object_get_ex(tell->result, "tables", &list)) {
        list = json_object_new_array();
        json_object_object_add(tell->result, "tables", list);
    }
    for (int c = 0; c < v->columns; c++) {
        struct results_summary s = results_sum_up(v, c);
        json_object *o = json_object_new_object();
        if (!v->column[c].ours) {
            json_object_put(o);
            continue;
        }
        json_add_text(o, "kernel", v->kernel);
        json_add_text(o, "gpu_model", v->gpu);
        json_add_text(o, "mode", v->mode);
        json_add_text(o, "backend", v->column[c].backend);
        json_add_text(o, "arch", v->column[c].arch);
        json_add_number(o, "problems", (uint64_t)v->lines);
        json_add_number(o, "compared", (uint64_t)s.count);
        if (s.count) {
            json_add_measure(o, "least", s.least);
            json_add_measure(o, "geometric_mean", s.mean);
        }
        json_object_array_add(list, o);
    }
    return TW_OK;
}

int results_print_table(const struct results_view *v, const struct tell *tell, struct tw_error *error)
{
    struct extent e = extent_of(v);
    int columns = 1 + v->columns;
    if (tell->result)
        return add_summary(v, tell);
    fputs("### ", stdout);
    put(v->kernel);
    printf(", ");
    put(v->gpu);
    printf(" (");
    put(v->arch);
    printf("), ");
    put(v->mode);
    printf("\n\n| ");
    put(v->names ? v->names : "problem");
    fputs(" |", stdout);
    for (int c = 0; c < v->columns; c++) {
        putchar(' ');
        put(v->column[c].name);
        printf(", %s |", e.micro ? "us" : "ms");
    }
    columns += put_own(v, NULL, e);
    putchar('\n');
    put_rule(columns);
    int status = print_lines(v, e, error);
    if (status == TW_OK && e.ratio)
        put_summary(v, e);
    if (status == TW_OK && e.apart)
        printf("\n(apart): measured in another run, and not compared.\n");
    return status;
}
