/* Control codes and kinds of devices. */
#ifndef IRPVERBS_WINDOWS_DEVIOCTL_H_UMBRELLA
#define IRPVERBS_WINDOWS_DEVIOCTL_H_UMBRELLA

#include <windows/wdk/device_types.h>
#include <windows/wdk/types.h>

#endif
