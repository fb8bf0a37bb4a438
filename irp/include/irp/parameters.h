/* The parameters of a request, by its major (and minor) function. Requests on an open file
   leave the last eight bytes to IO_STACK_LOCATION.FileObject. Source: WDK IO_STACK_LOCATION. */
#ifndef IRPVERBS_IRP_PARAMETERS_H
#define IRPVERBS_IRP_PARAMETERS_H

#include <irp/file_types.h>
#include <irp/pnp_types.h>
#include <irp/power_types.h>

struct _ACCESS_STATE;
struct _CM_RESOURCE_LIST;
struct _DEVICE_CAPABILITIES;
struct _DEVICE_OBJECT;
struct _FILE_GET_QUOTA_INFORMATION;
struct _FILE_OBJECT;
struct _INTERFACE;
struct _IO_RESOURCE_REQUIREMENTS_LIST;
struct _IO_SECURITY_CONTEXT;
struct _NAMED_PIPE_CREATE_PARAMETERS;
struct _MAILSLOT_CREATE_PARAMETERS;
struct _SCSI_REQUEST_BLOCK;
struct _VPB;

typedef union _IO_STACK_PARAMETERS {
    struct {
        struct _IO_SECURITY_CONTEXT* SecurityContext;
        ULONG Options;
        USHORT FileAttributes;
        USHORT ShareAccess;
        ULONG EaLength;
    } Create;
    struct {
        struct _IO_SECURITY_CONTEXT* SecurityContext;
        ULONG Options;
        USHORT Reserved;
        USHORT ShareAccess;
        struct _NAMED_PIPE_CREATE_PARAMETERS* Parameters;
    } CreatePipe;
    struct {
        struct _IO_SECURITY_CONTEXT* SecurityContext;
        ULONG Options;
        USHORT Reserved;
        USHORT ShareAccess;
        struct _MAILSLOT_CREATE_PARAMETERS* Parameters;
    } CreateMailslot;
    struct {
        ULONG Length;
        ULONG Key;
        LARGE_INTEGER ByteOffset;
    } Read;
    struct {
        ULONG Length;
        ULONG Key;
        LARGE_INTEGER ByteOffset;
    } Write;
    struct {
        ULONG Length;
        FILE_INFORMATION_CLASS FileInformationClass;
        PUNICODE_STRING FileName;
        ULONG FileIndex;
    } QueryDirectory;
    struct {
        ULONG Length;
        ULONG CompletionFilter;
    } NotifyDirectory;
    struct {
        ULONG Length;
        ULONG CompletionFilter;
        ULONG DirectoryNotifyInformationClass;
    } NotifyDirectoryEx;
    struct {
        ULONG Length;
        FILE_INFORMATION_CLASS FileInformationClass;
    } QueryFile;
    struct {
        ULONG Length;
        FILE_INFORMATION_CLASS FileInformationClass;
        struct _FILE_OBJECT* FileObject;
        __extension__ union {
            __extension__ struct {
                BOOLEAN ReplaceIfExists;
                BOOLEAN AdvanceOnly;
            };
            ULONG ClusterCount;
            HANDLE DeleteHandle;
        };
    } SetFile;
    struct {
        PVOID EaList;
        ULONG Length;
        ULONG EaListLength;
        ULONG EaIndex;
    } QueryEa;
    struct {
        ULONG Length;
    } SetEa;
    struct {
        ULONG Length;
        FS_INFORMATION_CLASS FsInformationClass;
    } QueryVolume;
    struct {
        ULONG Length;
        FS_INFORMATION_CLASS FsInformationClass;
    } SetVolume;
    struct {
        ULONG OutputBufferLength;
        ULONG InputBufferLength;
        ULONG FsControlCode;
        PVOID Type3InputBuffer;
    } FileSystemControl;
    struct {
        PLARGE_INTEGER Length;
        ULONG Key;
        LARGE_INTEGER ByteOffset;
    } LockControl;
    struct {
        ULONG OutputBufferLength;
        ULONG InputBufferLength;
        ULONG IoControlCode;
        PVOID Type3InputBuffer;
    } DeviceIoControl;
    struct {
        ULONG SecurityInformation;
        ULONG Length;
    } QuerySecurity;
    struct {
        ULONG SecurityInformation;
        PVOID SecurityDescriptor;
    } SetSecurity;
    struct {
        struct _VPB* Vpb;
        struct _DEVICE_OBJECT* DeviceObject;
        ULONG OutputBufferLength;
    } MountVolume;
    struct {
        struct _VPB* Vpb;
        struct _DEVICE_OBJECT* DeviceObject;
    } VerifyVolume;
    struct {
        struct _SCSI_REQUEST_BLOCK* Srb;
    } Scsi;
    struct {
        ULONG Length;
        PVOID StartSid;
        struct _FILE_GET_QUOTA_INFORMATION* SidList;
        ULONG SidListLength;
    } QueryQuota;
    struct {
        ULONG Length;
    } SetQuota;
    struct {
        DEVICE_RELATION_TYPE Type;
    } QueryDeviceRelations;
    struct {
        const GUID* InterfaceType;
        USHORT Size;
        USHORT Version;
        struct _INTERFACE* Interface;
        PVOID InterfaceSpecificData;
    } QueryInterface;
    struct {
        struct _DEVICE_CAPABILITIES* Capabilities;
    } DeviceCapabilities;
    struct {
        struct _IO_RESOURCE_REQUIREMENTS_LIST* IoResourceRequirementList;
    } FilterResourceRequirements;
    struct {
        ULONG WhichSpace;
        PVOID Buffer;
        ULONG Offset;
        ULONG Length;
    } ReadWriteConfig;
    struct {
        BOOLEAN Lock;
    } SetLock;
    struct {
        BUS_QUERY_ID_TYPE IdType;
    } QueryId;
    struct {
        DEVICE_TEXT_TYPE DeviceTextType;
        ULONG LocaleId;
    } QueryDeviceText;
    struct {
        BOOLEAN InPath;
        BOOLEAN Reserved[3];
        DEVICE_USAGE_NOTIFICATION_TYPE Type;
    } UsageNotification;
    struct {
        SYSTEM_POWER_STATE PowerState;
    } WaitWake;
    struct {
        PPOWER_SEQUENCE PowerSequence;
    } PowerSequence;
    struct {
        __extension__ union {
            ULONG SystemContext;
            SYSTEM_POWER_STATE_CONTEXT SystemPowerStateContext;
        };
        POWER_STATE_TYPE Type;
        POWER_STATE State;
        POWER_ACTION ShutdownType;
    } Power;
    struct {
        struct _CM_RESOURCE_LIST* AllocatedResources;
        struct _CM_RESOURCE_LIST* AllocatedResourcesTranslated;
    } StartDevice;
    struct {
        ULONG_PTR ProviderId;
        PVOID DataPath;
        ULONG BufferSize;
        PVOID Buffer;
    } WMI;
    struct {
        PVOID Argument1;
        PVOID Argument2;
        PVOID Argument3;
        PVOID Argument4; /* shares its place with FileObject */
    } Others;
} IO_STACK_PARAMETERS;

#endif
