/* I/O control codes. Source: WDK "Defining I/O Control Codes". */
#ifndef IRPVERBS_IRP_IOCTL_H
#define IRPVERBS_IRP_IOCTL_H

#include <dispatch/ntdef.h>

/* How the buffers of a request are passed; the two low bits of its code. */
#define METHOD_BUFFERED 0 /* both in SystemBuffer */
#define METHOD_IN_DIRECT                                                                           \
    1                       /* input in SystemBuffer, second buffer by MDL, for the driver to read \
                             */
#define METHOD_OUT_DIRECT 2 /* likewise, for the driver to write */
#define METHOD_NEITHER 3    /* the caller's addresses: Type3InputBuffer and UserBuffer */

#define FILE_ANY_ACCESS 0
#define FILE_READ_ACCESS 1
#define FILE_WRITE_ACCESS 2

#define CTL_CODE(device_type, function, method, access)                                            \
    (((ULONG)(device_type) << 16) | ((ULONG)(access) << 14) | ((ULONG)(function) << 2) |           \
     (ULONG)(method))
#define DEVICE_TYPE_FROM_CTL_CODE(code) (((ULONG)(code)&0xffff0000u) >> 16)
#define METHOD_FROM_CTL_CODE(code) ((ULONG)(code)&3u)

#endif
