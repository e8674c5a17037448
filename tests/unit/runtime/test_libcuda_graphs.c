/* Graphs, captures and streams of the emulated driver. */
#include <pthread.h>
#include <string.h>

#include "unit/check.h"
#include "unit/runtime/libcuda_calls.h"

/* What a stream captures runs when the graph does, with the arguments of the capture. */
static void capture(void **state)
{
    struct cu_stream *stream;
    struct cu_graph *graph, *executable, *clone;
    struct cu_node *nodes[8];
    size_t count = 8;
    uint32_t host[N], by = 2;
    uint64_t x;
    int calls = 0, type = -1, status;
    void *arguments[] = {&x, &by};
    (void)state;
    assert_int_equal(cuMemAlloc_v2(&x, sizeof host), CUDA_SUCCESS);
    assert_int_equal(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
    assert_int_equal(cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
    assert_int_equal(cuStreamBeginCapture_v2(stream, 0), CUDA_SUCCESS);
    assert_int_equal(cuMemsetD32Async(x, 3, N, stream), CUDA_SUCCESS);
    assert_int_equal(launch(scale, stream, arguments), CUDA_SUCCESS);
    by = 100; /* too late */
    assert_int_equal(cuMemcpyDtoHAsync_v2(host, x, sizeof host, stream), CUDA_SUCCESS);
    assert_int_equal(cuLaunchHostFunc(stream, add_one, &calls), CUDA_SUCCESS);
    assert_int_equal(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    assert_int_equal(cuStreamIsCapturing(stream, &status), CUDA_SUCCESS);
    assert_int_equal(status, 0);
    assert_int_equal(cuGraphGetNodes(graph, nodes, &count), CUDA_SUCCESS);
    assert_int_equal(count, 4);
    assert_int_equal(cuGraphNodeGetType(nodes[1], &type), CUDA_SUCCESS);
    assert_int_equal(type, 0);
    assert_int_equal(cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
    assert_int_equal(cuGraphClone(&clone, graph), CUDA_SUCCESS);
    assert_int_equal(calls, 0);
    assert_int_equal(cuGraphLaunch(executable, stream), CUDA_SUCCESS);
    assert_int_equal(calls, 1);
    assert_int_equal(host[N - 1], 6);
    by = 5;
    const struct cu_kernel_node params = {
        .function = scale, .grid = {1, 1, 1}, .block = {N, 1, 1}, .arguments = arguments};
    assert_int_equal(cuGraphExecKernelNodeSetParams_v2(executable, nodes[1], &params), CUDA_SUCCESS);
    assert_int_equal(cuGraphLaunch(executable, stream), CUDA_SUCCESS);
    assert_int_equal(host[N - 1], 15);
    struct cu_update_info info;
    assert_int_equal(cuGraphExecUpdate_v2(executable, clone, &info), CUDA_SUCCESS);
    assert_int_equal(cuGraphLaunch(executable, stream), CUDA_SUCCESS);
    assert_int_equal(host[N - 1], 6);
    /* The copy and the host's call go on without the kernel, and an update leaves it switched off. */
    unsigned enabled = 7;
    assert_int_equal(cuGraphNodeSetEnabled(executable, nodes[1], 0), CUDA_SUCCESS);
    assert_int_equal(cuGraphNodeGetEnabled(executable, nodes[1], &enabled), CUDA_SUCCESS);
    assert_int_equal(enabled, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cuGraphLaunch(executable, stream), CUDA_SUCCESS);
        assert_int_equal(host[N - 1], 3);
        assert_int_equal(cuGraphExecUpdate_v2(executable, clone, &info), CUDA_SUCCESS);
    }
    assert_int_equal(cuGraphNodeSetEnabled(executable, nodes[1], 1), CUDA_SUCCESS);
    assert_int_equal(cuGraphLaunch(executable, stream), CUDA_SUCCESS);
    assert_int_equal(host[N - 1], 6);
    assert_int_equal(cuGraphNodeSetEnabled(executable, nodes[3], 0), CUDA_ERROR_INVALID_VALUE); /* the host's */
    count = 8;
    assert_int_equal(cuGraphGetNodes(clone, nodes, &count), CUDA_SUCCESS); /* another graph's */
    assert_int_equal(cuGraphNodeSetEnabled(executable, nodes[1], 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphExecKernelNodeSetParams_v2(executable, nodes[1], &params), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphExecDestroy(executable), CUDA_SUCCESS);
    assert_int_equal(cuGraphDestroy(graph), CUDA_SUCCESS);
    assert_int_equal(cuGraphDestroy(clone), CUDA_SUCCESS);
    assert_int_equal(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
    assert_int_equal(cuMemFree_v2(x), CUDA_SUCCESS);
}

static struct cu_graph *circle;
static int run_circle(void)
{
    return cuGraphLaunch(circle, NULL);
}

/* Nodes run behind those that they depend on, in whatever order they were added. */
static void dependencies(void **state)
{
    struct cu_node *first, *second;
    uint32_t value = 0;
    uint64_t x;
    (void)state;
    assert_int_equal(cuMemAlloc_v2(&x, 4), CUDA_SUCCESS);
    assert_int_equal(cuGraphCreate(&circle, 0), CUDA_SUCCESS);
    const struct cu_fill_node one = {.address = x, .value = 1, .bytes = 4, .width = 1, .height = 1};
    struct cu_fill_node two = one;
    two.value = 2;
    assert_int_equal(cuGraphAddMemsetNode(&second, circle, NULL, 0, &two, NULL), CUDA_SUCCESS);
    assert_int_equal(cuGraphAddMemsetNode(&first, circle, NULL, 0, &one, NULL), CUDA_SUCCESS);
    assert_int_equal(run_circle(), CUDA_SUCCESS);
    assert_int_equal(cuMemcpyDtoH_v2(&value, x, 4), CUDA_SUCCESS);
    assert_int_equal(value, 1);
    assert_int_equal(cuGraphAddDependencies(circle, &first, &second, 1), CUDA_SUCCESS);
    assert_int_equal(run_circle(), CUDA_SUCCESS);
    assert_int_equal(cuMemcpyDtoH_v2(&value, x, 4), CUDA_SUCCESS);
    assert_int_equal(value, 2);
    assert_int_equal(cuGraphAddDependencies(circle, &second, &first, 1), CUDA_SUCCESS);
    assert_int_equal(quiet(run_circle), CUDA_ERROR_INVALID_VALUE);
    assert_non_null(strstr(said, "cuGraphLaunch: nodes of the graph depend on each other in a circle"));
    assert_int_equal(cuGraphDestroy(circle), CUDA_SUCCESS);
    assert_int_equal(cuMemFree_v2(x), CUDA_SUCCESS);
}

static struct cu_graph *shared_graph, *shared_executable;
static struct cu_node *shared_node;
static uint32_t shared_bytes;
static uint64_t shared_x;
static int run_shared(void)
{
    uint32_t by = 7;
    void *arguments[] = {&shared_x, &by};
    const struct cu_kernel_node params = {
        .function = scale, .grid = {1, 1, 1}, .block = {N, 1, 1}, .shared_bytes = shared_bytes, .arguments = arguments};
    return shared_executable ? cuGraphExecKernelNodeSetParams_v2(shared_executable, shared_node, &params)
                             : cuGraphAddKernelNode_v2(&shared_node, shared_graph, NULL, 0, &params);
}

/* Nodes are checked as launches are, and their parameters lie as those do. */
static void nodes_are_checked(void **state)
{
    uint32_t host = 0;
    (void)state;
    assert_int_equal(cuMemAlloc_v2(&shared_x, 4 * N), CUDA_SUCCESS);
    assert_int_equal(cuMemsetD32_v2(shared_x, 3, N), CUDA_SUCCESS);
    assert_int_equal(cuGraphCreate(&shared_graph, 0), CUDA_SUCCESS);
    shared_bytes = 100 * 1024;
    assert_int_equal(quiet(run_shared), CUDA_ERROR_INVALID_VALUE);
    assert_non_null(strstr(said, "kernel scale: 102400 bytes of dynamic shared memory, 49152 are allowed"));
    shared_bytes = 48 * 1024;
    assert_int_equal(run_shared(), CUDA_SUCCESS);
    assert_int_equal((uintptr_t)shared_node->work.of.launch.params % 64, 0);
    assert_int_equal(cuGraphInstantiateWithFlags(&shared_executable, shared_graph, 0), CUDA_SUCCESS);
    assert_int_equal((uintptr_t)shared_executable->nodes->work.of.launch.params % 64, 0);
    shared_bytes = 100 * 1024;
    assert_int_equal(quiet(run_shared), CUDA_ERROR_INVALID_VALUE);
    assert_non_null(strstr(said, "cuGraphExecKernelNodeSetParams_v2: kernel scale: 102400 bytes"));
    assert_int_equal(cuGraphLaunch(shared_executable, NULL), CUDA_SUCCESS);
    assert_int_equal(cuMemcpyDtoH_v2(&host, shared_x, 4), CUDA_SUCCESS);
    assert_int_equal(host, 21);
    assert_int_equal(cuGraphExecDestroy(shared_executable), CUDA_SUCCESS);
    assert_int_equal(cuGraphDestroy(shared_graph), CUDA_SUCCESS);
    assert_int_equal(cuMemFree_v2(shared_x), CUDA_SUCCESS);
}

/* Graphs of the same nodes that depend on each other otherwise. */
static void updates_compare_edges(void **state)
{
    struct cu_graph *graphs[2], *executable;
    struct cu_node *nodes[2][3];
    struct cu_update_info info;
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cuGraphCreate(&graphs[i], 0), CUDA_SUCCESS);
        for (int k = 0; k < 3; k++)
            assert_int_equal(cuGraphAddEmptyNode(&nodes[i][k], graphs[i], NULL, 0), CUDA_SUCCESS);
    }
    assert_int_equal(cuGraphAddDependencies(graphs[0], &nodes[0][0], &nodes[0][2], 1), CUDA_SUCCESS);
    assert_int_equal(cuGraphAddDependencies(graphs[0], &nodes[0][1], &nodes[0][2], 1), CUDA_SUCCESS);
    assert_int_equal(cuGraphInstantiateWithFlags(&executable, graphs[0], 0), CUDA_SUCCESS);
    assert_int_equal(cuGraphExecUpdate_v2(executable, graphs[1], &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    assert_int_equal(info.result, 2);
    assert_int_equal(cuGraphAddDependencies(graphs[1], &nodes[1][1], &nodes[1][2], 1), CUDA_SUCCESS);
    assert_int_equal(cuGraphExecUpdate_v2(executable, graphs[1], &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    assert_int_equal(cuGraphAddDependencies(graphs[1], &nodes[1][0], &nodes[1][2], 1), CUDA_SUCCESS);
    assert_int_equal(cuGraphExecUpdate_v2(executable, graphs[1], &info), CUDA_SUCCESS); /* in another order */
    assert_int_equal(cuGraphExecUpdate_v2(executable, graphs[0], &info), CUDA_SUCCESS);
    assert_int_equal(cuGraphExecDestroy(executable), CUDA_SUCCESS);
    for (int i = 0; i < 2; i++)
        assert_int_equal(cuGraphDestroy(graphs[i]), CUDA_SUCCESS);
}

/* Streams run again what they are given, and the event of a capture is of no use, however that ended. */
static void after_capture(struct cu_stream *const *joined, size_t count, struct cu_event *event)
{
    for (size_t i = 0; i < count; i++) {
        int status = -1, calls = 0;
        assert_int_equal(cuStreamIsCapturing(joined[i], &status), CUDA_SUCCESS);
        assert_int_equal(status, 0);
        assert_int_equal(cuLaunchHostFunc(joined[i], add_one, &calls), CUDA_SUCCESS);
        assert_int_equal(calls, 1);
        assert_int_equal(cuStreamWaitEvent(joined[i], event, 0), CUDA_ERROR_CAPTURED_EVENT);
    }
}

static size_t nodes_of(struct cu_graph *graph)
{
    size_t count = 0;
    assert_int_equal(cuGraphGetNodes(graph, NULL, &count), CUDA_SUCCESS);
    return count;
}

static void captures_end(void **state)
{
    struct cu_stream *origin, *joined[2] = {NULL, (struct cu_stream *)2};
    struct cu_event *event;
    struct cu_graph *graph;
    uint64_t first, second;
    int status;
    (void)state;
    assert_int_equal(cuStreamCreate(&origin, 0), CUDA_SUCCESS);
    assert_int_equal(cuStreamCreate(&joined[0], 0), CUDA_SUCCESS);
    assert_int_equal(cuEventCreate(&event, 0), CUDA_SUCCESS);
    /* By its end, and the graph goes. */
    assert_int_equal(cuStreamBeginCapture_v2(origin, 0), CUDA_SUCCESS);
    assert_int_equal(cuStreamGetCaptureInfo(origin, &status, &first), CUDA_SUCCESS);
    assert_int_equal(cuEventRecord(event, origin), CUDA_SUCCESS);
    assert_int_equal(cuStreamWaitEvent(NULL, event, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    for (int i = 0; i < 2; i++)
        assert_int_equal(cuStreamWaitEvent(joined[i], event, 0), CUDA_SUCCESS);
    assert_int_equal(cuStreamEndCapture(joined[0], &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    assert_int_equal(cuStreamEndCapture(origin, &graph), CUDA_SUCCESS);
    assert_int_equal(cuGraphDestroy(graph), CUDA_SUCCESS);
    after_capture(joined, 2, event);
    /* Another capture is another, and the event is still of the first. */
    assert_int_equal(cuStreamBeginCapture_v2(joined[1], 0), CUDA_SUCCESS);
    assert_int_equal(cuStreamGetCaptureInfo(joined[1], &status, &second), CUDA_SUCCESS);
    assert_true(second > first);
    assert_int_equal(cuStreamWaitEvent(joined[1], event, 0), CUDA_ERROR_CAPTURED_EVENT);
    assert_int_equal(cuEventRecord(event, joined[1]), CUDA_SUCCESS);
    assert_int_equal(cuStreamWaitEvent(joined[0], event, 0), CUDA_SUCCESS);
    /* By the end of the stream that began it: into a graph of the program's, which stays. */
    assert_int_equal(cuStreamEndCapture(joined[1], &graph), CUDA_SUCCESS);
    assert_int_equal(cuStreamBeginCaptureToGraph(origin, graph, NULL, NULL, 0, 0), CUDA_SUCCESS);
    assert_int_equal(cuEventRecord(event, origin), CUDA_SUCCESS);
    for (int i = 0; i < 2; i++)
        assert_int_equal(cuStreamWaitEvent(joined[i], event, 0), CUDA_SUCCESS);
    assert_int_equal(cuLaunchHostFunc(joined[1], add_one, NULL), CUDA_SUCCESS);
    assert_int_equal(cuStreamDestroy_v2(origin), CUDA_SUCCESS);
    assert_int_equal(nodes_of(graph), 1);
    after_capture(joined, 2, event);
    /* By the end of that graph. */
    assert_int_equal(cuStreamBeginCaptureToGraph(joined[1], graph, NULL, NULL, 0, 0), CUDA_SUCCESS);
    assert_int_equal(cuEventRecord(event, joined[1]), CUDA_SUCCESS);
    assert_int_equal(cuGraphDestroy(graph), CUDA_SUCCESS);
    after_capture(joined, 2, event);
    /* Or of a graph that the capture made, with its stream. */
    assert_int_equal(cuStreamCreate(&origin, 0), CUDA_SUCCESS);
    assert_int_equal(cuStreamBeginCapture_v2(origin, 0), CUDA_SUCCESS);
    assert_int_equal(cuEventRecord(event, origin), CUDA_SUCCESS);
    assert_int_equal(cuStreamWaitEvent(joined[0], event, 0), CUDA_SUCCESS);
    assert_int_equal(cuStreamDestroy_v2(origin), CUDA_SUCCESS);
    after_capture(joined, 2, event);
    assert_int_equal(cuStreamDestroy_v2(joined[0]), CUDA_SUCCESS);
    assert_int_equal(cuEventDestroy_v2(event), CUDA_SUCCESS);
}

/* An event of a launch is recorded in the launch's stream. */
static void events_of_launches(void **state)
{
    struct cu_stream *stream;
    struct cu_event *event;
    struct cu_graph *graph;
    struct tw_launch_attribute attribute = {.id = 12};
    uint32_t by = 2;
    uint64_t x;
    void *arguments[] = {&x, &by};
    (void)state;
    assert_int_equal(cuMemAlloc_v2(&x, 4 * N), CUDA_SUCCESS);
    assert_int_equal(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
    assert_int_equal(cuEventCreate(&event, 0), CUDA_SUCCESS);
    memcpy(attribute.value.bytes, &event, sizeof event);
    const struct tw_launch_config config = {
        .grid = {1, 1, 1}, .block = {N, 1, 1}, .stream = stream, .attributes = &attribute, .attribute_count = 1};
    assert_int_equal(cuStreamBeginCapture_v2(stream, 0), CUDA_SUCCESS);
    assert_int_equal(cuLaunchKernelEx(&config, scale, arguments, NULL), CUDA_SUCCESS);
    assert_int_equal(cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
    assert_int_equal(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    assert_int_equal(nodes_of(graph), 1);
    assert_int_equal(cuGraphDestroy(graph), CUDA_SUCCESS);
    assert_int_equal(cuEventDestroy_v2(event), CUDA_SUCCESS);
    assert_int_equal(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
    assert_int_equal(cuMemFree_v2(x), CUDA_SUCCESS);
}

/* A host function that waits for a thread that calls the driver. */
struct meeting {
    struct cu_graph *executable; /* that the thread destroys; NULL: it does not */
    int nested;                  /* the function is called from within another */
    int results[4], met;
};

static void *meet(void *data)
{
    struct meeting *m = data;
    uint64_t x = 0;
    m->results[0] = cuCtxSetCurrent(&cu.primary);
    m->results[1] = cuMemAlloc_v2(&x, 4);
    m->results[2] = m->executable ? cuGraphExecDestroy(m->executable) : CUDA_SUCCESS;
    cuMemFree_v2(x);
    return NULL;
}

static void waits(void *data)
{
    struct meeting *m = data;
    pthread_t thread;
    if (m->nested) {
        m->nested = 0;
        m->results[3] = cuLaunchHostFunc(NULL, waits, m);
        return;
    }
    if (pthread_create(&thread, NULL, meet, m) == 0 && pthread_join(thread, NULL) == 0)
        m->met++;
}

static void waits_for_stream(struct cu_stream *stream, int result, void *data)
{
    if (!stream && !result)
        waits(data);
}

static size_t shared_of(int threads)
{
    struct meeting m = {0};
    waits(&m);
    return m.met && !m.results[1] ? 0 : (size_t)threads << 20;
}

static void host_functions_hold_no_lock(void **state)
{
    struct meeting m = {0}, nested = {.nested = 1}, last = {0};
    struct cu_graph *graph;
    struct cu_node *nodes[2];
    int grid = 0, threads = 0;
    (void)state;
    assert_int_equal(cuLaunchHostFunc(NULL, waits, &m), CUDA_SUCCESS);
    assert_int_equal(m.met, 1);
    assert_int_equal(m.results[1], CUDA_SUCCESS);
    assert_int_equal(cuStreamAddCallback(NULL, waits_for_stream, &m, 0), CUDA_SUCCESS);
    assert_int_equal(m.met, 2);
    assert_int_equal(cuLaunchHostFunc(NULL, waits, &nested), CUDA_SUCCESS);
    assert_int_equal(nested.met, 1);
    assert_int_equal(nested.results[1], CUDA_SUCCESS);
    assert_int_equal(cuOccupancyMaxPotentialBlockSize(&grid, &threads, race, shared_of, 0, 64), CUDA_SUCCESS);
    assert_int_equal(threads, 64);
    /* A graph that is destroyed while it runs runs to its end. */
    assert_int_equal(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    const struct cu_host_call first = {waits, &m}, second = {waits, &last};
    assert_int_equal(cuGraphAddHostNode(&nodes[0], graph, NULL, 0, &first), CUDA_SUCCESS);
    assert_int_equal(cuGraphAddHostNode(&nodes[1], graph, nodes, 1, &second), CUDA_SUCCESS);
    assert_int_equal(cuGraphInstantiateWithFlags(&m.executable, graph, 0), CUDA_SUCCESS);
    assert_int_equal(cuGraphLaunch(m.executable, NULL), CUDA_SUCCESS);
    assert_int_equal(m.met, 3);
    assert_int_equal(m.results[2], CUDA_SUCCESS);
    assert_int_equal(last.met, 1);
    assert_int_equal(cuGraphDestroy(graph), CUDA_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(capture),
                                       cmocka_unit_test(dependencies),
                                       cmocka_unit_test(nodes_are_checked),
                                       cmocka_unit_test(updates_compare_edges),
                                       cmocka_unit_test(captures_end),
                                       cmocka_unit_test(events_of_launches),
                                       cmocka_unit_test(host_functions_hold_no_lock)};
    return cmocka_run_group_tests(tests, libcuda_opens, libcuda_closes);
}
