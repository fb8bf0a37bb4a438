/* Safe integers. */
#ifndef IRPVERBS_WINDOWS_NTINTSAFE_H_UMBRELLA
#define IRPVERBS_WINDOWS_NTINTSAFE_H_UMBRELLA

#include <windows/wdk/safe_integers.h>

#endif
