/* cmocka with the headers that it wants before it. */
#ifndef TW_TESTS_CHECK_H
#define TW_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
