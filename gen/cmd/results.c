/* tilewright results: measured times as JSON rows, joined, printed and drawn. */
#include "results/results.h"

#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "common/json.h"
#include "common/options.h"
#include "spec/diag.h"

#include <json-c/json.h>

#define VERBS(VERB)                                                                                                    \
    VERB(merge, "A.json B.json... -o FILE", "the rows of all files in one; of rows measured twice the later")          \
    VERB(plot, "FILE... -o DIR", "latency, throughput and ratio as SVG, a picture of each a GPU and mode")             \
    VERB(table, "FILE...", "Markdown: problems by back ends, ratios to the best peer, their geometric mean")

/* What a verb has to do: the rows are read. */
struct job {
    struct results *results;
    const struct tell *tell;
    struct results_choice choice;
    const char *output, *over;
};

static int no_memory(const struct tell *tell)
{
    tell_fault(tell, "out of memory");
    return 3;
}

static int merge(const struct job *job)
{
    struct tw_error error;
    long gone = results_join(job->results, job->tell);
    if (gone < 0)
        return no_memory(job->tell);
    int status = results_write(job->results, job->output, &error);
    if (status != TW_OK)
        return tell_status(job->tell, status, &error);
    if (job->tell->result) {
        json_object *files = json_object_new_array();
        json_object_array_add(files, json_object_new_string(job->output));
        json_object_object_add(job->tell->result, "files", files);
        json_add_number(job->tell->result, "merged", job->results->count);
        json_add_number(job->tell->result, "replaced", (uint64_t)gone);
    } else {
        printf("%s: %zu rows, %ld replaced\n", job->output, job->results->count, gone);
    }
    return 0;
}

/* A name that no row has: what there is, and what is near. Exit status. */
static int nothing(const struct job *job)
{
    enum { NAMES_MOST = 64 };
    const struct {
        const char *option, *wanted;
        size_t member;
    } choice[] = {{"--kernel", job->choice.kernel, offsetof(struct results_row, kernel)},
                  {"--mode", job->choice.mode, offsetof(struct results_row, mode)},
                  {"--gpu", job->choice.gpu, offsetof(struct results_row, gpu)}};
    const struct results *r = job->results;
    for (int c = 0; c < 3; c++) {
        const char *name[NAMES_MOST + 1] = {NULL};
        int count = 0;
        bool there = !choice[c].wanted;
        for (size_t i = 0; i < r->count; i++) {
            const char *text = *(const char *const *)((const char *)&r->row[i] + choice[c].member);
            bool seen = false;
            for (int k = 0; k < count; k++)
                seen = seen || strcmp(name[k], text) == 0;
            if (!seen && count < NAMES_MOST)
                name[count++] = text;
            there = there || strcmp(text, choice[c].wanted) == 0;
        }
        if (there)
            continue;
        const char *near = diag_suggest(choice[c].wanted, name);
        tell_fault(job->tell, "%s %s: no row has it; %s%s%s", choice[c].option, choice[c].wanted,
                   near ? "did you mean '" : "there is '", near ? near : name[0], "'?");
        return 1;
    }
    tell_fault(job->tell, "no row has all that is chosen");
    return 1;
}

/* plot, or table where no folder is named. Exit status. */
static int show(const struct job *job)
{
    struct results_view *view;
    struct tw_error error;
    int count;
    if (results_join(job->results, job->tell) < 0)
        return no_memory(job->tell);
    int status = results_views(job->results, &job->choice, &view, &count, &error);
    if (status != TW_OK)
        return tell_status(job->tell, status, &error);
    if (!count)
        return nothing(job);
    if (job->output)
        status = results_plot(view, count, job->output, job->tell, &error);
    for (int i = 0; i < count && !job->output && status == TW_OK; i++) {
        if (i && !job->tell->result)
            putchar('\n');
        status = results_print_table(&view[i], job->tell, &error);
    }
    results_views_free(job->results->rt, view, count);
    return status == TW_OK ? 0 : tell_status(job->tell, status, &error);
}

/* The same of rows by a member of their setup. Exit status. */
static int show_over(const struct job *job)
{
    struct results over = {.rt = job->results->rt};
    struct job then = *job;
    int status = results_over(job->results, job->over, &over, job->tell);
    then.results = &over;
    if (status == 0)
        status = show(&then);
    results_free(&over);
    return status;
}

/* Reads the files and does it. Exit status. */
static int perform(struct job *job, const char *const *path, int paths, int (*verb)(const struct job *))
{
    struct tw_runtime rt;
    struct tw_error error;
    int status = tw_runtime_init(&rt, &error);
    if (status != TW_OK)
        return tell_status(job->tell, status, &error);
    struct results results = {.rt = &rt};
    status = 0;
    for (int i = 0; i < paths; i++) {
        int read = results_read(&results, path[i], job->tell);
        status = read > status ? read : status;
    }
    job->results = &results;
    if (status == 0)
        status = verb(job);
    results_free(&results);
    tw_runtime_close(&rt);
    return status;
}

static void help(void)
{
    const struct command *command = command_find("results");
    printf("usage: tilewright results %s\n  %s\n", command->usage, command->doc);
#define VERB(name, usage, doc) printf("  results %s %s\n      %s\n", #name, usage, doc);
    VERBS(VERB)
#undef VERB
    fputs("  'tilewright results VERB --help' lists its options\n", stdout);
}

static int run(const char *name, int argc, char **argv)
{
    enum { FILES_MOST = 256 };
    struct job job = {.results = NULL};
    bool json = false, merges = strcmp(name, "merge") == 0, plots = strcmp(name, "plot") == 0;
    const char *path[FILES_MOST];
    const struct option_row output = {"-o", OPTION_TEXT, &job.output, plots ? "DIR" : "FILE",
                                      plots ? "a folder for GPU.MODE.latency.svg and its like"
                                            : "what is written, whole or not at all; one of those read, too"};
    const struct option_row as_json = {"--json", OPTION_FLAG, &json, NULL,
                                       merges  ? "how many rows as JSON: help json"
                                       : plots ? "the files as JSON: help json"
                                               : "least ratio and geometric mean as JSON: help json"};
    const struct option_row choice[] = {
        {"--kernel", OPTION_TEXT, &job.choice.kernel, "K", "this one alone"},
        {"--mode", OPTION_TEXT, &job.choice.mode, "M", "this one alone: burst, sustained"},
        {"--gpu", OPTION_TEXT, &job.choice.gpu, "MODEL", "this one alone: \"NVIDIA H200\""},
        {"--over", OPTION_TEXT, &job.over, "FIELD",
         "of a row's setup, such as box, stages, swizzle: in the problems' place"},
    };
    struct option_row rows[7] = {{NULL, OPTION_FLAG, NULL, NULL, NULL}};
    int row = 0, files, status;
    if (merges || plots)
        rows[row++] = output;
    for (size_t i = 0; i < sizeof choice / sizeof *choice && !merges; i++)
        rows[row++] = choice[i];
    rows[row++] = as_json;
    rows[row] = (struct option_row){NULL, OPTION_FLAG, NULL, NULL, NULL};
    status = options_parse("results", rows, argc, argv, path, FILES_MOST, &files);
    if (status >= 0)
        return status;
    if (!files)
        return options_fault("results", "%s: which files?", name);
    if ((merges || plots) && !job.output)
        return options_fault("results", "%s: where to? -o %s", name, output.argument);
    struct tell tell;
    status = tell_open(&tell, "results", json);
    if (status != 0)
        return status;
    job.tell = &tell;
    return tell_close(&tell, perform(&job, path, files, merges ? merge : job.over ? show_over : show));
}

int cmd_results(int argc, char **argv)
{
    static const char *const names[] = {
#define VERB(name, usage, doc) #name,
        VERBS(VERB)
#undef VERB
            NULL};
    if (argc < 2)
        return options_fault("results", "what? write merge, plot or table");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        help();
        return 0;
    }
    for (int i = 0; names[i]; i++)
        if (strcmp(argv[1], names[i]) == 0)
            return run(names[i], argc - 1, argv + 1);
    const char *near = diag_suggest(argv[1], names);
    if (near)
        return options_fault("results", "'%s' is no verb; did you mean '%s'?", argv[1], near);
    return options_fault("results", "'%s' is no verb; write merge, plot or table", argv[1]);
}
