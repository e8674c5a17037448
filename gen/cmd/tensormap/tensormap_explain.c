// tilewright tensormap explain: why a call is refused, which call near it works, and, where the call is fine, whose
// error the driver reports.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/tensormap/tensormap_question.h"
#include "common/json.h"

enum { DONE = 0, INPUT = 1, ENVIRONMENT = 3 };
enum { WORDS_MOST = 64, NULL_DRIVER = 12060 };

enum blame { BLAME_ARGUMENTS, BLAME_EARLIER, BLAME_MACHINE };

static const struct result {
    int number;
    const char *name;
    enum blame blame;
    const char *advice;
} results[] = {
#define RESULT(number, name, text, blame, advice) {number, #name, BLAME_##blame, advice},
#include "tensormap/tensormap_results.def"
};

// What is to be said of a call.
struct answer {
    struct tw_tensormap_verdict verdict;
    struct tw_tensormap_call nearest;
    int has_nearest;
    int refused;                 // by the rules, or for address 0 by an old driver
    const char *null;            // what address 0 means; NULL where the address is another
    const char *map;             // the map's own address; NULL where it is aligned or not told
    const struct result *result; // NULL: none is told, or one that is not known
    char text[1024];             // what the result means; ""
};

int tensormap_driver_version(const char *text)
{
    char *end;
    long major = strtol(text, &end, 10), minor = 0;
    if (end == text || *text < '0' || *text > '9')
        return -1;
    // As cuDriverGetVersion counts: 12040.
    if (!*end && major >= 1000 && major < 100000)
        return (int)major;
    if (*end == '.') {
        const char *rest = end + 1;
        minor = strtol(rest, &end, 10);
        if (end == rest || *rest < '0' || *rest > '9')
            return -1;
    }
    return *end || major > 99 || minor > 99 ? -1 : (int)(major * 1000 + minor * 10);
}

// ---- judging

static void judge_null(const struct tensormap_question *q, int driver, struct answer *a)
{
    static const char always[] =
        "addr is 0, which drivers before CUDA 12.6 refuse; pass the tensor's address, or where "
        "the tensor is empty, leave the call and the kernel out";
    if (q->call.addr)
        return;
    a->null = always;
    // A newer driver takes it, and of an unknown one an otherwise fine call that it refused tells the age.
    if ((driver && driver < NULL_DRIVER) || (!driver && q->result == 1 && !a->verdict.refused))
        a->refused++;
    else if (driver)
        a->null = NULL;
}

static const struct result *result_row(int number)
{
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (results[i].number == number)
            return &results[i];
    return NULL;
}

static void judge_result(const struct tensormap_question *q, struct answer *a)
{
    if (!q->result)
        return;
    a->result = result_row(q->result);
    const char *fine = a->refused ? "" : "the arguments are fine; ";
    if (!a->result) {
        snprintf(
            a->text, sizeof a->text,
            "%sresult %d is none that the encode calls are known to give: it is most likely an earlier call's error",
            fine, q->result);
    } else if (a->result->blame == BLAME_EARLIER) {
        snprintf(
            a->text, sizeof a->text,
            "%sresult %d (%s) is not this call's: %s, and every call of the driver after that says so; find it with "
            "compute-sanitizer, or with CUDA_LAUNCH_BLOCKING=1",
            fine, q->result, a->result->name, a->result->advice);
    } else if (a->result->blame == BLAME_MACHINE) {
        snprintf(a->text, sizeof a->text, "%sresult %d (%s): %s", fine, q->result, a->result->name, a->result->advice);
    } else if (!a->refused) {
        snprintf(a->text, sizeof a->text, "result %d (%s): no rule known here refuses these arguments; %s", q->result,
                 a->result->name,
                 a->verdict.warned || a->null || a->map
                     ? "the warnings are what a driver may refuse"
                     : "what was passed may differ from what was printed, or the device is another than --cc says");
    }
}

static void judge(const struct tensormap_question *q, const struct tensormap_options *options, struct answer *a)
{
    const int driver = q->driver ? q->driver : options->driver;
    memset(a, 0, sizeof *a);
    tw_tensormap_check(&q->call, options->cc, &a->verdict);
    a->refused = a->verdict.refused;
    if (q->map % 64)
        a->map = "tensorMap is at an address that is no multiple of 64, which cuda.h asks for; declare it alignas(64)";
    judge_null(q, driver, a);
    judge_result(q, a);
    if (a->verdict.refused && tw_tensormap_nearest(&q->call, options->cc, &a->nearest) == TW_OK)
        a->has_nearest = 1;
}

// ---- printing

static void add_note(json_object *diagnostics, const char *severity, const char *text, const char *rule, int line)
{
    if (text && text[0])
        json_add_diagnostic(diagnostics,
                            &(struct json_diagnostic){.severity = severity, .text = text, .rule = rule, .line = line});
}

// Prints the answer, and frees both.
static void print_answer(int status, json_object *diagnostics, json_object *result)
{
    json_print(
        &(struct json_answer){.command = "tensormap", .status = status, .diagnostics = diagnostics, .result = result});
    json_object_put(diagnostics);
    json_object_put(result);
}

static void explain_json(const struct tensormap_question *q, const struct tensormap_options *options)
{
    const struct tw_tensormap_call *c = &q->call;
    json_object *diagnostics = json_object_new_array(), *result = json_object_new_object();
    struct answer a;
    uint64_t map[16];
    char digits[257];
    judge(q, options, &a);
    tensormap_add_findings(diagnostics, c, options->cc, &a.verdict, q->line);
    add_note(diagnostics, a.refused > a.verdict.refused ? "error" : "warning", a.null, "TMA-NULL", q->line);
    add_note(diagnostics, "warning", a.map, "TMA-MAP", q->line);
    add_note(diagnostics, "note", a.text, NULL, q->line);
    add_note(diagnostics, "note", q->note, NULL, q->line);
    if (result) {
        json_object_object_add(result, "call", tensormap_call_object(c));
        if (a.has_nearest)
            json_object_object_add(result, "nearest", tensormap_call_object(&a.nearest));
        if (q->line) {
            json_add_number(result, "line", (uint64_t)q->line);
            json_add_number(result, "times", (uint64_t)q->times);
            json_add_text(result, "form", q->form);
        }
        if (q->result)
            json_object_object_add(result, "result", json_object_new_int(q->result));
    }
    if (tw_tensormap_encode(c, options->cc, map) == TW_OK) {
        tensormap_map_text(map, digits);
        json_add_text(result, "map", digits);
    }
    print_answer(a.refused ? INPUT : DONE, diagnostics, result);
}

// The findings, a line each: what refuses the call first.
static void print_findings(const struct tensormap_question *q, int cc, const struct answer *a)
{
    char text[TW_TENSORMAP_MESSAGE];
    const int by_null = a->refused > a->verdict.refused;
    for (int warning = 0; warning < 2; warning++) {
        for (int i = 0; i < a->verdict.count; i++)
            if (a->verdict.finding[i].warning == warning)
                printf("  %s%s [%s]\n", warning ? "warning: " : "",
                       tw_tensormap_message(&q->call, cc, &a->verdict.finding[i], text, sizeof text),
                       tw_tensormap_rule_name(a->verdict.finding[i].rule));
        if (a->null && by_null == !warning)
            printf("  %s%s [TMA-NULL]\n", warning ? "warning: " : "", a->null);
    }
    if (a->map)
        printf("  warning: %s [TMA-MAP]\n", a->map);
    if (a->text[0])
        printf("  %s\n", a->text);
    if (q->note[0])
        printf("  note: %s\n", q->note);
}

static void explain_text(const struct tensormap_question *q, const struct tensormap_options *options)
{
    const struct tw_tensormap_call *c = &q->call;
    struct answer a;
    char text[1024];
    uint64_t map[16];
    judge(q, options, &a);
    if (q->line)
        printf("line %d: %s", q->line, q->form);
    if (q->times > 1)
        printf(", %d times", q->times);
    if (q->line)
        putchar('\n');
    printf("%s\n", tw_tensormap_format(c, text, sizeof text));
    if (a.refused)
        printf("refused on compute capability %d.%d: %d fault%s\n", options->cc / 10, options->cc % 10, a.refused,
               a.refused == 1 ? "" : "s");
    else
        printf("accepted on compute capability %d.%d\n", options->cc / 10, options->cc % 10);
    print_findings(q, options->cc, &a);
    if (a.has_nearest)
        printf("the nearest call that works:\n  %s\n", tw_tensormap_format(&a.nearest, text, sizeof text));
    else if (a.verdict.refused)
        printf("no call near it works\n");
    if (a.refused || q->line)
        return; // the bytes are for who writes calls, not for who has a failing one
    if (tw_tensormap_encode(c, options->cc, map) == TW_OK) {
        tensormap_map_text(map, text);
        printf("  map %s\n", text);
    } else {
        printf("  its bytes are not known: nobody has measured this call's map\n");
    }
}

static int explain_question(const struct tensormap_question *q, const struct tensormap_options *options)
{
    struct answer a;
    if (options->json)
        explain_json(q, options);
    else
        explain_text(q, options);
    judge(q, options, &a);
    return a.refused ? INPUT : DONE;
}

// ---- reading

static void print_fault(const struct tensormap_fault *fault, const struct tensormap_options *options, int is_line)
{
    if (options->json)
        json_fault(1, "tensormap", INPUT, fault->text);
    else if (is_line)
        printf("error: %s\n", fault->text);
    else
        fprintf(stderr, "tilewright tensormap explain: %s\n", fault->text);
}

// A text that tells what the driver answered, and not to which call.
static int explain_result(const struct tensormap_questions *questions, const struct tensormap_options *options)
{
    const struct tensormap_question q = {.result = questions->result};
    const struct result *known = result_row(q.result);
    struct answer a = {.refused = 1};
    judge_result(&q, &a);
    if (known && known->blame == BLAME_ARGUMENTS)
        snprintf(a.text, sizeof a.text,
                 "result %d (%s): the driver refuses the arguments, which the text does not show; "
                 "give them as the call in C, or run the program under libtilewright-explain.so, which reads them",
                 q.result, known->name);
    if (options->json) {
        json_object *diagnostics = json_object_new_array(), *result = json_object_new_object();
        add_note(diagnostics, "error", a.text, NULL, questions->result_line);
        json_add_number(result, "line", (uint64_t)questions->result_line);
        json_add_number(result, "result", (uint64_t)q.result);
        print_answer(INPUT, diagnostics, result);
    } else {
        printf("line %d: %s\n", questions->result_line, a.text);
    }
    return INPUT;
}

static int explain_any_text(char *text, size_t length, const struct tensormap_options *options)
{
    struct tensormap_questions questions = {0};
    struct tensormap_fault fault;
    int status = DONE;
    if (tensormap_read_text(text, length, &questions, &fault)) {
        print_fault(&fault, options, 0);
        tensormap_free_questions(&questions);
        return INPUT;
    }
    // Of lines that are mixed up a number may be another's.
    const struct result *known = result_row(questions.result);
    if (!questions.count && (!questions.broken || (known && known->blame == BLAME_EARLIER)))
        status = explain_result(&questions, options);
    for (int i = 0; i < questions.count; i++) {
        if (i && !options->json)
            putchar('\n');
        if (explain_question(&questions.item[i], options) != DONE)
            status = INPUT;
    }
    if (questions.broken) {
        snprintf(fault.text, sizeof fault.text, "line %d: %.400s%s", questions.broken_line, questions.why.text,
                 questions.broken > 1 ? "; and so further down" : "");
        print_fault(&fault, options, 0);
        status = INPUT;
    }
    tensormap_free_questions(&questions);
    return status;
}

// A call in JSON, with result and driver where they are told; addr and l2 may be missing, as in words.
static int read_json(json_tokener *tokener, const char *line, size_t length, struct tensormap_question *q,
                     struct tensormap_fault *fault)
{
    json_object *rest, *o;
    if (tensormap_read_json(tokener, line, length, &q->call, &rest, fault))
        return -1;
    if (!json_object_object_get_ex(rest, "addr", &o))
        q->call.addr = UINT64_C(0x7f0000000000);
    if (json_object_object_get_ex(rest, "result", &o))
        q->result = json_object_get_int(o);
    if (json_object_object_get_ex(rest, "driver", &o))
        q->driver = tensormap_driver_version(json_object_get_string(o));
    json_object_put(rest);
    return q->driver < 0 ? tensormap_fail(fault, "driver is no CUDA version such as 12.4") : 0;
}

static int explain_json_line(const char *line, size_t length, const struct tensormap_options *options, int is_line)
{
    struct tensormap_question q = {0};
    struct tensormap_fault fault;
    if (read_json(options->tokener, line, length, &q, &fault)) {
        print_fault(&fault, options, is_line);
        return INPUT;
    }
    return explain_question(&q, options);
}

// Says why stdin is not read on. Exit status.
static int unreadable(const struct tensormap_fault *fault, const struct tensormap_options *options)
{
    const int status = feof(stdin) || ferror(stdin) ? ENVIRONMENT : INPUT;
    return json_fault(options->json, options->json ? "tensormap" : "tensormap explain", status, fault->text);
}

// Lines of JSON, each answered when it has come: who sends them may wait.
static int explain_lines(struct tensormap_line *line, const struct tensormap_options *options)
{
    struct tensormap_fault fault;
    int status = DONE, read = 1;
    for (; read > 0 && !ferror(stdout); read = tensormap_next_line(line, &fault))
        if (explain_json_line(line->text, line->length, options, 1) != DONE)
            status = INPUT;
    return read < 0 ? unreadable(&fault, options) : status;
}

// A first line and the rest of stdin behind it, as one text.
static int explain_stream(struct tensormap_line *line, int lines_before, const struct tensormap_options *options)
{
    struct tensormap_fault fault;
    const size_t most = TENSORMAP_TEXT_MOST;
    char *text = malloc(most + 1);
    size_t length = 0;
    if (!text) {
        tensormap_fail(&fault, "out of memory");
        print_fault(&fault, options, 0);
        return ENVIRONMENT;
    }
    for (; lines_before > 0; lines_before--)
        text[length++] = '\n';
    memcpy(text + length, line->text, line->length);
    length += line->length;
    if (line->newline)
        text[length++] = '\n';
    length += fread(text + length, 1, most - length, stdin);
    text[length] = 0;
    int status = INPUT;
    if (ferror(stdin)) {
        tensormap_fail(&fault, "cannot read the calls");
        status = unreadable(&fault, options);
    } else if (length == most) {
        tensormap_fail(&fault, "the text is longer than %d MiB; give the lines around the call",
                       TENSORMAP_TEXT_MOST >> 20);
        print_fault(&fault, options, 0);
    } else {
        status = explain_any_text(text, length, options);
    }
    free(text);
    return status;
}

static int explain_stdin(const struct tensormap_options *options)
{
    enum { BLANK_LINES = 1000 };
    struct tensormap_line line = {0};
    struct tensormap_fault fault;
    int blank = -1, read, status = DONE;
    // Blank lines say nothing of what comes.
    do {
        read = tensormap_next_line(&line, &fault);
        blank++;
    } while (read > 0 && blank < BLANK_LINES && strspn(line.text, " \t\r") == line.length);
    if (read < 0)
        status = unreadable(&fault, options);
    else if (read > 0 && line.text[strspn(line.text, " \t")] == '{')
        status = explain_lines(&line, options);
    else if (read > 0)
        status = explain_stream(&line, blank, options);
    free(line.text);
    return status;
}

// Takes result=700 and driver=12.4 out of the words. Returns how many are left, or -1.
static int take_words(int count, char **words, struct tensormap_question *q, struct tensormap_fault *fault)
{
    int left = 0;
    for (int i = 0; i < count; i++) {
        const int is_result = strncmp(words[i], "result=", 7) == 0;
        const char *value = words[i] + 7;
        if (!is_result && strncmp(words[i], "driver=", 7) != 0) {
            words[left++] = words[i];
            continue;
        }
        if (is_result && strcmp(value, "0") != 0 && strcmp(value, "CUDA_SUCCESS") != 0 &&
            !(q->result = tensormap_result_of(value)))
            return tensormap_fail(fault, "result=%.80s is no CUresult such as 1, 700 or CUDA_ERROR_INVALID_VALUE",
                                  value);
        if (!is_result && (q->driver = tensormap_driver_version(value)) < 0)
            return tensormap_fail(fault, "driver=%.80s is no CUDA version such as 12.4", value);
    }
    return left;
}

int tensormap_explain(int argc, char **argv, const struct tensormap_options *options)
{
    struct tensormap_question q = {0};
    struct tensormap_fault fault;
    if (argc == 0 || (argc == 1 && strcmp(argv[0], "-") == 0))
        return explain_stdin(options);
    const char *first = argv[0] + strspn(argv[0], " \t\n");
    if (argc == 1 && *first == '{')
        return explain_json_line(argv[0], strlen(argv[0]), options, 0);
    if (argc == 1 && strpbrk(first, " \n("))
        return explain_any_text(argv[0], strlen(argv[0]), options);
    int left = take_words(argc, argv, &q, &fault);
    if (left < 0 || tensormap_read_words(left, argv, &q.call, &fault)) {
        print_fault(&fault, options, 0);
        return INPUT;
    }
    return explain_question(&q, options);
}
