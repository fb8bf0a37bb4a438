/* The USB driver interface. */
#ifndef IRPVERBS_WINDOWS_USBDI_H_UMBRELLA
#define IRPVERBS_WINDOWS_USBDI_H_UMBRELLA

#include <usb.h>
#include <usbioctl.h>

#endif
