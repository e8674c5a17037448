/* The program's version, and the generator's: a number that is raised by hand whenever the bytes of generated files
 * change. It stands in every generated file and in the cache's keys. */
#ifndef TW_GEN_VERSION_H
#define TW_GEN_VERSION_H

#define TW_VERSION "0.1.0"

enum { TW_GENERATOR = 1 };

#endif
