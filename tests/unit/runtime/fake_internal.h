/* Shared by the files behind fake_cuda.h. */
#ifndef TW_TESTS_FAKE_INTERNAL_H
#define TW_TESTS_FAKE_INTERNAL_H

#include "fake_cuda.h"

/* Count a call; true if it is the one that fails. */
bool fake_fails(unsigned kind);

#endif
