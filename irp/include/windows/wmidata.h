/* WMI classes of storage devices. Their GUIDs are not here: a source that names them needs the
   header that Windows' MOF compiler makes. Source: WDK MSStorageDriver_* reference. */
#ifndef IRPVERBS_WINDOWS_WMIDATA_H
#define IRPVERBS_WINDOWS_WMIDATA_H

#include <windows/wdk/guid.h>
#include <windows/wdk/wmi.h>

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

#endif
