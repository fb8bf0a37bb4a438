/* A WDM driver that is written as for Windows: see small_driver.c. */
#ifndef SMALL_DRIVER_H
#define SMALL_DRIVER_H

#define IOCTL_SMALL_REVERSE CTL_CODE(FILE_DEVICE_UNKNOWN, 0x800, METHOD_BUFFERED, FILE_ANY_ACCESS)

#ifdef __cplusplus
extern "C"
#endif
    DRIVER_INITIALIZE DriverEntry;

#endif
