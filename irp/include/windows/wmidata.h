/* WMI classes of storage devices and of serial ports. A source that names another of their GUIDs,
   or the ids of their methods, needs the header that Windows' MOF compiler makes. Source: WDK
   MSStorageDriver_* and MSSerial_* reference. */
#ifndef IRPVERBS_WINDOWS_WMIDATA_H
#define IRPVERBS_WINDOWS_WMIDATA_H

#include <windows/wdk/guid.h>
#include <windows/wdk/wmi.h>

/* Storage devices. The GUIDs are initializers. */
#define WMI_STORAGE_FAILURE_PREDICT_STATUS_GUID                                                    \
    {                                                                                              \
        0x78ebc102, 0x4cf9, 0x11d2, { 0xba, 0x4a, 0x00, 0xa0, 0xc9, 0x06, 0x29, 0x10 }             \
    }
#define WMI_STORAGE_FAILURE_PREDICT_DATA_GUID                                                      \
    {                                                                                              \
        0x78ebc103, 0x4cf9, 0x11d2, { 0xba, 0x4a, 0x00, 0xa0, 0xc9, 0x06, 0x29, 0x10 }             \
    }
#define WMI_STORAGE_PREDICT_FAILURE_EVENT_GUID                                                     \
    {                                                                                              \
        0x78ebc104, 0x4cf9, 0x11d2, { 0xba, 0x4a, 0x00, 0xa0, 0xc9, 0x06, 0x29, 0x10 }             \
    }
#define WMI_STORAGE_FAILURE_PREDICT_FUNCTION_GUID                                                  \
    {                                                                                              \
        0x78ebc105, 0x4cf9, 0x11d2, { 0xba, 0x4a, 0x00, 0xa0, 0xc9, 0x06, 0x29, 0x10 }             \
    }
#define WMI_STORAGE_SCSI_INFO_EXCEPTIONS_GUID                                                      \
    {                                                                                              \
        0x1101d829, 0x167b, 0x4ebf, { 0xac, 0xae, 0x28, 0xca, 0xb7, 0xc3, 0x48, 0x02 }             \
    }
typedef struct _STORAGE_FAILURE_PREDICT_STATUS {
    ULONG Reason;
    BOOLEAN PredictFailure;
} STORAGE_FAILURE_PREDICT_STATUS, *PSTORAGE_FAILURE_PREDICT_STATUS;
typedef struct _STORAGE_FAILURE_PREDICT_DATA {
    ULONG Length;
    UCHAR VendorSpecific[512];
} STORAGE_FAILURE_PREDICT_DATA, *PSTORAGE_FAILURE_PREDICT_DATA;
typedef struct _STORAGE_FAILURE_PREDICT_THRESHOLDS {
    UCHAR VendorSpecific[512];
} STORAGE_FAILURE_PREDICT_THRESHOLDS, *PSTORAGE_FAILURE_PREDICT_THRESHOLDS;
typedef struct _STORAGE_PREDICT_FAILURE_EVENT {
    ULONG Length;
    UCHAR VendorSpecific[1];
} STORAGE_PREDICT_FAILURE_EVENT, *PSTORAGE_PREDICT_FAILURE_EVENT;
typedef struct _STORAGE_SCSI_INFO_EXCEPTIONS {
    BOOLEAN PageSavable;
    UCHAR Flags;
    UCHAR MRIE;
    UCHAR Padding;
    ULONG IntervalTimer;
    ULONG ReportCount;
} STORAGE_SCSI_INFO_EXCEPTIONS, *PSTORAGE_SCSI_INFO_EXCEPTIONS;
typedef struct _READ_LOG_SECTORS_IN {
    UCHAR LogAddress;
    UCHAR SectorCount;
} READ_LOG_SECTORS_IN, *PREAD_LOG_SECTORS_IN;
typedef struct _READ_LOG_SECTORS_OUT {
    ULONG Length;
    UCHAR LogSectors[1];
} READ_LOG_SECTORS_OUT, *PREAD_LOG_SECTORS_OUT;
typedef struct _WRITE_LOG_SECTORS_IN {
    UCHAR LogAddress;
    UCHAR SectorCount;
    UCHAR LogSectors[1];
} WRITE_LOG_SECTORS_IN, *PWRITE_LOG_SECTORS_IN;
typedef struct _WRITE_LOG_SECTORS_OUT {
    BOOLEAN Success;
} WRITE_LOG_SECTORS_OUT, *PWRITE_LOG_SECTORS_OUT;

/* Serial ports. The GUIDs are initializers. */
#define SERIAL_PORT_WMI_NAME_GUID                                                                  \
    {                                                                                              \
        0xa0ec11a8, 0xb16c, 0x11d1, { 0xbd, 0x98, 0x00, 0xa0, 0xc9, 0x06, 0xbe, 0x2d }             \
    }
#define SERIAL_PORT_WMI_COMM_GUID                                                                  \
    {                                                                                              \
        0xedb16a62, 0xb16c, 0x11d1, { 0xbd, 0x98, 0x00, 0xa0, 0xc9, 0x06, 0xbe, 0x2d }             \
    }
#define SERIAL_PORT_WMI_HW_GUID                                                                    \
    {                                                                                              \
        0x270b9b86, 0xb16d, 0x11d1, { 0xbd, 0x98, 0x00, 0xa0, 0xc9, 0x06, 0xbe, 0x2d }             \
    }
#define SERIAL_PORT_WMI_PERF_GUID                                                                  \
    {                                                                                              \
        0x56415acc, 0xb16d, 0x11d1, { 0xbd, 0x98, 0x00, 0xa0, 0xc9, 0x06, 0xbe, 0x2d }             \
    }
#define SERIAL_PORT_WMI_PROPERTIES_GUID                                                            \
    {                                                                                              \
        0x8209ec2a, 0x2d6b, 0x11d2, { 0xba, 0x49, 0x00, 0xa0, 0xc9, 0x06, 0x29, 0x10 }             \
    }
#define SERIAL_WMI_PARITY_NONE 0
#define SERIAL_WMI_PARITY_ODD 1
#define SERIAL_WMI_PARITY_EVEN 2
#define SERIAL_WMI_PARITY_SPACE 3
#define SERIAL_WMI_PARITY_MARK 4
#define SERIAL_WMI_STOP_1 0
#define SERIAL_WMI_STOP_1_5 1
#define SERIAL_WMI_STOP_2 2
#define SERIAL_WMI_INTTYPE_LATCHED 0
#define SERIAL_WMI_INTTYPE_LEVEL 1
typedef struct _SERIAL_WMI_COMM_DATA {
    ULONG BaudRate;
    ULONG BitsPerByte;
    ULONG Parity;
    BOOLEAN ParityCheckEnable;
    ULONG StopBits;
    ULONG XoffCharacter;
    ULONG XoffXmitThreshold;
    ULONG XonCharacter;
    ULONG XonXmitThreshold;
    ULONG MaximumBaudRate;
    ULONG MaximumOutputBufferSize;
    ULONG MaximumInputBufferSize;
    BOOLEAN Support16BitMode;
    BOOLEAN SupportDTRDSR;
    BOOLEAN SupportIntervalTimeouts;
    BOOLEAN SupportParityCheck;
    BOOLEAN SupportRTSCTS;
    BOOLEAN SupportXonXoff;
    BOOLEAN SettableBaudRate;
    BOOLEAN SettableDataBits;
    BOOLEAN SettableFlowControl;
    BOOLEAN SettableParity;
    BOOLEAN SettableParityCheck;
    BOOLEAN SettableStopBits;
    BOOLEAN IsBusy;
} SERIAL_WMI_COMM_DATA, *PSERIAL_WMI_COMM_DATA;
typedef struct _SERIAL_WMI_HW_DATA {
    ULONG IrqNumber;
    ULONG IrqVector;
    ULONG IrqLevel;
    ULONGLONG IrqAffinityMask;
    ULONG InterruptType;
    ULONGLONG BaseIOAddress;
} SERIAL_WMI_HW_DATA, *PSERIAL_WMI_HW_DATA;
typedef struct _SERIAL_WMI_PERF_DATA {
    ULONG ReceivedCount;
    ULONG TransmittedCount;
    ULONG FrameErrorCount;
    ULONG SerialOverrunErrorCount;
    ULONG BufferOverrunErrorCount;
    ULONG ParityErrorCount;
} SERIAL_WMI_PERF_DATA, *PSERIAL_WMI_PERF_DATA;

#endif
