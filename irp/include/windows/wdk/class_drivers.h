/* Routines of storage class drivers, by which ClassInitialize gets to know them. Source: WDK
   classpnp.h reference. */
#ifndef IRPVERBS_WINDOWS_CLASS_DRIVERS_H
#define IRPVERBS_WINDOWS_CLASS_DRIVERS_H

#include <scsi.h>
#include <windows/wdk/wdm.h>
#include <windows/wdk/wmi.h>

typedef struct _CLASS_INIT_DATA CLASS_INIT_DATA, *PCLASS_INIT_DATA;
typedef struct _CLASS_DRIVER_EXTENSION CLASS_DRIVER_EXTENSION, *PCLASS_DRIVER_EXTENSION;
typedef void CLASS_ERROR(PDEVICE_OBJECT DeviceObject, PSCSI_REQUEST_BLOCK Srb, NTSTATUS* Status,
                         BOOLEAN* Retry);
typedef CLASS_ERROR* PCLASS_ERROR;
typedef NTSTATUS CLASS_ADD_DEVICE(PDRIVER_OBJECT DriverObject, PDEVICE_OBJECT Pdo);
typedef CLASS_ADD_DEVICE* PCLASS_ADD_DEVICE;
typedef NTSTATUS CLASS_POWER_DEVICE(PDEVICE_OBJECT DeviceObject, PIRP Irp);
typedef CLASS_POWER_DEVICE* PCLASS_POWER_DEVICE;
typedef NTSTATUS CLASS_START_DEVICE(PDEVICE_OBJECT DeviceObject);
typedef CLASS_START_DEVICE* PCLASS_START_DEVICE;
typedef NTSTATUS CLASS_STOP_DEVICE(PDEVICE_OBJECT DeviceObject, UCHAR Type);
typedef CLASS_STOP_DEVICE* PCLASS_STOP_DEVICE;
typedef NTSTATUS CLASS_INIT_DEVICE(PDEVICE_OBJECT DeviceObject);
typedef CLASS_INIT_DEVICE* PCLASS_INIT_DEVICE;
typedef NTSTATUS CLASS_ENUM_DEVICE(PDEVICE_OBJECT DeviceObject);
typedef CLASS_ENUM_DEVICE* PCLASS_ENUM_DEVICE;
typedef NTSTATUS CLASS_READ_WRITE(PDEVICE_OBJECT DeviceObject, PIRP Irp);
typedef CLASS_READ_WRITE* PCLASS_READ_WRITE;
typedef NTSTATUS CLASS_DEVICE_CONTROL(PDEVICE_OBJECT DeviceObject, PIRP Irp);
typedef CLASS_DEVICE_CONTROL* PCLASS_DEVICE_CONTROL;
typedef NTSTATUS CLASS_SHUTDOWN_FLUSH(PDEVICE_OBJECT DeviceObject, PIRP Irp);
typedef CLASS_SHUTDOWN_FLUSH* PCLASS_SHUTDOWN_FLUSH;
typedef NTSTATUS CLASS_CREATE_CLOSE(PDEVICE_OBJECT DeviceObject, PIRP Irp);
typedef CLASS_CREATE_CLOSE* PCLASS_CREATE_CLOSE;
typedef NTSTATUS CLASS_QUERY_ID(PDEVICE_OBJECT DeviceObject, BUS_QUERY_ID_TYPE IdType,
                                PUNICODE_STRING IdString);
typedef CLASS_QUERY_ID* PCLASS_QUERY_ID;
typedef NTSTATUS CLASS_REMOVE_DEVICE(PDEVICE_OBJECT DeviceObject, UCHAR Type);
typedef CLASS_REMOVE_DEVICE* PCLASS_REMOVE_DEVICE;
typedef void CLASS_UNLOAD(PDRIVER_OBJECT DriverObject);
typedef CLASS_UNLOAD* PCLASS_UNLOAD;
typedef NTSTATUS CLASS_QUERY_PNP_CAPABILITIES(PDEVICE_OBJECT PhysicalDeviceObject,
                                              PDEVICE_CAPABILITIES Capabilities);
typedef CLASS_QUERY_PNP_CAPABILITIES* PCLASS_QUERY_PNP_CAPABILITIES;
typedef void CLASS_TICK(PDEVICE_OBJECT DeviceObject);
typedef CLASS_TICK* PCLASS_TICK;
typedef NTSTATUS CLASS_QUERY_WMI_REGINFO_EX(PDEVICE_OBJECT DeviceObject, ULONG* RegFlags,
                                            PUNICODE_STRING Name, PUNICODE_STRING MofResourceName);
typedef CLASS_QUERY_WMI_REGINFO_EX* PCLASS_QUERY_WMI_REGINFO_EX;
typedef NTSTATUS CLASS_QUERY_WMI_REGINFO(PDEVICE_OBJECT DeviceObject, ULONG* RegFlags,
                                         PUNICODE_STRING Name);
typedef CLASS_QUERY_WMI_REGINFO* PCLASS_QUERY_WMI_REGINFO;
typedef NTSTATUS CLASS_QUERY_WMI_DATABLOCK(PDEVICE_OBJECT DeviceObject, PIRP Irp, ULONG GuidIndex,
                                           ULONG BufferAvail, PUCHAR Buffer);
typedef CLASS_QUERY_WMI_DATABLOCK* PCLASS_QUERY_WMI_DATABLOCK;
typedef NTSTATUS CLASS_SET_WMI_DATABLOCK(PDEVICE_OBJECT DeviceObject, PIRP Irp, ULONG GuidIndex,
                                         ULONG BufferSize, PUCHAR Buffer);
typedef CLASS_SET_WMI_DATABLOCK* PCLASS_SET_WMI_DATABLOCK;
typedef NTSTATUS CLASS_SET_WMI_DATAITEM(PDEVICE_OBJECT DeviceObject, PIRP Irp, ULONG GuidIndex,
                                        ULONG DataItemId, ULONG BufferSize, PUCHAR Buffer);
typedef CLASS_SET_WMI_DATAITEM* PCLASS_SET_WMI_DATAITEM;
typedef NTSTATUS CLASS_EXECUTE_WMI_METHOD(PDEVICE_OBJECT DeviceObject, PIRP Irp, ULONG GuidIndex,
                                          ULONG MethodId, ULONG InBufferSize, ULONG OutBufferSize,
                                          PUCHAR Buffer);
typedef CLASS_EXECUTE_WMI_METHOD* PCLASS_EXECUTE_WMI_METHOD;
typedef enum { EventGeneration, DataBlockCollection } CLASSENABLEDISABLEFUNCTION;
typedef NTSTATUS CLASS_WMI_FUNCTION_CONTROL(PDEVICE_OBJECT DeviceObject, PIRP Irp, ULONG GuidIndex,
                                            CLASSENABLEDISABLEFUNCTION Function, BOOLEAN Enable);
typedef CLASS_WMI_FUNCTION_CONTROL* PCLASS_WMI_FUNCTION_CONTROL;
typedef struct {
    GUID Guid;
    ULONG InstanceCount;
    ULONG Flags;
} GUIDREGINFO, *PGUIDREGINFO;
typedef struct _CLASS_WMI_INFO {
    ULONG GuidCount;
    PGUIDREGINFO GuidRegInfo;
    PCLASS_QUERY_WMI_REGINFO ClassQueryWmiRegInfo;
    PCLASS_QUERY_WMI_DATABLOCK ClassQueryWmiDataBlock;
    PCLASS_SET_WMI_DATABLOCK ClassSetWmiDataBlock;
    PCLASS_SET_WMI_DATAITEM ClassSetWmiDataItem;
    PCLASS_EXECUTE_WMI_METHOD ClassExecuteWmiMethod;
    PCLASS_WMI_FUNCTION_CONTROL ClassWmiFunctionControl;
} CLASS_WMI_INFO, *PCLASS_WMI_INFO;
typedef struct _CLASS_DEV_INFO {
    ULONG DeviceExtensionSize;
    DEVICE_TYPE DeviceType;
    UCHAR StackSize;
    ULONG DeviceCharacteristics;
    PCLASS_ERROR ClassError;
    PCLASS_READ_WRITE ClassReadWriteVerification;
    PCLASS_DEVICE_CONTROL ClassDeviceControl;
    PCLASS_SHUTDOWN_FLUSH ClassShutdownFlush;
    PCLASS_CREATE_CLOSE ClassCreateClose;
    PCLASS_INIT_DEVICE ClassInitDevice;
    PCLASS_START_DEVICE ClassStartDevice;
    PCLASS_POWER_DEVICE ClassPowerDevice;
    PCLASS_STOP_DEVICE ClassStopDevice;
    PCLASS_REMOVE_DEVICE ClassRemoveDevice;
    PCLASS_QUERY_PNP_CAPABILITIES ClassQueryPnpCapabilities;
    CLASS_WMI_INFO ClassWmiInfo;
} CLASS_DEV_INFO, *PCLASS_DEV_INFO;
struct _CLASS_INIT_DATA {
    ULONG InitializationDataSize;
    CLASS_DEV_INFO FdoData;
    CLASS_DEV_INFO PdoData;
    PCLASS_ADD_DEVICE ClassAddDevice;
    PCLASS_ENUM_DEVICE ClassEnumerateDevice;
    PCLASS_QUERY_ID ClassQueryId;
    PDRIVER_STARTIO ClassStartIo;
    PCLASS_UNLOAD ClassUnload;
    PCLASS_TICK ClassTick;
};

/* Further facilities, which a driver asks ClassInitializeEx for by GUID. */
typedef struct _CLASS_QUERY_WMI_REGINFO_EX_LIST {
    ULONG Size;
    PCLASS_QUERY_WMI_REGINFO_EX ClassFdoQueryWmiRegInfoEx;
    PCLASS_QUERY_WMI_REGINFO_EX ClassPdoQueryWmiRegInfoEx;
} CLASS_QUERY_WMI_REGINFO_EX_LIST, *PCLASS_QUERY_WMI_REGINFO_EX_LIST;
typedef BOOLEAN (*PCLASS_INTERPRET_SENSE_INFO)(PDEVICE_OBJECT Fdo, PIRP OriginalRequest,
                                               PSCSI_REQUEST_BLOCK Srb, UCHAR MajorFunctionCode,
                                               ULONG IoDeviceCode, ULONG PreviousRetryCount,
                                               struct _SRB_HISTORY* RequestHistory,
                                               NTSTATUS* Status, LONGLONG* RetryIn100nsUnits);
typedef void (*PCLASS_COMPRESS_RETRY_HISTORY_DATA)(PDEVICE_OBJECT Fdo,
                                                   struct _SRB_HISTORY* RequestHistory);
typedef struct _SRB_HISTORY_ITEM {
    LARGE_INTEGER TickCountSent;
    LARGE_INTEGER TickCountCompleted;
    ULONG MillisecondsDelayOnRetry;
    SENSE_DATA NormalizedSenseData;
    UCHAR SrbStatus;
    UCHAR ClassDriverUse;
} SRB_HISTORY_ITEM, *PSRB_HISTORY_ITEM;
typedef struct _SRB_HISTORY {
    ULONG_PTR ClassDriverUse[4];
    ULONG TotalHistoryCount;
    ULONG UsedHistoryCount;
    SRB_HISTORY_ITEM History[1];
} SRB_HISTORY, *PSRB_HISTORY;
typedef struct _CLASS_INTERPRET_SENSE_INFO2 {
    ULONG Size;
    ULONG HistoryCount;
    PCLASS_COMPRESS_RETRY_HISTORY_DATA Compress;
    PCLASS_INTERPRET_SENSE_INFO Interpret;
} CLASS_INTERPRET_SENSE_INFO2, *PCLASS_INTERPRET_SENSE_INFO2;
typedef struct _CLASS_WORKING_SET {
    ULONG Size;
    ULONG XferPacketsWorkingSetMaximum;
    ULONG XferPacketsWorkingSetMinimum;
} CLASS_WORKING_SET, *PCLASS_WORKING_SET;
struct _CLASS_DRIVER_EXTENSION {
    UNICODE_STRING RegistryPath;
    CLASS_INIT_DATA InitData;
    ULONG DeviceCount;
    PCLASS_QUERY_WMI_REGINFO_EX ClassFdoQueryWmiRegInfoEx;
    PCLASS_QUERY_WMI_REGINFO_EX ClassPdoQueryWmiRegInfoEx;
    REGHANDLE EtwHandle;
    PDRIVER_DISPATCH DeviceMajorFunctionTable[IRP_MJ_MAXIMUM_FUNCTION + 1];
    PDRIVER_DISPATCH MpDeviceMajorFunctionTable[IRP_MJ_MAXIMUM_FUNCTION + 1];
    PCLASS_INTERPRET_SENSE_INFO2 InterpretSenseInfo;
    PCLASS_WORKING_SET WorkingSet;
    ULONG SrbSupport;
};

#endif
