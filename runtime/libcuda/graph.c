/* Graphs: nodes of work in the order in which they were added, which a launch follows as far as dependencies allow. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* ---- Work of its own --------------------------------------------------------------------------------------------- */

static struct cu_graph *graph_copy(const struct cu_graph *graph);

int cu_work_copy(struct cu_work *to, const struct cu_work *from)
{
    *to = *from;
    if (from->kind == CU_KERNEL) {
        size_t bytes = from->of.launch.params_bytes;
        if (!(to->of.launch.params = cu_launch_room(bytes)))
            return CUDA_ERROR_OUT_OF_MEMORY;
        memcpy(to->of.launch.params, from->of.launch.params, bytes);
    }
    if (from->kind == CU_CHILD && !(to->of.child = graph_copy(from->of.child)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

void cu_work_free(struct cu_work *work)
{
    if (work->kind == CU_KERNEL)
        free(work->of.launch.params);
    if (work->kind == CU_CHILD)
        cu_graph_free(work->of.child);
}

struct cu_graph *cu_graph_new(void)
{
    return calloc(1, sizeof(struct cu_graph));
}

void cu_graph_free(struct cu_graph *graph)
{
    while (graph && graph->nodes) {
        struct cu_node *node = graph->nodes;
        graph->nodes = node->next;
        cu_work_free(&node->work);
        free(node->needs);
        free(node);
    }
    free(graph);
}

static int need(struct cu_node *node, struct cu_node *const *needs, size_t count)
{
    struct cu_node **all = realloc(node->needs, (node->need_count + count + 1) * sizeof(struct cu_node *));
    if (!all)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (count)
        memcpy(all + node->need_count, needs, count * sizeof(struct cu_node *));
    node->needs = all;
    node->need_count += count;
    return CUDA_SUCCESS;
}

struct cu_node *cu_graph_add(struct cu_graph *graph, struct cu_node *const *needs, size_t count,
                             const struct cu_work *work)
{
    struct cu_node *node = calloc(1, sizeof *node), **end = &graph->nodes;
    if (!node)
        return NULL;
    node->graph = graph;
    if (need(node, needs, count) || cu_work_copy(&node->work, work)) {
        free(node->needs);
        free(node);
        return NULL;
    }
    while (*end)
        end = &(*end)->next;
    *end = node;
    return node;
}

/* The node of a copy that stands where this one stands in the graph it was made of. */
static struct cu_node *counterpart(const struct cu_graph *copy, const struct cu_node *node)
{
    struct cu_node *there = copy->nodes;
    for (const struct cu_node *n = node->graph->nodes; n && n != node && there; n = n->next)
        there = there->next;
    return there;
}

static struct cu_graph *graph_copy(const struct cu_graph *graph)
{
    struct cu_graph *copy = cu_graph_new();
    for (const struct cu_node *n = graph->nodes; copy && n; n = n->next) {
        struct cu_node *made = cu_graph_add(copy, n->needs, n->need_count, &n->work);
        if (!made) {
            cu_graph_free(copy);
            return NULL;
        }
        made->disabled = n->disabled;
        if (n == graph->last)
            copy->last = made;
    }
    for (struct cu_node *n = copy ? copy->nodes : NULL; n; n = n->next)
        for (size_t i = 0; i < n->need_count; i++)
            n->needs[i] = counterpart(copy, n->needs[i]);
    return copy;
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

static int is_ready(const struct cu_node *node)
{
    for (size_t i = 0; i < node->need_count; i++)
        if (!node->needs[i]->done)
            return 0;
    return 1;
}

static int calls_host(const struct cu_graph *graph)
{
    for (const struct cu_node *n = graph->nodes; n; n = n->next)
        if (n->work.kind == CU_HOST || (n->work.kind == CU_CHILD && calls_host(n->work.of.child)))
            return 1;
    return 0;
}

static int run_nodes(const struct cu_graph *graph)
{
    int ran = 1, left = 0;
    for (struct cu_node *n = graph->nodes; n; n = n->next)
        n->done = 0;
    while (ran) {
        ran = left = 0;
        for (struct cu_node *n = graph->nodes; n; n = n->next) {
            if (n->done)
                continue;
            if (!is_ready(n)) {
                left = 1;
                continue;
            }
            int result = n->disabled ? CUDA_SUCCESS : cu_run(&n->work);
            if (result)
                return result;
            n->done = ran = 1;
        }
    }
    return left ? cu_refuse(CUDA_ERROR_INVALID_VALUE, "nodes of the graph depend on each other in a circle")
                : CUDA_SUCCESS;
}

/* While the host is called other threads may launch, update and destroy the graph: it runs from a copy. */
int cu_run_graph(const struct cu_graph *graph)
{
    if (!calls_host(graph))
        return run_nodes(graph);
    struct cu_graph *copy = graph_copy(graph);
    int result = copy ? run_nodes(copy) : CUDA_ERROR_OUT_OF_MEMORY;
    cu_graph_free(copy);
    return result;
}

int cuGraphLaunch(struct cu_graph *executable, struct cu_stream *stream)
{
    ENTER(cuGraphLaunch);
    const struct cu_work work = {.kind = CU_CHILD, .of = {.child = executable}};
    return executable ? cu_submit(stream, &work) : CUDA_ERROR_INVALID_HANDLE;
}

int cuGraphUpload(struct cu_graph *executable, struct cu_stream *stream)
{
    ENTER(cuGraphUpload);
    (void)executable, (void)stream;
    return CUDA_SUCCESS;
}

/* ---- Making ------------------------------------------------------------------------------------------------------ */

int cuGraphCreate(struct cu_graph **graph, unsigned flags)
{
    ENTER(cuGraphCreate);
    (void)flags;
    *graph = cu_graph_new();
    return *graph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

int cuGraphDestroy(struct cu_graph *graph)
{
    ENTER(cuGraphDestroy);
    cu_capture_end_into(graph);
    cu_graph_free(graph);
    return graph ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

int cuGraphClone(struct cu_graph **copy, struct cu_graph *graph)
{
    ENTER(cuGraphClone);
    *copy = graph_copy(graph);
    return *copy ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static int add(struct cu_node **node, struct cu_graph *graph, struct cu_node *const *needs, size_t count,
               const struct cu_work *work)
{
    if (!node || !graph || (count && !needs))
        return CUDA_ERROR_INVALID_VALUE;
    *node = cu_graph_add(graph, needs, count, work);
    return *node ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* The launch that a node's parameters are; its params are the caller's to free. */
static int launch_of(const struct cu_kernel_node *node, struct cu_function *kernel, struct cu_launch *launch)
{
    *launch =
        (struct cu_launch){.function = node->function ? node->function : kernel, .shared_bytes = node->shared_bytes};
    memcpy(launch->grid, node->grid, sizeof launch->grid);
    memcpy(launch->block, node->block, sizeof launch->block);
    return cu_launch_pack(launch, node->arguments, node->extra);
}

static int add_kernel(struct cu_node **node, struct cu_graph *graph, struct cu_node *const *needs, size_t count,
                      const struct cu_kernel_node *params, struct cu_function *kernel)
{
    struct cu_work work = {.kind = CU_KERNEL};
    int result = launch_of(params, kernel, &work.of.launch);
    if (!result)
        result = cu_launch_check(&work.of.launch);
    if (!result)
        result = add(node, graph, needs, count, &work);
    cu_work_free(&work);
    return result;
}

int cuGraphAddKernelNode(struct cu_node **node, struct cu_graph *graph, struct cu_node *const *needs, size_t count,
                         const struct cu_kernel_node *params)
{
    ENTER(cuGraphAddKernelNode);
    return add_kernel(node, graph, needs, count, params, NULL);
}

int cuGraphAddKernelNode_v2(struct cu_node **node, struct cu_graph *graph, struct cu_node *const *needs, size_t count,
                            const struct cu_kernel_node *params)
{
    ENTER(cuGraphAddKernelNode_v2);
    return add_kernel(node, graph, needs, count, params, params->kernel);
}

int cuGraphAddMemcpyNode(struct cu_node **node, struct cu_graph *graph, struct cu_node *const *needs, size_t count,
                         const struct cu_copy_3d *params, struct cu_context *context)
{
    ENTER(cuGraphAddMemcpyNode);
    struct cu_work work = {.kind = CU_COPY};
    (void)context;
    int result = cu_copy_of_3d(params, &work.of.copy);
    return result ? result : add(node, graph, needs, count, &work);
}

int cuGraphAddMemsetNode(struct cu_node **node, struct cu_graph *graph, struct cu_node *const *needs, size_t count,
                         const struct cu_fill_node *params, struct cu_context *context)
{
    ENTER(cuGraphAddMemsetNode);
    struct cu_work work = {.kind = CU_FILL};
    (void)context;
    work.of.fill =
        (struct cu_fill){params->address, params->pitch, params->value, params->bytes, params->width, params->height};
    return add(node, graph, needs, count, &work);
}

int cuGraphAddHostNode(struct cu_node **node, struct cu_graph *graph, struct cu_node *const *needs, size_t count,
                       const struct cu_host_call *params)
{
    ENTER(cuGraphAddHostNode);
    const struct cu_work work = {.kind = CU_HOST, .of = {.host = *params}};
    return add(node, graph, needs, count, &work);
}

int cuGraphAddEmptyNode(struct cu_node **node, struct cu_graph *graph, struct cu_node *const *needs, size_t count)
{
    ENTER(cuGraphAddEmptyNode);
    const struct cu_work work = {.kind = CU_EMPTY};
    return add(node, graph, needs, count, &work);
}

int cuGraphAddChildGraphNode(struct cu_node **node, struct cu_graph *graph, struct cu_node *const *needs, size_t count,
                             struct cu_graph *child)
{
    ENTER(cuGraphAddChildGraphNode);
    const struct cu_work work = {.kind = CU_CHILD, .of = {.child = child}};
    return child ? add(node, graph, needs, count, &work) : CUDA_ERROR_INVALID_VALUE;
}

int cuGraphAddDependencies(struct cu_graph *graph, struct cu_node *const *from, struct cu_node *const *to, size_t count)
{
    ENTER(cuGraphAddDependencies);
    int result = CUDA_SUCCESS;
    (void)graph;
    for (size_t i = 0; i < count && !result; i++)
        result = need(to[i], &from[i], 1);
    return result;
}

int cuGraphAddDependencies_v2(struct cu_graph *graph, struct cu_node *const *from, struct cu_node *const *to,
                              const void *edges, size_t count)
{
    (void)edges;
    return cuGraphAddDependencies(graph, from, to, count);
}

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

static int list(struct cu_graph *graph, struct cu_node **nodes, size_t *count, int roots)
{
    size_t found = 0;
    for (struct cu_node *n = graph->nodes; n; n = n->next) {
        if (roots && n->need_count)
            continue;
        if (nodes && found < *count)
            nodes[found] = n;
        found++;
    }
    for (size_t i = found; nodes && i < *count; i++)
        nodes[i] = NULL;
    if (!nodes || *count > found)
        *count = found;
    return CUDA_SUCCESS;
}

int cuGraphGetNodes(struct cu_graph *graph, struct cu_node **nodes, size_t *count)
{
    ENTER(cuGraphGetNodes);
    return list(graph, nodes, count, 0);
}

int cuGraphGetRootNodes(struct cu_graph *graph, struct cu_node **nodes, size_t *count)
{
    ENTER(cuGraphGetRootNodes);
    return list(graph, nodes, count, 1);
}

int cuGraphNodeGetType(struct cu_node *node, int *type)
{
    ENTER(cuGraphNodeGetType);
    *type = (int)node->work.kind;
    return CUDA_SUCCESS;
}

int cuGraphNodeGetDependencies_v2(struct cu_node *node, struct cu_node **needs, void *edges, size_t *count)
{
    ENTER(cuGraphNodeGetDependencies_v2);
    enum { EDGE_BYTES = 8 };
    for (size_t i = 0; needs && i < *count; i++)
        needs[i] = i < node->need_count ? node->needs[i] : NULL;
    if (edges)
        memset(edges, 0, EDGE_BYTES * *count);
    if (!needs || *count > node->need_count)
        *count = node->need_count;
    return CUDA_SUCCESS;
}

int cuGraphNodeGetDependencies(struct cu_node *node, struct cu_node **needs, size_t *count)
{
    return cuGraphNodeGetDependencies_v2(node, needs, NULL, count);
}

/* ---- Instantiated graphs: copies --------------------------------------------------------------------------------- */

static int instantiate(struct cu_graph **executable, const struct cu_graph *graph)
{
    if (!graph)
        return CUDA_ERROR_INVALID_VALUE;
    *executable = graph_copy(graph);
    if (*executable)
        (*executable)->made_of = graph;
    return *executable ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

int cuGraphInstantiateWithFlags(struct cu_graph **executable, struct cu_graph *graph, uint64_t flags)
{
    ENTER(cuGraphInstantiateWithFlags);
    (void)flags;
    return instantiate(executable, graph);
}

int cuGraphInstantiateWithParams(struct cu_graph **executable, struct cu_graph *graph, struct cu_instantiate *params)
{
    ENTER(cuGraphInstantiateWithParams);
    params->at_fault = NULL;
    params->result = 0;
    return instantiate(executable, graph);
}

int cuGraphInstantiate_v2(struct cu_graph **executable, struct cu_graph *graph, struct cu_node **at_fault, char *log,
                          size_t bytes)
{
    ENTER(cuGraphInstantiate_v2);
    if (at_fault)
        *at_fault = NULL;
    if (log && bytes)
        *log = '\0';
    return instantiate(executable, graph);
}

int cuGraphExecDestroy(struct cu_graph *executable)
{
    ENTER(cuGraphExecDestroy);
    cu_graph_free(executable);
    return executable ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The node of an instantiated graph that a node of the graph stands for which it was made of; NULL: none does. */
static struct cu_node *instance(const struct cu_graph *executable, const struct cu_node *node)
{
    return executable && node && executable->made_of == node->graph ? counterpart(executable, node) : NULL;
}

/* node: of the graph that was instantiated. Cluster and flags of the launch stay. */
static int set_kernel(struct cu_graph *executable, const struct cu_node *node, const struct cu_kernel_node *params,
                      struct cu_function *kernel)
{
    struct cu_node *there = instance(executable, node);
    struct cu_work work = {.kind = CU_KERNEL};
    struct cu_launch *launch = &work.of.launch;
    if (!there || there->work.kind != CU_KERNEL)
        return CUDA_ERROR_INVALID_VALUE;
    int result = launch_of(params, kernel, launch);
    memcpy(launch->cluster, there->work.of.launch.cluster, sizeof launch->cluster);
    launch->flags = there->work.of.launch.flags;
    if (!result)
        result = cu_launch_check(launch);
    if (!result) {
        struct cu_work before = there->work;
        there->work = work;
        work = before;
    }
    cu_work_free(&work);
    return result;
}

int cuGraphExecKernelNodeSetParams(struct cu_graph *executable, struct cu_node *node,
                                   const struct cu_kernel_node *params)
{
    ENTER(cuGraphExecKernelNodeSetParams);
    return set_kernel(executable, node, params, NULL);
}

int cuGraphExecKernelNodeSetParams_v2(struct cu_graph *executable, struct cu_node *node,
                                      const struct cu_kernel_node *params)
{
    ENTER(cuGraphExecKernelNodeSetParams_v2);
    return set_kernel(executable, node, params, params->kernel);
}

/* The node of an instantiated graph that can be disabled: of a kernel, a copy or a fill. NULL: it cannot. */
static struct cu_node *switched(struct cu_graph *executable, const struct cu_node *node)
{
    struct cu_node *there = instance(executable, node);
    const int kind = there ? (int)there->work.kind : CU_EMPTY;
    return kind == CU_KERNEL || kind == CU_COPY || kind == CU_FILL ? there : NULL;
}

int cuGraphNodeSetEnabled(struct cu_graph *executable, struct cu_node *node, unsigned enabled)
{
    ENTER(cuGraphNodeSetEnabled);
    struct cu_node *there = switched(executable, node);
    if (!there)
        return CUDA_ERROR_INVALID_VALUE;
    there->disabled = !enabled;
    return CUDA_SUCCESS;
}

int cuGraphNodeGetEnabled(struct cu_graph *executable, struct cu_node *node, unsigned *enabled)
{
    ENTER(cuGraphNodeGetEnabled);
    const struct cu_node *there = switched(executable, node);
    if (!there || !enabled)
        return CUDA_ERROR_INVALID_VALUE;
    *enabled = !there->disabled;
    return CUDA_SUCCESS;
}

/* Whether a node depends on those that stand where the other's do, in graphs of the same nodes. */
static int same_needs(const struct cu_node *a, const struct cu_node *b)
{
    int same = a->need_count == b->need_count;
    for (size_t i = 0; i < b->need_count && same; i++) {
        const struct cu_node *wanted = counterpart(a->graph, b->needs[i]);
        size_t k = 0;
        while (k < a->need_count && a->needs[k] != wanted)
            k++;
        same = k < a->need_count;
    }
    return same;
}

/* CUgraphExecUpdateResult: 0 updated, 2 another topology, 3 a node of another type. The handle stays, and what is
 * disabled. */
static int update(struct cu_graph *executable, const struct cu_graph *graph, int *result)
{
    const struct cu_node *a = executable->nodes, *b = graph->nodes;
    *result = 0;
    for (; a && b; a = a->next, b = b->next)
        if (a->work.kind != b->work.kind)
            *result = 3;
    if (a || b)
        *result = 2;
    for (a = executable->nodes, b = graph->nodes; a && !*result; a = a->next, b = b->next)
        if (!same_needs(a, b))
            *result = 2;
    if (*result)
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    struct cu_graph *copy = graph_copy(graph);
    if (!copy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct cu_node *old = executable->nodes, *was = old;
    executable->nodes = copy->nodes;
    copy->nodes = old;
    for (struct cu_node *n = executable->nodes; n; n = n->next, was = was->next)
        n->disabled = was->disabled;
    for (struct cu_node *n = executable->nodes; n; n = n->next)
        n->graph = executable;
    cu_graph_free(copy);
    return CUDA_SUCCESS;
}

int cuGraphExecUpdate_v2(struct cu_graph *executable, struct cu_graph *graph, struct cu_update_info *info)
{
    ENTER(cuGraphExecUpdate_v2);
    info->node = info->from = NULL;
    return update(executable, graph, &info->result);
}

int cuGraphExecUpdate(struct cu_graph *executable, struct cu_graph *graph, struct cu_node **at_fault, int *result)
{
    ENTER(cuGraphExecUpdate);
    if (at_fault)
        *at_fault = NULL;
    return update(executable, graph, result);
}
