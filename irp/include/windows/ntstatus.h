/* Status codes. */
#ifndef IRPVERBS_WINDOWS_NTSTATUS_H_UMBRELLA
#define IRPVERBS_WINDOWS_NTSTATUS_H_UMBRELLA

#include <windows/wdk/status_codes.h>

#endif
