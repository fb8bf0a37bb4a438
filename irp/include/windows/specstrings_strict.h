/* Annotations. */
#ifndef IRPVERBS_WINDOWS_SPECSTRINGS_STRICT_H_UMBRELLA
#define IRPVERBS_WINDOWS_SPECSTRINGS_STRICT_H_UMBRELLA

#include <windows/wdk/sal.h>

#endif
