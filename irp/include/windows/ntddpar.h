/* Parallel ports. Source: WDK ntddpar.h reference. */
#ifndef IRPVERBS_WINDOWS_NTDDPAR_H
#define IRPVERBS_WINDOWS_NTDDPAR_H

#include <windows/wdk/device_types.h>
#include <windows/wdk/guid.h>

#define IOCTL_PAR_QUERY_INFORMATION                                                                \
    CTL_CODE(FILE_DEVICE_PARALLEL_PORT, 1, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_PAR_SET_INFORMATION                                                                  \
    CTL_CODE(FILE_DEVICE_PARALLEL_PORT, 2, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_PAR_QUERY_DEVICE_ID                                                                  \
    CTL_CODE(FILE_DEVICE_PARALLEL_PORT, 3, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_PAR_QUERY_DEVICE_ID_SIZE                                                             \
    CTL_CODE(FILE_DEVICE_PARALLEL_PORT, 4, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define PARALLEL_INIT 0x1
#define PARALLEL_AUTOFEED 0x2
#define PARALLEL_PAPER_EMPTY 0x4
#define PARALLEL_OFF_LINE 0x8
#define PARALLEL_POWER_OFF 0x10
#define PARALLEL_NOT_CONNECTED 0x20
#define PARALLEL_BUSY 0x40
#define PARALLEL_SELECTED 0x80
typedef struct _PAR_QUERY_INFORMATION {
    UCHAR Status;
} PAR_QUERY_INFORMATION, *PPAR_QUERY_INFORMATION;
typedef struct _PAR_SET_INFORMATION {
    UCHAR Init;
} PAR_SET_INFORMATION, *PPAR_SET_INFORMATION;

#endif
