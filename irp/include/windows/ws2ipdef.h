/* Internet protocol addresses. */
#ifndef IRPVERBS_WINDOWS_WS2IPDEF_H_UMBRELLA
#define IRPVERBS_WINDOWS_WS2IPDEF_H_UMBRELLA

#include <ws2def.h>

#endif
