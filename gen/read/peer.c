/* peer = { "gemm", a = "A", b = "B", d = "D" } of a kernel without a family that says it: the problem of a library that
 * `bench` times beside the kernel, and which tensors are the problem's. */
#include <string.h>

#include "read/read.h"

static const char *const problems[] = {"gemm", NULL};
static const char *const roles[] = {"a", "b", "d", NULL};
static const char example[] = "{ \"gemm\", a = \"A\", b = \"B\", d = \"D\" }";

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words && strcmp(*words, word) != 0)
        words++;
    return *words != NULL;
}

/* The problem's name, of the table on top of the stack. */
static const char *read_problem(struct reader *r)
{
    const bool text = lua_rawgeti(r->L, -1, 1) == LUA_TSTRING;
    const char *word = text ? arena_text(r->arena, lua_tostring(r->L, -1)) : NULL;
    if (text)
        reader_check(r, word);
    if (!word || !is_one_of(word, problems))
        reader_fault(r, "peer[1]", AT_VALUE, "FIELD-WORD", "takes the name of a problem first (%s), this is %s%s",
                     reader_list(r, problems, " or "), describe(r, -1), word ? reader_suggest(r, word, problems) : "");
    lua_pop(r->L, 1);
    return word;
}

/* The kernel's tensor that is named on top of the stack, NULL: told that there is none. */
static const char *named_tensor(struct reader *r, const char *path)
{
    const struct spec_kernel *k = reader_kernel(r);
    const char *name = lua_type(r->L, -1) == LUA_TSTRING ? lua_tostring(r->L, -1) : NULL;
    const char **known = arena_alloc(r->arena, (size_t)(k->tensor_count + 1) * sizeof *known);
    reader_check(r, known);
    for (int i = 0; i < k->tensor_count; i++)
        known[i] = k->tensor[i].name;
    for (int i = 0; i < k->tensor_count && name; i++)
        if (strcmp(known[i], name) == 0)
            return known[i];
    reader_fault(r, path, AT_VALUE, "FIELD-WORD", "takes the name of one of the kernel's tensors (%s), this is %s%s",
                 reader_list(r, known, " or "), describe(r, -1), name ? reader_suggest(r, name, known) : "");
    return NULL;
}

/* Key `key` of the table on top of the stack. */
static void read_role(struct reader *r, const struct key *key, struct spec_peer *peer)
{
    if (!key->name && key->position == 1)
        return; /* the problem */
    const char *path = key->name ? arena_format(r->arena, "peer.%s", key->name)
                                 : arena_format(r->arena, "peer[%lld]", (long long)key->position);
    reader_check(r, path);
    if (!key->name || !is_one_of(key->name, roles)) {
        reader_fault(r, path, AT_KEY, "FIELD-UNKNOWN", "there is no such tensor of a gemm; it has %s%s",
                     reader_list(r, roles, " and "), key->name ? reader_suggest(r, key->name, roles) : "");
        return;
    }
    lua_getfield(r->L, -1, key->name);
    peer->role[peer->count] = arena_text(r->arena, key->name);
    reader_check(r, peer->role[peer->count]);
    peer->tensor[peer->count] = named_tensor(r, path);
    peer->count++;
    lua_pop(r->L, 1);
}

void peer_field(struct reader *r, int table)
{
    struct spec_kernel *k = reader_kernel(r);
    struct spec_peer peer = {0};
    const int told = r->diags->reported;
    int count = 0, type = lua_getfield(r->L, table, "peer");
    if (type == LUA_TTABLE) {
        struct key *key = sorted_keys(r, lua_gettop(r->L), &count);
        peer.problem = read_problem(r);
        for (int i = 0; i < count; i++)
            read_role(r, &key[i], &peer);
        for (int i = 0; roles[i] && r->diags->reported == told; i++)
            if (!is_one_of(roles[i], peer.role))
                reader_fault(r, "peer", AT_VALUE, "FIELD-TYPE", "%s is missing; write %s", roles[i], example);
        if (r->diags->reported == told)
            k->peer = peer;
    } else if (type != LUA_TNIL) {
        reader_fault(r, "peer", AT_VALUE, "FIELD-TYPE", "takes a problem and its tensors, %s, this is %s", example,
                     describe(r, -1));
    }
    lua_pop(r->L, 1);
}
