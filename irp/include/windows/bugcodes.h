/* Bug-check codes. */
#ifndef IRPVERBS_WINDOWS_BUGCODES_H_UMBRELLA
#define IRPVERBS_WINDOWS_BUGCODES_H_UMBRELLA

#include <windows/wdk/bug_codes.h>
#include <windows/wdk/types.h>

#endif
