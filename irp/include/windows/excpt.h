/* Structured exceptions. */
#ifndef IRPVERBS_WINDOWS_EXCPT_H_UMBRELLA
#define IRPVERBS_WINDOWS_EXCPT_H_UMBRELLA

#include <windows/wdk/exceptions.h>

#endif
