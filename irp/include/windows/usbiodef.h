/* Control codes and interface classes of USB. */
#include <usbioctl.h>
