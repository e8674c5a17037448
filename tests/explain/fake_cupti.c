// A libcupti for machines without a GPU, over fake_driver.c.
//   FAKE_CUPTI=busy   another tool has subscribed
//   FAKE_CUPTI=old    knows none of the calls
//   FAKE_CUPTI=12.3   knows all but im2col wide
//   FAKE_CUPTI=broken subscribing fails
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain/cupti_abi.h"
#include "fake.h"

int cuptiSubscribe(void **subscriber, cupti_callback *callback, void *user);
int cuptiUnsubscribe(void *subscriber);
int cuptiEnableCallback(uint32_t on, void *subscriber, int domain, uint32_t cbid);
int cuptiGetResultString(int result, const char **name);

static cupti_callback *subscribed;
static void *subscribed_user;
static uint32_t enabled[64], count;

static int is(const char *what)
{
    const char *value = getenv("FAKE_CUPTI");
    return value && strcmp(value, what) == 0;
}

static void hook(int site, uint32_t cbid, const char *name, const void *parameters, int *result)
{
    uint64_t correlation = 0;
    struct cupti_callback_data data = {site, name, parameters, result, NULL, NULL, 1, &correlation, 7};
    for (uint32_t i = 0; i < count && subscribed; i++)
        if (enabled[i] == cbid)
            subscribed(subscribed_user, 1, cbid, &data);
}

// Who cannot be served by a library must not stay subscribed to it.
__attribute__((destructor)) static void end(void)
{
    if (subscribed && count == 0)
        fprintf(stderr, "fake CUPTI: subscribed to nothing\n");
}

int cuptiSubscribe(void **subscriber, cupti_callback *callback, void *user)
{
    if (is("busy") || subscribed)
        return 39;
    if (is("broken"))
        return 35;
    subscribed = callback;
    subscribed_user = user;
    fake_hook = hook;
    *subscriber = &subscribed;
    return 0;
}

int cuptiUnsubscribe(void *subscriber)
{
    subscribed = NULL;
    fake_hook = NULL;
    return subscriber == &subscribed ? 0 : 1;
}

int cuptiEnableCallback(uint32_t on, void *subscriber, int domain, uint32_t cbid)
{
    if (!on || subscriber != &subscribed || domain != 1 || count == 64)
        return 1;
    if (is("old") || (is("12.3") && cbid == 781))
        return 1;
    enabled[count++] = cbid;
    return 0;
}

int cuptiGetResultString(int result, const char **name)
{
    *name = result == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_INVALID_PARAMETER";
    return 0;
}
