/* Property keys. */
#ifndef IRPVERBS_WINDOWS_DEVPROPDEF_H_UMBRELLA
#define IRPVERBS_WINDOWS_DEVPROPDEF_H_UMBRELLA

#include <windows/wdk/guid.h>

#endif
