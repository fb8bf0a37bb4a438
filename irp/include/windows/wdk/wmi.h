/* Windows Management Instrumentation and event tracing. Nothing collects what is reported:
   providers register, and their events go nowhere. Source: WDK wdm.h, wmilib.h, wmistr.h reference.
 */
#ifndef IRPVERBS_WINDOWS_WMI_H
#define IRPVERBS_WINDOWS_WMI_H

#include <windows/wdk/function_types.h>
#include <windows/wdk/guid.h>

#define IRP_MN_QUERY_ALL_DATA 0x00
#define IRP_MN_QUERY_SINGLE_INSTANCE 0x01
#define IRP_MN_CHANGE_SINGLE_INSTANCE 0x02
#define IRP_MN_CHANGE_SINGLE_ITEM 0x03
#define IRP_MN_ENABLE_EVENTS 0x04
#define IRP_MN_DISABLE_EVENTS 0x05
#define IRP_MN_ENABLE_COLLECTION 0x06
#define IRP_MN_DISABLE_COLLECTION 0x07
#define IRP_MN_REGINFO 0x08
#define IRP_MN_EXECUTE_METHOD 0x09
#define IRP_MN_REGINFO_EX 0x0b
#define WMIREG_ACTION_REGISTER 1
#define WMIREG_ACTION_DEREGISTER 2
#define WMIREG_ACTION_REREGISTER 3
#define WMIREG_ACTION_UPDATE_GUIDS 4
#define WMIREG_ACTION_BLOCK_IRPS 5
#define WMIREG_FLAG_EXPENSIVE 0x00000001
#define WMIREG_FLAG_INSTANCE_LIST 0x00000004
#define WMIREG_FLAG_INSTANCE_BASENAME 0x00000008
#define WMIREG_FLAG_INSTANCE_PDO 0x00000020
#define WMIREG_FLAG_REMOVE_GUID 0x00010000
#define WMIREG_FLAG_EVENT_ONLY_GUID 0x00000040
#define WMIREG_FLAG_TRACED_GUID 0x00080000
#define WMIREG_FLAG_TRACE_CONTROL_GUID 0x00001000
#define WMIREGISTER 0
#define WMIUPDATE 1
#define WNODE_FLAG_ALL_DATA 0x00000001
#define WNODE_FLAG_SINGLE_INSTANCE 0x00000002
#define WNODE_FLAG_SINGLE_ITEM 0x00000004
#define WNODE_FLAG_EVENT_ITEM 0x00000008
#define WNODE_FLAG_FIXED_INSTANCE_SIZE 0x00000010
#define WNODE_FLAG_TOO_SMALL 0x00000020
#define WNODE_FLAG_INSTANCES_SAME 0x00000040
#define WNODE_FLAG_STATIC_INSTANCE_NAMES 0x00000080
#define WNODE_FLAG_INTERNAL 0x00000100
#define WNODE_FLAG_USE_TIMESTAMP 0x00000200
#define WNODE_FLAG_PERSIST_EVENT 0x00000400
#define WNODE_FLAG_EVENT_REFERENCE 0x00002000
#define WNODE_FLAG_ANSI_INSTANCENAMES 0x00004000
#define WNODE_FLAG_METHOD_ITEM 0x00008000
#define WNODE_FLAG_PDO_INSTANCE_NAMES 0x00010000
#define WNODE_FLAG_LOG_WNODE 0x00040000
#define WNODE_FLAG_TRACED_GUID 0x00020000
#define WNODE_FLAG_USE_GUID_PTR 0x00080000
#define WNODE_FLAG_USE_MOF_PTR 0x00100000
#define WNODE_FLAG_NO_HEADER 0x00200000
#define WNODE_FLAG_SEND_DATA_BLOCK 0x00400000
#define WNODE_FLAG_VERSIONED_PROPERTIES 0x00800000
#define WNODE_FLAG_SEVERITY_MASK 0xff000000
#define EVENT_TRACE_TYPE_START 0x01
#define EVENT_TRACE_TYPE_END 0x02

typedef struct _WNODE_HEADER {
    ULONG BufferSize;
    ULONG ProviderId;
    __extension__ union {
        ULONG64 HistoricalContext;
        __extension__ struct {
            ULONG Version;
            ULONG Linkage;
        };
    };
    __extension__ union {
        HANDLE KernelHandle;
        LARGE_INTEGER TimeStamp;
    };
    GUID Guid;
    ULONG ClientContext;
    ULONG Flags;
} WNODE_HEADER, *PWNODE_HEADER;
typedef struct _OFFSETINSTANCEDATAANDLENGTH {
    ULONG OffsetInstanceData;
    ULONG LengthInstanceData;
} OFFSETINSTANCEDATAANDLENGTH, *POFFSETINSTANCEDATAANDLENGTH;
typedef struct tagWNODE_ALL_DATA {
    WNODE_HEADER WnodeHeader;
    ULONG DataBlockOffset;
    ULONG InstanceCount;
    ULONG OffsetInstanceNameOffsets;
    __extension__ union {
        ULONG FixedInstanceSize;
        OFFSETINSTANCEDATAANDLENGTH OffsetInstanceDataAndLength[1];
    };
} WNODE_ALL_DATA, *PWNODE_ALL_DATA;
typedef struct tagWNODE_SINGLE_INSTANCE {
    WNODE_HEADER WnodeHeader;
    ULONG OffsetInstanceName;
    ULONG InstanceIndex;
    ULONG DataBlockOffset;
    ULONG SizeDataBlock;
    UCHAR VariableData[];
} WNODE_SINGLE_INSTANCE, *PWNODE_SINGLE_INSTANCE, WNODE_EVENT_ITEM_TAIL;
typedef struct tagWNODE_SINGLE_ITEM {
    WNODE_HEADER WnodeHeader;
    ULONG OffsetInstanceName;
    ULONG InstanceIndex;
    ULONG ItemId;
    ULONG DataBlockOffset;
    ULONG SizeDataItem;
    UCHAR VariableData[];
} WNODE_SINGLE_ITEM, *PWNODE_SINGLE_ITEM;
typedef struct tagWNODE_METHOD_ITEM {
    WNODE_HEADER WnodeHeader;
    ULONG OffsetInstanceName;
    ULONG InstanceIndex;
    ULONG MethodId;
    ULONG DataBlockOffset;
    ULONG SizeDataBlock;
    UCHAR VariableData[];
} WNODE_METHOD_ITEM, *PWNODE_METHOD_ITEM;
typedef struct tagWNODE_EVENT_ITEM {
    WNODE_HEADER WnodeHeader;
} WNODE_EVENT_ITEM, *PWNODE_EVENT_ITEM;
typedef struct tagWNODE_EVENT_REFERENCE {
    WNODE_HEADER WnodeHeader;
    GUID TargetGuid;
    ULONG TargetDataBlockSize;
    __extension__ union {
        ULONG TargetInstanceIndex;
        WCHAR TargetInstanceName[1];
    };
} WNODE_EVENT_REFERENCE, *PWNODE_EVENT_REFERENCE;
typedef struct tagWNODE_TOO_SMALL {
    WNODE_HEADER WnodeHeader;
    ULONG SizeNeeded;
} WNODE_TOO_SMALL, *PWNODE_TOO_SMALL;
typedef struct _WMIREGGUIDW {
    GUID Guid;
    ULONG Flags;
    ULONG InstanceCount;
    __extension__ union {
        ULONG InstanceNameList;
        ULONG BaseNameOffset;
        ULONG_PTR Pdo;
        ULONG_PTR InstanceInfo;
    };
} WMIREGGUIDW, *PWMIREGGUIDW, WMIREGGUID, *PWMIREGGUID;
typedef struct _WMIREGINFOW {
    ULONG BufferSize;
    ULONG NextWmiRegInfo;
    ULONG RegistryPath;
    ULONG MofResourceName;
    ULONG GuidCount;
    WMIREGGUIDW WmiRegGuid[];
} WMIREGINFOW, *PWMIREGINFOW, WMIREGINFO, *PWMIREGINFO;

/* The library of WMI providers. */
typedef enum { WmiEventControl, WmiDataBlockControl } WMIENABLEDISABLECONTROL;
typedef enum {
    IrpProcessed,
    IrpNotCompleted,
    IrpNotWmi,
    IrpForward
} SYSCTL_IRP_DISPOSITION,
    *PSYSCTL_IRP_DISPOSITION;
typedef struct _WMIGUIDREGINFO {
    LPCGUID Guid;
    ULONG InstanceCount;
    ULONG Flags;
} WMIGUIDREGINFO, *PWMIGUIDREGINFO;
typedef NTSTATUS WMI_QUERY_REGINFO_CALLBACK(PDEVICE_OBJECT DeviceObject, PULONG RegFlags,
                                            PUNICODE_STRING InstanceName,
                                            PUNICODE_STRING* RegistryPath,
                                            PUNICODE_STRING MofResourceName, PDEVICE_OBJECT* Pdo);
typedef WMI_QUERY_REGINFO_CALLBACK* PWMI_QUERY_REGINFO;
typedef NTSTATUS WMI_QUERY_DATABLOCK_CALLBACK(PDEVICE_OBJECT DeviceObject, PIRP Irp,
                                              ULONG GuidIndex, ULONG InstanceIndex,
                                              ULONG InstanceCount, PULONG InstanceLengthArray,
                                              ULONG BufferAvail, PUCHAR Buffer);
typedef WMI_QUERY_DATABLOCK_CALLBACK* PWMI_QUERY_DATABLOCK;
typedef NTSTATUS WMI_SET_DATABLOCK_CALLBACK(PDEVICE_OBJECT DeviceObject, PIRP Irp, ULONG GuidIndex,
                                            ULONG InstanceIndex, ULONG BufferSize, PUCHAR Buffer);
typedef WMI_SET_DATABLOCK_CALLBACK* PWMI_SET_DATABLOCK;
typedef NTSTATUS WMI_SET_DATAITEM_CALLBACK(PDEVICE_OBJECT DeviceObject, PIRP Irp, ULONG GuidIndex,
                                           ULONG InstanceIndex, ULONG DataItemId, ULONG BufferSize,
                                           PUCHAR Buffer);
typedef WMI_SET_DATAITEM_CALLBACK* PWMI_SET_DATAITEM;
typedef NTSTATUS WMI_EXECUTE_METHOD_CALLBACK(PDEVICE_OBJECT DeviceObject, PIRP Irp, ULONG GuidIndex,
                                             ULONG InstanceIndex, ULONG MethodId,
                                             ULONG InBufferSize, ULONG OutBufferSize,
                                             PUCHAR Buffer);
typedef WMI_EXECUTE_METHOD_CALLBACK* PWMI_EXECUTE_METHOD;
typedef NTSTATUS WMI_FUNCTION_CONTROL_CALLBACK(PDEVICE_OBJECT DeviceObject, PIRP Irp,
                                               ULONG GuidIndex, WMIENABLEDISABLECONTROL Function,
                                               BOOLEAN Enable);
typedef WMI_FUNCTION_CONTROL_CALLBACK* PWMI_FUNCTION_CONTROL;
typedef struct _WMILIB_CONTEXT {
    ULONG GuidCount;
    PWMIGUIDREGINFO GuidList;
    PWMI_QUERY_REGINFO QueryWmiRegInfo;
    PWMI_QUERY_DATABLOCK QueryWmiDataBlock;
    PWMI_SET_DATABLOCK SetWmiDataBlock;
    PWMI_SET_DATAITEM SetWmiDataItem;
    PWMI_EXECUTE_METHOD ExecuteWmiMethod;
    PWMI_FUNCTION_CONTROL WmiFunctionControl;
} WMILIB_CONTEXT, *PWMILIB_CONTEXT;

#define WMIGUID_QUERY 0x0001
#define WMIGUID_SET 0x0002
#define WMIGUID_NOTIFICATION 0x0004
#define WMIGUID_EXECUTE 0x0010
typedef void FWMI_NOTIFICATION_CALLBACK(PVOID Wnode, PVOID Context);
typedef FWMI_NOTIFICATION_CALLBACK* WMI_NOTIFICATION_CALLBACK;
typedef ULONGLONG REGHANDLE, *PREGHANDLE;
typedef ULONG64 TRACEHANDLE, *PTRACEHANDLE;
typedef struct _EVENT_DESCRIPTOR {
    USHORT Id;
    UCHAR Version;
    UCHAR Channel;
    UCHAR Level;
    UCHAR Opcode;
    USHORT Task;
    ULONGLONG Keyword;
} EVENT_DESCRIPTOR, *PEVENT_DESCRIPTOR;
typedef const EVENT_DESCRIPTOR* PCEVENT_DESCRIPTOR;
typedef struct _EVENT_DATA_DESCRIPTOR {
    ULONGLONG Ptr;
    ULONG Size;
    ULONG Reserved;
} EVENT_DATA_DESCRIPTOR, *PEVENT_DATA_DESCRIPTOR;
typedef struct _EVENT_FILTER_DESCRIPTOR {
    ULONGLONG Ptr;
    ULONG Size;
    ULONG Type;
} EVENT_FILTER_DESCRIPTOR, *PEVENT_FILTER_DESCRIPTOR;
typedef struct _EVENT_TRACE_HEADER {
    USHORT Size;
    __extension__ union {
        USHORT FieldTypeFlags;
        __extension__ struct {
            UCHAR HeaderType;
            UCHAR MarkerFlags;
        };
    };
    __extension__ union {
        ULONG Version;
        struct {
            UCHAR Type;
            UCHAR Level;
            USHORT Version;
        } Class;
    };
    ULONG ThreadId;
    ULONG ProcessId;
    LARGE_INTEGER TimeStamp;
    __extension__ union {
        GUID Guid;
        ULONGLONG GuidPtr;
    };
    ULONG64 ProcessorTime;
} EVENT_TRACE_HEADER, *PEVENT_TRACE_HEADER;
typedef struct _MOF_FIELD {
    ULONG64 DataPtr;
    ULONG Length;
    ULONG DataType;
} MOF_FIELD, *PMOF_FIELD;
typedef void ETWENABLECALLBACK(LPCGUID SourceId, ULONG ControlCode, UCHAR Level,
                               ULONGLONG MatchAnyKeyword, ULONGLONG MatchAllKeyword,
                               PEVENT_FILTER_DESCRIPTOR FilterData, PVOID CallbackContext);
typedef ETWENABLECALLBACK* PETWENABLECALLBACK;
#define EventDataDescCreate(descriptor, data, size)                                                \
    ((descriptor)->Ptr = (ULONGLONG)(ULONG_PTR)(data), (descriptor)->Size = (ULONG)(size),         \
     (descriptor)->Reserved = 0)
#define EventDescCreate(d, id, version, channel, level, task, opcode, keyword)                     \
    (*(d) = (EVENT_DESCRIPTOR){(id), (version), (channel), (level), (opcode), (task), (keyword)})
#define WMI_GLOBAL_LOGGER_ID 1
typedef enum _TRACE_INFORMATION_CLASS {
    TraceIdClass,
    TraceHandleClass,
    TraceEnableFlagsClass,
    TraceEnableLevelClass
} TRACE_INFORMATION_CLASS;

NT_EXTERN_C_BEGIN
/* No one listens to WMI or to event tracing: providers are registered, never queried and never
   enabled, and events are lost. IoWMIWriteEvent and WmiFireEvent free the event, which comes from
   nonpaged pool. STATUS_SUCCESS. IRQL: <= DISPATCH_LEVEL; IoWMIRegistrationControl:
   PASSIVE_LEVEL. Source: WDK IoWMIRegistrationControl, EtwRegister, WmiTraceMessage. */
NT_API NTSTATUS IoWMIRegistrationControl(PDEVICE_OBJECT DeviceObject, ULONG Action);
NT_API NTSTATUS IoWMISetNotificationCallback(PVOID Object, WMI_NOTIFICATION_CALLBACK Callback,
                                             PVOID Context);
NT_API NTSTATUS IoWMIQuerySingleInstance(PVOID DataBlockObject, PUNICODE_STRING InstanceName,
                                         PULONG InOutBufferSize, PVOID OutBuffer);
NT_API NTSTATUS IoWMISetSingleInstance(PVOID DataBlockObject, PUNICODE_STRING InstanceName,
                                       ULONG Version, ULONG ValueBufferSize, PVOID ValueBuffer);
NT_API NTSTATUS IoWMIExecuteMethod(PVOID DataBlockObject, PUNICODE_STRING InstanceName,
                                   ULONG MethodId, ULONG InBufferSize, PULONG OutBufferSize,
                                   PUCHAR InOutBuffer);
#define IoWMIDeviceObjectToInstanceName(block, device, name) STATUS_NOT_SUPPORTED
NT_API NTSTATUS IoWMIHandleToInstanceName(PVOID DataBlockObject, HANDLE FileHandle,
                                          PUNICODE_STRING InstanceName);
NT_API NTSTATUS IoWMIWriteEvent(PVOID WnodeEventItem);
NT_API NTSTATUS IoWMIOpenBlock(LPCGUID Guid, ULONG DesiredAccess, PVOID* DataBlockObject);
NT_API NTSTATUS IoWMIQueryAllData(PVOID DataBlockObject, PULONG InOutBufferSize, PVOID OutBuffer);
NT_API NTSTATUS IoWMIAllocateInstanceIds(GUID* Guid, ULONG InstanceCount, PULONG FirstInstanceId);
NT_API NTSTATUS IoWMISuggestInstanceName(PDEVICE_OBJECT PhysicalDeviceObject,
                                         PUNICODE_STRING SymbolicLinkName, BOOLEAN CombineNames,
                                         PUNICODE_STRING SuggestedInstanceName);
NT_API ULONG IoWMIDeviceObjectToProviderId(PDEVICE_OBJECT DeviceObject);
NT_API NTSTATUS WmiSystemControl(PWMILIB_CONTEXT WmiLibInfo, PDEVICE_OBJECT DeviceObject, PIRP Irp,
                                 PSYSCTL_IRP_DISPOSITION IrpDisposition);
NT_API NTSTATUS WmiCompleteRequest(PDEVICE_OBJECT DeviceObject, PIRP Irp, NTSTATUS Status,
                                   ULONG BufferUsed, CCHAR PriorityBoost);
NT_API NTSTATUS WmiFireEvent(PDEVICE_OBJECT DeviceObject, LPCGUID Guid, ULONG InstanceIndex,
                             ULONG EventDataSize, PVOID EventData);
NT_API NTSTATUS WmiTraceMessage(TRACEHANDLE LoggerHandle, ULONG MessageFlags, LPCGUID MessageGuid,
                                USHORT MessageNumber, ...);
NT_API NTSTATUS WmiQueryTraceInformation(TRACE_INFORMATION_CLASS Class, PVOID Information,
                                         ULONG Length, PULONG RequiredLength, PVOID Buffer);
NT_API NTSTATUS EtwRegister(LPCGUID ProviderId, PETWENABLECALLBACK EnableCallback,
                            PVOID CallbackContext, PREGHANDLE RegHandle);
NT_API NTSTATUS EtwUnregister(REGHANDLE RegHandle);
NT_API NTSTATUS EtwWrite(REGHANDLE RegHandle, PCEVENT_DESCRIPTOR EventDescriptor,
                         LPCGUID ActivityId, ULONG UserDataCount, PEVENT_DATA_DESCRIPTOR UserData);
NT_API NTSTATUS EtwWriteString(REGHANDLE RegHandle, UCHAR Level, ULONGLONG Keyword,
                               LPCGUID ActivityId, PCWSTR String);
NT_API NTSTATUS EtwWriteTransfer(REGHANDLE RegHandle, PCEVENT_DESCRIPTOR EventDescriptor,
                                 LPCGUID ActivityId, LPCGUID RelatedActivityId, ULONG UserDataCount,
                                 PEVENT_DATA_DESCRIPTOR UserData);
NT_API BOOLEAN EtwEventEnabled(REGHANDLE RegHandle, PCEVENT_DESCRIPTOR EventDescriptor);
NT_API BOOLEAN EtwProviderEnabled(REGHANDLE RegHandle, UCHAR Level, ULONGLONG Keyword);
NT_API NTSTATUS EtwActivityIdControl(ULONG ControlCode, GUID* ActivityId);
NT_API NTSTATUS EtwSetInformation(REGHANDLE RegHandle, ULONG InformationClass, PVOID Information,
                                  ULONG Length);
NT_EXTERN_C_END

#endif
