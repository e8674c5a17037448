/* Graphs: the driver's, with kernels by their addresses in the program. */
#include "cudart.h"

int cudaGraphInstantiate(struct cu_graph **executable, struct cu_graph *graph, unsigned long long flags)
{
    return cudaGraphInstantiateWithFlags(executable, graph, flags);
}

static int node_of(const struct kernel_node *params, struct cu_kernel_node *node)
{
    *node = (struct cu_kernel_node){.grid = {params->grid.x, params->grid.y, params->grid.z},
                                    .block = {params->block.x, params->block.y, params->block.z},
                                    .shared_bytes = params->shared,
                                    .arguments = params->arguments,
                                    .extra = params->extra};
    return rt_kernel(params->host, &node->function);
}

int cudaGraphAddKernelNode(struct cu_node **node, struct cu_graph *graph, struct cu_node *const *needs, size_t count,
                           const struct kernel_node *params)
{
    BEGIN;
    struct cu_kernel_node driver;
    int result = node_of(params, &driver);
    return rt_last(result ? result : cuGraphAddKernelNode_v2(node, graph, needs, count, &driver));
}

int cudaGraphExecKernelNodeSetParams(struct cu_graph *executable, struct cu_node *node,
                                     const struct kernel_node *params)
{
    BEGIN;
    struct cu_kernel_node driver;
    int result = node_of(params, &driver);
    return rt_last(result ? result : cuGraphExecKernelNodeSetParams_v2(executable, node, &driver));
}

int cudaGraphAddMemcpyNode(struct cu_node **node, struct cu_graph *graph, struct cu_node *const *needs, size_t count,
                           const struct copy_3d *params)
{
    BEGIN;
    struct cu_copy_3d driver = {.width = 0};
    int result = rt_copy_3d(params, &driver);
    return rt_last(result ? result : cuGraphAddMemcpyNode(node, graph, needs, count, &driver, NULL));
}

int cudaGraphAddMemcpyNode1D(struct cu_node **node, struct cu_graph *graph, struct cu_node *const *needs, size_t count,
                             void *to, const void *from, size_t bytes, int kind)
{
    const struct copy_3d params = {.from = {(void *)(uintptr_t)from, bytes, bytes, 1},
                                   .to = {to, bytes, bytes, 1},
                                   .extent = {bytes, 1, 1},
                                   .kind = kind};
    return cudaGraphAddMemcpyNode(node, graph, needs, count, &params);
}

int cudaGraphAddMemsetNode(struct cu_node **node, struct cu_graph *graph, struct cu_node *const *needs, size_t count,
                           const struct cu_fill_node *params)
{
    BEGIN;
    return rt_last(cuGraphAddMemsetNode(node, graph, needs, count, params, NULL));
}

int cudaGraphCreate(struct cu_graph **graph, unsigned flags)
{
    BEGIN;
    return rt_last(cuGraphCreate(graph, flags));
}

int cudaGraphDestroy(struct cu_graph *graph)
{
    BEGIN;
    return rt_last(cuGraphDestroy(graph));
}

int cudaGraphClone(struct cu_graph **copy, struct cu_graph *graph)
{
    BEGIN;
    return rt_last(cuGraphClone(copy, graph));
}

int cudaGraphInstantiateWithFlags(struct cu_graph **executable, struct cu_graph *graph, unsigned long long flags)
{
    BEGIN;
    return rt_last(cuGraphInstantiateWithFlags(executable, graph, flags));
}

int cudaGraphInstantiateWithParams(struct cu_graph **executable, struct cu_graph *graph, struct cu_instantiate *params)
{
    BEGIN;
    return rt_last(cuGraphInstantiateWithParams(executable, graph, params));
}

int cudaGraphLaunch(struct cu_graph *executable, struct cu_stream *stream)
{
    BEGIN;
    return rt_last(cuGraphLaunch(executable, stream));
}

int cudaGraphUpload(struct cu_graph *executable, struct cu_stream *stream)
{
    BEGIN;
    return rt_last(cuGraphUpload(executable, stream));
}

int cudaGraphExecDestroy(struct cu_graph *executable)
{
    BEGIN;
    return rt_last(cuGraphExecDestroy(executable));
}

int cudaGraphExecUpdate(struct cu_graph *executable, struct cu_graph *graph, struct cu_update_info *info)
{
    BEGIN;
    return rt_last(cuGraphExecUpdate_v2(executable, graph, info));
}

int cudaGraphGetNodes(struct cu_graph *graph, struct cu_node **nodes, size_t *count)
{
    BEGIN;
    return rt_last(cuGraphGetNodes(graph, nodes, count));
}

int cudaGraphGetRootNodes(struct cu_graph *graph, struct cu_node **nodes, size_t *count)
{
    BEGIN;
    return rt_last(cuGraphGetRootNodes(graph, nodes, count));
}

int cudaGraphNodeGetType(struct cu_node *node, int *type)
{
    BEGIN;
    return rt_last(cuGraphNodeGetType(node, type));
}

int cudaGraphAddHostNode(struct cu_node **node, struct cu_graph *graph, struct cu_node *const *needs, size_t count,
                         const struct cu_host_call *params)
{
    BEGIN;
    return rt_last(cuGraphAddHostNode(node, graph, needs, count, params));
}

int cudaGraphAddEmptyNode(struct cu_node **node, struct cu_graph *graph, struct cu_node *const *needs, size_t count)
{
    BEGIN;
    return rt_last(cuGraphAddEmptyNode(node, graph, needs, count));
}

int cudaGraphAddChildGraphNode(struct cu_node **node, struct cu_graph *graph, struct cu_node *const *needs,
                               size_t count, struct cu_graph *child)
{
    BEGIN;
    return rt_last(cuGraphAddChildGraphNode(node, graph, needs, count, child));
}

int cudaGraphAddDependencies(struct cu_graph *graph, struct cu_node *const *from, struct cu_node *const *to,
                             const void *edges, size_t count)
{
    BEGIN;
    return rt_last(cuGraphAddDependencies_v2(graph, from, to, edges, count));
}
