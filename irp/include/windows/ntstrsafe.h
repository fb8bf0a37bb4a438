/* Safe strings. */
#ifndef IRPVERBS_WINDOWS_NTSTRSAFE_H_UMBRELLA
#define IRPVERBS_WINDOWS_NTSTRSAFE_H_UMBRELLA

#include <windows/wdk/safe_strings.h>

#endif
