/* Secure devices. */
#ifndef IRPVERBS_WINDOWS_WDMSEC_H_UMBRELLA
#define IRPVERBS_WINDOWS_WDMSEC_H_UMBRELLA

#include <windows/wdk/io.h>

#endif
