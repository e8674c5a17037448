/* What the recorder's files share: record.c (directives and structure of the text), record_op.c
 * (what blocks declare), record_text.c (statements), record_run.c (executions, positions in rings), record_steps.c
 * (comparing), record_derive.c. */
#ifndef TW_GEN_EMIT_RECORD_RECORD_INTERNAL_H
#define TW_GEN_EMIT_RECORD_RECORD_INTERNAL_H

#include "emit/record/record.h"
#include "emit/template/cuda_text.h"

/* ---- functions of blocks --------------------------------------------------------------------------------------- */

enum function_kind { FUNCTION_STEPS, FUNCTION_PART, FUNCTION_MEET, FUNCTION_TURNS, FUNCTION_ADVANCE };

struct function {
    const char *name; /* NULL: declared, its definition not seen yet */
    int length;       /* of the name */
    enum function_kind kind;
    bool one;
    struct plan_step *step; /* STEPS: with call unset, arrivals 0; ADVANCE: its ring alone counts */
    int step_count;
    int position; /* which parameter, from 0, is a position of a bulk ring, or its stage; -1: none */
    bool moves;   /* that parameter is a reference: the call goes on to the next stage */
    struct record_place at;
};

/* ---- the program of a role ------------------------------------------------------------------------------------- */

enum { MOST_TERMS = 8 };

/* left COMPARE right, both sums of terms; terms from `left` on are the right side's. */
struct condition {
    struct term {
        int sign;
        int number;
        const char *name; /* a counter or a bound; NULL: number counts */
    } term[MOST_TERMS];
    int count, left;
    const char *compare; /* "<" */
};

/* Turns of a loop that conditions tell apart: so many at its beginning, and so many at its end. Numbers of turns by
 * that: those of the beginning, all in the middle, all at the end. */
enum { MOST_PEELED = 8, TURN_MIDDLE = MOST_PEELED, TURN_TAIL, TURNS };
struct peel {
    int head, tail;
};

enum node_kind { NODE_CALL, NODE_LOOP, NODE_END_LOOP, NODE_WHEN, NODE_END_WHEN, NODE_POSITION, NODE_USE };

struct node {
    enum node_kind kind;
    struct record_place at;
    int column;
    int function;                /* CALL: of recorder.function */
    const char *position;        /* CALL: the variable that says which stage, NULL: none; POSITION: declared here */
    const char *pointer;         /* CALL: the variable that the stage's address goes to, or NULL; USE: which is used */
    bool elected;                /* CALL: by one thread */
    int back[TURNS];             /* CALL that reads, by turn: stages before the one taken last; -1: it varies */
    bool placed[TURNS];          /* back was seen */
    int loop;                    /* LOOP, END_LOOP: of recorder.loop */
    const char *counter;         /* LOOP: its variable, NULL: a while */
    struct condition *condition; /* WHEN */
};

/* A loop's name and its trip count. */
struct loop_class {
    const char *name;
    const char *bound; /* text of the bound, or of the call behind `while` */
    bool turns;        /* a while */
    int number;        /* a bound that is a number; -1 */
    int trips;         /* the class whose trip count it has: the first of this bound */
};

struct role_record {
    struct node *node;
    int count;
    struct record_place opened, closed; /* template NULL: never */
    struct peel *peel;                  /* of the loop at each node; NULL: none is peeled */
    struct record_place *place;         /* of each derived step, and its column */
    int *column;
};

/* ---- the text -------------------------------------------------------------------------------------------------- */

enum frame_kind {
    FRAME_FUNCTION,
    FRAME_TYPE, /* struct, namespace, initialiser */
    FRAME_KERNEL,
    FRAME_BARE,    /* { } alone */
    FRAME_CONTROL, /* { } of an if, for, switch, ... of the text */
    FRAME_ROLE,
    FRAME_ELECT,
    FRAME_LOOP,
    FRAME_WHEN
};

struct frame {
    enum frame_kind kind;
    struct record_place at;
    const char *word;      /* CONTROL: the keyword; ROLE, LOOP, KERNEL: the name */
    bool repeats, chooses; /* CONTROL: break and continue are of this for, while, do; break is of this switch */
    const char *counter;   /* LOOP */
    int loop;
    int braces;   /* FUNCTION, TYPE: open inside */
    int function; /* FUNCTION: its number, -1: it declares nothing */
    bool emitted; /* flow: a { was written */
};

struct piece {
    struct cuda_token token; /* text copied where it is kept */
    struct record_place at;
    const char *joined; /* a text: what it and the texts before it make together */
};

/* The tokens since the last statement's end, nested ( [ { included. */
struct statement {
    struct piece *piece;
    int count, nested;
};

/* A const integer of the kernel's. */
struct constant {
    const char *name;
    bool is_int;
    const char *differs; /* what in its initialiser may differ between threads; NULL: nothing */
};

struct recorder {
    const struct plan *plan;
    struct template *top;
    struct output *output;
    struct arena *arena;
    struct diag_set *diags;

    struct function *function;
    int function_count;
    int declared;                 /* the function that op lines before its definition belong to, -1 */
    struct plan_barrier *barrier; /* declared by blocks, behind the Plan's */
    int barrier_count;

    struct role_record *role;
    struct loop_class *loop;
    int loop_count;
    struct constant *constant;
    int constant_count;

    struct cuda_scanner scanner;
    const char *joined; /* of the last token */
    struct frame *frame;
    int frame_count;
    struct statement statement;
    const char **word; /* that the template's own text has outside of kernels */
    int word_count;
    const char **position; /* variables of the open role that are positions in rings */
    int position_count;
    const char **pointer; /* variables of the open role that hold addresses of stages */
    int pointer_count;
    int argument; /* the piece of the statement that is an operation\'s position, -1 */
    int open;     /* role, -1: none */
    bool elected;
    bool closing; /* a role's } is still to be written: an else may follow */
    struct record_place closed;
    int chained; /* warps of the roles of the if and else so far */
    bool no_memory;
};

bool record_report(struct recorder *r, struct record_place at, int column, const char *rule, const char *text);

/* Reports; always false. */
#define RECORD_FAULT(r, at, column, rule, ...) record_report(r, at, column, rule, arena_format((r)->arena, __VA_ARGS__))

int record_function(const struct recorder *r, const struct cuda_token *token); /* -1: none of that name */
struct node *record_node(struct recorder *r, struct node node);                /* to the open role; NULL: no memory */
const struct frame *record_control(const struct recorder *r); /* the text's innermost control flow around, or NULL */

/* The column of the word in the template's line; the first that is not white space where it is not there. */
int record_column(struct record_place at, const char *word, int length);

struct frame *record_push(struct recorder *r, struct frame frame); /* NULL: no memory */

/* record_op.c: a token of the file's level, outside of functions. */
bool record_file_token(struct recorder *r, const struct piece *piece);

/* record_steps.c: compares the roles whose steps the Plan has. Returns the number of faults. */
int record_check(struct recorder *r);

/* That the steps which were derived for a role do what its record does. False: reported. */
bool record_check_derived(struct recorder *r, int role);

static inline int record_piece_column(const struct piece *piece)
{
    return record_column(piece->at, piece->token.text, piece->token.length);
}

/* record_text.c: one token of a kernel's statements; asm and names elsewhere. */
bool record_statement_token(struct recorder *r, struct piece piece);
bool record_other_token(struct recorder *r, const struct piece *piece);
bool record_is_flow(enum frame_kind kind);

/* ---- executions ------------------------------------------------------------------------------------------------ */

enum { MOST_TRIPS = 64, MOST_LOOPS = 16, MOST_RINGS = 32 };

/* Trip counts of one execution: class c of the loops, by its digit in base `base` of `number`. */
struct trial {
    int number, base;
};

/* Loops around, outermost first. */
struct around {
    const char *counter[MOST_LOOPS];
    int turn[MOST_LOOPS], trips[MOST_LOOPS], node[MOST_LOOPS], count;
};

/* record_run.c. The trial before the first of so many, which are all that are to be tried. */
int record_trials(const struct recorder *r, struct trial *trial);
int record_trips(const struct recorder *r, const struct trial *trial, int class);
bool record_holds(const struct recorder *r, const struct trial *trial, const struct around *around,
                  const struct condition *c);
int record_turn(const struct role_record *role, const struct around *around); /* of the innermost loop that is peeled */
int record_node_end(const struct role_record *role, int node); /* of the loop or condition that begins there */

/* record_steps.c: the step of a recorded call, as the Plan has it. */
struct plan_step record_step(const struct recorder *r, int role, const struct plan_step *declared);

/* Bit of the step's tensor in its ring. */
unsigned record_tensor_bit(const struct plan *p, const struct plan_step *s);

/* Stages of the rings that a role has taken, by WAIT_FULL or by the READs of a cp_async ring, and released. */
struct stages {
    unsigned own[MOST_RINGS], reading[MOST_RINGS]; /* cp_async: tensors that it reads; that it has read of the newest */
    int taken[MOST_RINGS], released[MOST_RINGS];
};
void record_own(const struct plan *p, struct stages *g, const struct plan_step *s);  /* for each step, before others */
void record_take(const struct plan *p, struct stages *g, const struct plan_step *s); /* a step is made */

/* Every name of a condition is known, and every position stands where its ring's steps are. False: reported. */
bool record_check_names(struct recorder *r, const struct role_record *role);
bool record_check_positions(struct recorder *r, int role, bool silent); /* silent: notes node.back alone */

#endif
