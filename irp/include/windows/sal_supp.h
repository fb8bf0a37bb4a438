/* Annotations. */
#ifndef IRPVERBS_WINDOWS_SAL_SUPP_H_UMBRELLA
#define IRPVERBS_WINDOWS_SAL_SUPP_H_UMBRELLA

#include <windows/wdk/sal.h>

#endif
