/* Directives at module level, functions, source positions, and the whole parse. */
#include "parser.h"

/* ---- Source positions -------------------------------------------------------------------------------------------- */

static uint32_t location_bucket(uint32_t file, uint32_t line, uint32_t column)
{
    return (file * 31 + line * 2654435761u + column * 40503u) % PTX_LOCATION_BUCKETS;
}

/* The last .loc of this function at that place, or PTX_NONE. A long chain is given up: only a report is poorer. */
static uint32_t find_location(struct ptx_parser *p, uint32_t file, uint32_t line, uint32_t column)
{
    uint32_t at = p->location_buckets[location_bucket(file, line, column)];
    for (int steps = 0; at != PTX_NONE && at >= p->first_location && steps < 64; steps++, at = p->location_chain[at]) {
        const struct ptx_location *location = &p->module->locations[at];
        if (location->file == file && location->line == line && location->column == column)
            return at;
    }
    return PTX_NONE;
}

static uint32_t add_location(struct ptx_parser *p, struct ptx_location location)
{
    struct ptx_module *module = p->module;
    if (!ptx_grow(p, &module->locations, module->location_count, &p->location_space, sizeof *module->locations) ||
        !ptx_grow(p, &p->location_chain, module->location_count, &p->chain_space, sizeof *p->location_chain))
        return PTX_NONE;
    uint32_t *bucket = &p->location_buckets[location_bucket(location.file, location.line, location.column)];
    module->locations[module->location_count] = location;
    p->location_chain[module->location_count] = *bucket;
    *bucket = module->location_count;
    return module->location_count++;
}

/* .loc file line column, function_name label + 4, inlined_at file line column. location.file is the number until the
   end of the parse, function the label's name. */
void ptx_parse_loc(struct ptx_parser *p)
{
    struct ptx_location location = {.function = PTX_NONE, .inlined_at = PTX_NONE};
    ptx_next(p);
    location.file = (uint32_t)ptx_integer(p, "the file of .loc", UINT32_MAX);
    location.line = (uint32_t)ptx_integer(p, "the line of .loc", UINT32_MAX);
    location.column = (uint32_t)ptx_integer(p, "the column of .loc", UINT32_MAX);
    while (ptx_take(p, ',')) {
        if (p->token.kind == TOKEN_NAME && ptx_same(&p->token, "function_name")) {
            ptx_next(p);
            location.function = p->string_count;
            if (!ptx_grow(p, &p->strings, p->string_count, &p->string_space, sizeof *p->strings))
                return;
            struct ptx_debug_string *string = &p->strings[p->string_count++];
            *string = (struct ptx_debug_string){p->token.text, p->token.length, PTX_NONE, 0};
            if (p->token.kind != TOKEN_NAME)
                ptx_error(p, "function_name needs a label");
            ptx_next(p);
            if (ptx_is(p, '+'))
                string->bytes = (uint32_t)ptx_integer(p, "the offset of a name", UINT32_MAX);
        } else if (p->token.kind == TOKEN_NAME && ptx_same(&p->token, "inlined_at")) {
            ptx_next(p);
            uint32_t file = (uint32_t)ptx_integer(p, "the file of .loc", UINT32_MAX);
            uint32_t line = (uint32_t)ptx_integer(p, "the line of .loc", UINT32_MAX);
            uint32_t column = (uint32_t)ptx_integer(p, "the column of .loc", UINT32_MAX);
            location.inlined_at = find_location(p, file, line, column);
            if (location.inlined_at == PTX_NONE)
                location.inlined_at = add_location(p, (struct ptx_location){file, line, column, PTX_NONE, PTX_NONE});
        } else {
            char text[48];
            ptx_error(p, "expected function_name or inlined_at, found %s", ptx_token_text(p, text));
        }
    }
    if (!p->status)
        p->location = add_location(p, location);
}

static void parse_file(struct ptx_parser *p)
{
    struct ptx_module *module = p->module;
    ptx_next(p);
    uint32_t number = (uint32_t)ptx_integer(p, "the number of .file", UINT32_MAX);
    if (p->token.kind != TOKEN_STRING)
        ptx_error(p, ".file needs a path");
    if (ptx_grow(p, &module->files, module->file_count, &p->file_space, sizeof *module->files))
        module->files[module->file_count++] = (struct ptx_file){number, ptx_intern(p, p->token.text, p->token.length)};
    ptx_next(p);
    for (int i = 0; i < 2 && ptx_take(p, ','); i++) /* time stamp, size */
        ptx_integer(p, "a number of .file", UINT64_MAX);
}

/* ---- Sections: of DWARF only the names of inlined functions are read --------------------------------------------- */

/* label: .b8 95, 90, ... , 0 : a name for every place of the strings that ask for this label. */
static void parse_debug_string(struct ptx_parser *p, const struct ptx_token *label, char *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < p->string_count; i++) {
        struct ptx_debug_string *string = &p->strings[i];
        if (string->name == PTX_NONE && string->length == label->length && string->bytes < count &&
            !memcmp(string->label, label->text, label->length))
            string->name = ptx_intern(p, bytes + string->bytes, strnlen(bytes + string->bytes, count - string->bytes));
    }
}

static void parse_debug_strings(struct ptx_parser *p)
{
    char *bytes = NULL;
    uint32_t count = 0, space = 0;
    struct ptx_token label = {0};
    while (!p->status) {
        int end = ptx_is(p, '}') || p->token.kind == TOKEN_END, name = p->token.kind == TOKEN_NAME;
        if ((end || name) && label.length)
            parse_debug_string(p, &label, bytes, count);
        if (end)
            break;
        if (name) {
            label = p->token;
            count = 0;
            ptx_next(p);
            ptx_expect(p, ':');
        } else if (p->token.kind == TOKEN_DIRECTIVE && ptx_type_word(&p->token)) {
            do {
                ptx_next(p);
                uint64_t byte = p->token.kind == TOKEN_INTEGER ? p->token.value : 0;
                ptx_next(p);
                if (ptx_grow(p, &bytes, count, &space, 1))
                    bytes[count++] = (char)byte;
            } while (ptx_is(p, ','));
        } else {
            ptx_next(p);
        }
    }
    p->memory.free(p->memory.self, bytes);
}

static void parse_section(struct ptx_parser *p)
{
    ptx_next(p);
    int strings = ptx_is_directive(p, "debug_str");
    while (p->token.kind == TOKEN_DIRECTIVE || p->token.kind == TOKEN_NAME || p->token.kind == TOKEN_STRING)
        ptx_next(p);
    ptx_expect(p, '{');
    if (strings)
        parse_debug_strings(p);
    for (int depth = 1; depth && p->token.kind != TOKEN_END;) {
        depth += ptx_is(p, '{') ? 1 : ptx_is(p, '}') ? -1 : 0;
        if (depth)
            ptx_next(p);
    }
    ptx_expect(p, '}');
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */

static void dims(struct ptx_parser *p, uint32_t out[3])
{
    ptx_next(p);
    for (int i = 0; i < 3; i++) {
        out[i] = 1;
        if (i == 0 || ptx_take(p, ','))
            out[i] = (uint32_t)ptx_integer(p, "a dimension", UINT32_MAX);
    }
}

/* Directives between a function's head and its body. */
static void performance(struct ptx_parser *p, struct ptx_function *f)
{
    static const struct {
        const char *text;
        size_t at;
    } numbers[] = {
        {"minnctapersm", offsetof(struct ptx_function, minnctapersm)},
        {"maxnctapersm", offsetof(struct ptx_function, minnctapersm)},
        {"maxnreg", offsetof(struct ptx_function, maxnreg)},
        {"maxclusterrank", offsetof(struct ptx_function, maxclusterrank)},
    };
    char text[48];
    while (p->token.kind == TOKEN_DIRECTIVE) {
        size_t i = 0;
        for (; i < sizeof numbers / sizeof numbers[0] && !ptx_is_directive(p, numbers[i].text); i++)
            continue;
        if (i < sizeof numbers / sizeof numbers[0]) {
            ptx_next(p);
            uint32_t number = (uint32_t)ptx_integer(p, "the number of a directive", UINT32_MAX);
            memcpy((char *)f + numbers[i].at, &number, sizeof number);
        } else if (ptx_is_directive(p, "maxntid")) {
            dims(p, f->maxntid);
        } else if (ptx_is_directive(p, "reqntid")) {
            dims(p, f->reqntid);
        } else if (ptx_is_directive(p, "reqnctapercluster")) {
            dims(p, f->reqnctapercluster);
        } else if (ptx_is_directive(p, "explicitcluster")) {
            f->explicitcluster = 1;
            ptx_next(p);
        } else if (ptx_is_directive(p, "blocksareclusters")) {
            f->blocksareclusters = 1;
            ptx_next(p);
        } else if (ptx_is_directive(p, "noreturn")) {
            f->noreturn = 1;
            ptx_next(p);
        } else if (ptx_is_directive(p, "abi_preserve") || ptx_is_directive(p, "abi_preserve_control")) {
            ptx_next(p);
            ptx_integer(p, "the number of a directive", UINT32_MAX);
        } else if (ptx_is_directive(p, "pragma")) {
            ptx_skip_statement(p);
        } else if (ptx_is_directive(p, "loc")) {
            ptx_parse_loc(p);
        } else {
            ptx_error(p, "unexpected directive %s before the body of a function", ptx_token_text(p, text));
        }
    }
}

static int same_parameters(const struct ptx_function *a, const struct ptx_function *b)
{
    if (a->param_count != b->param_count || a->return_count != b->return_count || a->is_kernel != b->is_kernel)
        return 0;
    for (uint32_t i = 0; i < a->param_count; i++)
        if (a->params[i].bytes != b->params[i].bytes)
            return 0;
    for (uint32_t i = 0; i < a->return_count; i++)
        if (a->returns[i].bytes != b->returns[i].bytes)
            return 0;
    return 1;
}

static void free_function(struct tw_memory *memory, struct ptx_function *f)
{
    memory->free(memory->self, f->registers);
    memory->free(memory->self, f->instructions);
    memory->free(memory->self, f->operands);
    memory->free(memory->self, f->labels);
}

/* .entry name (params) ... { } and .func (returns) name (params) ... { } or ; */
static void parse_function(struct ptx_parser *p, int is_kernel, unsigned linkage)
{
    struct ptx_module *module = p->module;
    struct ptx_function f = {.is_kernel = (uint8_t)is_kernel,
                             .linkage = (uint8_t)linkage,
                             .alias_of = PTX_NONE,
                             .line = p->line,
                             .local_align = 1};
    char text[48];
    ptx_next(p);
    p->function = &f;
    p->function_index = module->function_count; /* the owner of its variables: put right below where it is another */
    p->instruction_space = p->operand_space = p->label_space = p->register_space = 0;
    p->param_top = 0;
    p->first_location = module->location_count;
    p->location = PTX_NONE;
    p->target_count = p->fixup_count = 0;
    uint32_t first_variable = module->variable_count;
    ptx_open_scope(p);
    if (!is_kernel && ptx_is_directive(p, "attribute")) {
        while (p->token.kind != TOKEN_END && !ptx_is(p, ')'))
            ptx_next(p);
        ptx_expect(p, ')');
    }
    if (!is_kernel && ptx_is(p, '('))
        f.returns = ptx_parse_parameters(p, &f.return_count, 1);
    struct ptx_token name = p->token;
    if (name.kind != TOKEN_NAME)
        ptx_error(p, "expected the name of a function, found %s", ptx_token_text(p, text));
    f.name = ptx_intern(p, name.text, name.length);
    ptx_next(p);
    if (ptx_is(p, '('))
        f.params = ptx_parse_parameters(p, &f.param_count, 1);
    for (uint32_t i = 0; is_kernel && i < f.param_count; i++)
        if (f.params[i].variable == PTX_NONE)
            ptx_error(p, "a kernel's parameter in a register");
    if (is_kernel)
        f.param_bytes = p->param_top;
    f.param_area_bytes = p->param_top;
    performance(p, &f);

    uint32_t index = PTX_NONE;
    struct ptx_symbol *old = p->status ? NULL : ptx_lookup(p, name.text, name.length, name.hash);
    int again = old && old->depth == 0;
    if (again) {
        if (old->kind == SYMBOL_FUNCTION)
            index = old->index;
        if (index == PTX_NONE || !same_parameters(&module->functions[index], &f) ||
            (module->functions[index].has_body && ptx_is(p, '{')))
            ptx_error(p, "%.*s is declared twice", name.length < 200 ? (int)name.length : 200, name.text);
    } else if (ptx_grow(p, &module->functions, module->function_count, &p->function_space, sizeof *module->functions)) {
        index = module->function_count++;
        module->functions[index] = f;
        module->functions[index].registers = NULL;
        /* Here for the body, which may call itself; and at module level once the scope is closed. */
        ptx_declare(p, &name, SYMBOL_FUNCTION, index, 0);
    }
    p->function_index = index;
    for (uint32_t i = first_variable; i < module->variable_count; i++)
        module->variables[i].function = index;
    if (ptx_take(p, '{')) {
        f.has_body = 1;
        /* room even where no instruction has an operand: the place of the first is a pointer all the same */
        ptx_grow(p, &f.operands, 0, &p->operand_space, sizeof *f.operands);
        ptx_parse_body(p);
    } else {
        ptx_expect(p, ';');
    }
    ptx_close_scope(p);
    p->function = NULL;
    p->function_index = PTX_NONE;
    struct ptx_function *kept = index == PTX_NONE ? NULL : &module->functions[index];
    if (!kept || (kept->has_body && !f.has_body)) {
        free_function(&p->memory, &f);
        return;
    }
    if (linkage == PTX_LINK_NONE)
        f.linkage = kept->linkage;
    free_function(&p->memory, kept);
    *kept = f;
    if (!p->status && !again)
        ptx_declare(p, &name, SYMBOL_FUNCTION, index, 0);
}

/* .alias name, target; resolved at the end, when both are there. */
static void parse_alias(struct ptx_parser *p)
{
    ptx_next(p);
    struct ptx_symbol *symbol =
        p->token.kind == TOKEN_NAME ? ptx_lookup(p, p->token.text, p->token.length, p->token.hash) : NULL;
    if (!symbol || symbol->kind != SYMBOL_FUNCTION) {
        char text[48];
        ptx_error(p, "%s in .alias is no function", ptx_token_text(p, text));
        return;
    }
    struct ptx_alias alias = {.from = symbol->index, .line = p->line};
    ptx_next(p);
    ptx_expect(p, ',');
    alias.to = p->token;
    if (p->token.kind != TOKEN_NAME)
        ptx_expect(p, ';');
    ptx_next(p);
    ptx_expect(p, ';');
    if (ptx_grow(p, &p->aliases, p->alias_count, &p->alias_space, sizeof *p->aliases))
        p->aliases[p->alias_count++] = alias;
}

/* ---- The module -------------------------------------------------------------------------------------------------- */

static void header(struct ptx_parser *p)
{
    struct ptx_module *module = p->module;
    if (ptx_is_directive(p, "version")) {
        const char *c = p->cursor;
        ptx_next(p); /* 9.0 is a float to the lexer: its text is read again */
        while (c < p->cursor && (*c == ' ' || *c == '\t'))
            c++;
        for (; c < p->cursor && *c >= '0' && *c <= '9' && module->version_major < 1000; c++)
            module->version_major = module->version_major * 10 + (uint32_t)(*c - '0');
        for (c += c < p->cursor; c < p->cursor && *c >= '0' && *c <= '9' && module->version_minor < 1000; c++)
            module->version_minor = module->version_minor * 10 + (uint32_t)(*c - '0');
        if (p->token.kind != TOKEN_FLOAT || module->version_major < 1)
            ptx_error(p, ".version needs a number like 9.0");
        ptx_next(p);
    } else if (ptx_is_directive(p, "target")) {
        ptx_next(p);
        if (p->token.kind != TOKEN_NAME || p->token.length >= sizeof module->target) {
            ptx_error(p, ".target needs an architecture");
            return;
        }
        memcpy(module->target, p->token.text, p->token.length);
        module->target[p->token.length] = 0;
        ptx_next(p);
        while (ptx_take(p, ',')) { /* debug, texmode_unified, ... */
            module->is_debug |= p->token.length == 5 && !memcmp(p->token.text, "debug", 5);
            ptx_next(p);
        }
    } else {
        ptx_next(p);
        module->address_size = (uint32_t)ptx_integer(p, ".address_size", 64);
        if (!p->status && module->address_size != 64)
            ptx_refuse(p, ".address_size %u is not supported: 64 is", module->address_size);
    }
}

static void parse_module(struct ptx_parser *p)
{
    static const struct {
        const char *text;
        unsigned linkage;
    } linkages[] = {{"visible", PTX_LINK_VISIBLE},
                    {"extern", PTX_LINK_EXTERN},
                    {"weak", PTX_LINK_WEAK},
                    {"common", PTX_LINK_COMMON}};
    unsigned linkage = PTX_LINK_NONE;
    char text[48];
    while (p->token.kind != TOKEN_END) {
        unsigned space = ptx_space_word(&p->token), next = PTX_LINK_NONE;
        for (size_t i = 0; i < sizeof linkages / sizeof linkages[0]; i++)
            if (ptx_is_directive(p, linkages[i].text))
                next = linkages[i].linkage;
        if (next)
            ptx_next(p);
        else if (ptx_is_directive(p, "version") || ptx_is_directive(p, "target") || ptx_is_directive(p, "address_size"))
            header(p);
        else if (ptx_is_directive(p, "entry") || ptx_is_directive(p, "func"))
            parse_function(p, p->token.text[0] == 'e', linkage);
        else if (space)
            ptx_parse_variable(p, space, linkage);
        else if (ptx_is_directive(p, "file"))
            parse_file(p);
        else if (ptx_is_directive(p, "section"))
            parse_section(p);
        else if (ptx_is_directive(p, "alias"))
            parse_alias(p);
        else if (ptx_is_directive(p, "pragma"))
            ptx_skip_statement(p);
        else if (ptx_is_directive(p, "loc"))
            ptx_parse_loc(p);
        else if (!ptx_take(p, ';'))
            ptx_error(p, "unexpected %s%s", ptx_token_text(p, text),
                      p->token.kind == TOKEN_DIRECTIVE ? "" : " outside of a function");
        linkage = next;
    }
    if (!p->status && !p->module->version_major)
        ptx_error(p, "no .version: this is not PTX");
    else if (!p->status && !p->module->target[0])
        ptx_error(p, "no .target: this is not PTX");
}

/* What could not be known before the end: file numbers, names of inlined functions, aliases. */
static void finish(struct ptx_parser *p)
{
    struct ptx_module *module = p->module;
    uint32_t last = 0;
    for (uint32_t i = 0; i < module->location_count && !p->status; i++) {
        struct ptx_location *location = &module->locations[i];
        if (location->function != PTX_NONE)
            location->function = p->strings[location->function].name;
        uint32_t number = location->file;
        if (last >= module->file_count || module->files[last].number != number)
            for (last = 0; last < module->file_count && module->files[last].number != number; last++)
                continue;
        if (last == module->file_count) {
            if (!ptx_grow(p, &module->files, module->file_count, &p->file_space, sizeof *module->files))
                return;
            module->files[module->file_count++] = (struct ptx_file){number, ptx_intern(p, "", 0)};
        }
        location->file = last;
    }
    for (uint32_t i = 0; i < p->alias_count && !p->status; i++) {
        struct ptx_alias *alias = &p->aliases[i];
        struct ptx_symbol *to = ptx_lookup(p, alias->to.text, alias->to.length, alias->to.hash);
        p->line = alias->line;
        if (!to || to->kind != SYMBOL_FUNCTION || to->index == alias->from) {
            ptx_error(p, "the target of .alias is no function");
            return;
        }
        module->functions[alias->from].alias_of = to->index;
    }
    for (uint32_t i = 0; i < module->function_count && !p->status; i++) {
        uint32_t at = i;
        for (uint32_t steps = 0; module->functions[at].alias_of != PTX_NONE; steps++) {
            if (steps > module->function_count) {
                ptx_error(p, ".alias of itself");
                return;
            }
            at = module->functions[at].alias_of;
        }
        if (at != i)
            module->functions[i].alias_of = at;
    }
}

int ptx_parse(const struct tw_memory *memory, const char *text, size_t length, struct ptx_module **module,
              struct tw_error *error)
{
    *module = NULL;
    if (length > UINT32_MAX / 2)
        return tw_fail(error, TW_ERROR_INVALID, "PTX of more than 2 GiB");
    struct ptx_module *made = memory->alloc(memory->self, sizeof *made);
    struct ptx_parser *p = memory->alloc(memory->self, sizeof *p);
    if (!made || !p) {
        memory->free(memory->self, made);
        memory->free(memory->self, p);
        return tw_fail(error, TW_ERROR_MEMORY, "out of memory before the first line of PTX");
    }
    *made = (struct ptx_module){.memory = *memory, .address_size = 64};
    *p = (struct ptx_parser){.memory = *memory,
                             .error = error,
                             .text = text,
                             .cursor = text,
                             .end = text + length,
                             .line = 1,
                             .module = made,
                             .location = PTX_NONE,
                             .function_index = PTX_NONE};
    memset(p->buckets, 255, sizeof p->buckets);
    memset(p->location_buckets, 255, sizeof p->location_buckets);
    while (p->end > p->text && !p->end[-1]) /* NVRTC counts the zero at the end */
        p->end--;
    ptx_intern(p, "", 0);
    ptx_next(p);
    parse_module(p);
    finish(p);
    memory->free(memory->self, p->symbols);
    memory->free(memory->self, p->fixups);
    memory->free(memory->self, p->targets);
    memory->free(memory->self, p->elements);
    memory->free(memory->self, p->location_chain);
    memory->free(memory->self, p->strings);
    memory->free(memory->self, p->aliases);
    int status = p->status;
    memory->free(memory->self, p);
    if (status)
        ptx_free(made);
    else
        *module = made;
    return status;
}
