/* Images. */
#ifndef IRPVERBS_WINDOWS_NTIMAGE_H_UMBRELLA
#define IRPVERBS_WINDOWS_NTIMAGE_H_UMBRELLA

#include <windows/wdk/types.h>

#endif
