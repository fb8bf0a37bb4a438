/* The rest of Plug and Play, beyond irp/device_interface.h. Source: WDK wdm.h
   and ntddk.h reference. */
#ifndef IRPVERBS_WINDOWS_PNP_H
#define IRPVERBS_WINDOWS_PNP_H

#include <irp/device_interface.h>
#include <windows/wdk/files.h>
#include <windows/wdk/guid.h>
#include <windows/wdk/resources.h>

typedef struct _DEVICE_CAPABILITIES {
    USHORT Size;
    USHORT Version;
    ULONG DeviceD1 : 1;
    ULONG DeviceD2 : 1;
    ULONG LockSupported : 1;
    ULONG EjectSupported : 1;
    ULONG Removable : 1;
    ULONG DockDevice : 1;
    ULONG UniqueID : 1;
    ULONG SilentInstall : 1;
    ULONG RawDeviceOK : 1;
    ULONG SurpriseRemovalOK : 1;
    ULONG WakeFromD0 : 1;
    ULONG WakeFromD1 : 1;
    ULONG WakeFromD2 : 1;
    ULONG WakeFromD3 : 1;
    ULONG HardwareDisabled : 1;
    ULONG NonDynamic : 1;
    ULONG WarmEjectSupported : 1;
    ULONG NoDisplayInUI : 1;
    ULONG Reserved1 : 1;
    ULONG WakeFromInterrupt : 1;
    ULONG SecureDevice : 1;
    ULONG ChildOfVgaEnabledBridge : 1;
    ULONG DecodeIoOnBoot : 1;
    ULONG Reserved : 9;
    ULONG Address;
    ULONG UINumber;
    DEVICE_POWER_STATE DeviceState[POWER_SYSTEM_MAXIMUM];
    SYSTEM_POWER_STATE SystemWake;
    DEVICE_POWER_STATE DeviceWake;
    ULONG D1Latency;
    ULONG D2Latency;
    ULONG D3Latency;
} DEVICE_CAPABILITIES, *PDEVICE_CAPABILITIES;
typedef struct _DEVICE_RELATIONS {
    ULONG Count;
    PDEVICE_OBJECT Objects[1];
} DEVICE_RELATIONS, *PDEVICE_RELATIONS;
typedef struct _PNP_BUS_INFORMATION {
    GUID BusTypeGuid;
    INTERFACE_TYPE LegacyBusType;
    ULONG BusNumber;
} PNP_BUS_INFORMATION, *PPNP_BUS_INFORMATION;
typedef ULONG PNP_DEVICE_STATE, *PPNP_DEVICE_STATE;
#define PNP_DEVICE_DISABLED 0x00000001
#define PNP_DEVICE_DONT_DISPLAY_IN_UI 0x00000002
#define PNP_DEVICE_FAILED 0x00000004
#define PNP_DEVICE_REMOVED 0x00000008
#define PNP_DEVICE_RESOURCE_REQUIREMENTS_CHANGED 0x00000010
#define PNP_DEVICE_NOT_DISABLEABLE 0x00000020
#define PNP_DEVICE_DISCONNECTED 0x00000040

typedef void INTERFACE_REFERENCE(PVOID Context);
typedef INTERFACE_REFERENCE *PINTERFACE_REFERENCE, INTERFACE_DEREFERENCE;
typedef INTERFACE_REFERENCE* PINTERFACE_DEREFERENCE;
typedef struct _INTERFACE {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
} INTERFACE, *PINTERFACE;
typedef BOOLEAN TRANSLATE_BUS_ADDRESS(PVOID Context, PHYSICAL_ADDRESS BusAddress, ULONG Length,
                                      PULONG AddressSpace, PPHYSICAL_ADDRESS TranslatedAddress);
typedef TRANSLATE_BUS_ADDRESS* PTRANSLATE_BUS_ADDRESS;
typedef struct _DMA_ADAPTER* GET_DMA_ADAPTER(PVOID Context, PDEVICE_DESCRIPTION DeviceDescriptor,
                                             PULONG NumberOfMapRegisters);
typedef GET_DMA_ADAPTER* PGET_DMA_ADAPTER;
typedef ULONG GET_SET_DEVICE_DATA(PVOID Context, ULONG DataType, PVOID Buffer, ULONG Offset,
                                  ULONG Length);
typedef GET_SET_DEVICE_DATA* PGET_SET_DEVICE_DATA;
typedef struct _BUS_INTERFACE_STANDARD {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
    PTRANSLATE_BUS_ADDRESS TranslateBusAddress;
    PGET_DMA_ADAPTER GetDmaAdapter;
    PGET_SET_DEVICE_DATA SetBusData;
    PGET_SET_DEVICE_DATA GetBusData;
} BUS_INTERFACE_STANDARD, *PBUS_INTERFACE_STANDARD;
#define PCI_WHICHSPACE_CONFIG 0x0
#define PCI_WHICHSPACE_ROM 0x52696350
typedef struct _HWPROFILE_CHANGE_NOTIFICATION {
    USHORT Version;
    USHORT Size;
    GUID Event;
} HWPROFILE_CHANGE_NOTIFICATION, *PHWPROFILE_CHANGE_NOTIFICATION, PLUGPLAY_NOTIFICATION_HEADER,
    *PPLUGPLAY_NOTIFICATION_HEADER;
typedef struct _TARGET_DEVICE_REMOVAL_NOTIFICATION {
    USHORT Version;
    USHORT Size;
    GUID Event;
    PFILE_OBJECT FileObject;
} TARGET_DEVICE_REMOVAL_NOTIFICATION, *PTARGET_DEVICE_REMOVAL_NOTIFICATION;
typedef struct _TARGET_DEVICE_CUSTOM_NOTIFICATION {
    USHORT Version;
    USHORT Size;
    GUID Event;
    PFILE_OBJECT FileObject;
    LONG NameBufferOffset;
    UCHAR CustomDataBuffer[1];
} TARGET_DEVICE_CUSTOM_NOTIFICATION, *PTARGET_DEVICE_CUSTOM_NOTIFICATION;
typedef void DEVICE_CHANGE_COMPLETE_CALLBACK(PVOID Context);
typedef DEVICE_CHANGE_COMPLETE_CALLBACK* PDEVICE_CHANGE_COMPLETE_CALLBACK;

NT_EXTERN_C_BEGIN
NT_API NTSTATUS IoGetDeviceInterfaceAlias(PUNICODE_STRING SymbolicLinkName,
                                          const GUID* AliasInterfaceClassGuid,
                                          PUNICODE_STRING AliasSymbolicLinkName);
NT_API NTSTATUS IoGetDevicePropertyData(PDEVICE_OBJECT Pdo, const DEVPROPKEY* PropertyKey,
                                        LCID Lcid, ULONG Flags, ULONG Size, PVOID Data,
                                        PULONG RequiredSize, PDEVPROPTYPE Type);
NT_API NTSTATUS IoSetDevicePropertyData(PDEVICE_OBJECT Pdo, const DEVPROPKEY* PropertyKey,
                                        LCID Lcid, ULONG Flags, DEVPROPTYPE Type, ULONG Size,
                                        PVOID Data);
NT_API NTSTATUS IoSetDeviceInterfacePropertyData(PUNICODE_STRING SymbolicLinkName,
                                                 const DEVPROPKEY* PropertyKey, LCID Lcid,
                                                 ULONG Flags, DEVPROPTYPE Type, ULONG Size,
                                                 PVOID Data);
NT_API NTSTATUS IoGetDeviceInterfacePropertyData(PUNICODE_STRING SymbolicLinkName,
                                                 const DEVPROPKEY* PropertyKey, LCID Lcid,
                                                 ULONG Flags, ULONG Size, PVOID Data,
                                                 PULONG RequiredSize, PDEVPROPTYPE Type);
NT_API NTSTATUS IoReportTargetDeviceChange(PDEVICE_OBJECT PhysicalDeviceObject,
                                           PVOID NotificationStructure);
NT_API NTSTATUS IoReportTargetDeviceChangeAsynchronous(PDEVICE_OBJECT PhysicalDeviceObject,
                                                       PVOID NotificationStructure,
                                                       PDEVICE_CHANGE_COMPLETE_CALLBACK Callback,
                                                       PVOID Context);
NT_API void IoInvalidateDeviceRelations(PDEVICE_OBJECT DeviceObject, DEVICE_RELATION_TYPE Type);
NT_API void IoInvalidateDeviceState(PDEVICE_OBJECT PhysicalDeviceObject);
NT_API void IoRequestDeviceEject(PDEVICE_OBJECT PhysicalDeviceObject);
NT_API NTSTATUS IoSynchronousInvalidateDeviceRelations(PDEVICE_OBJECT DeviceObject,
                                                       DEVICE_RELATION_TYPE Type);
NT_API void IoAdjustPagingPathCount(PLONG Count, BOOLEAN Increment);
#define IoAdjustPagingPathCount(count, increment)                                                  \
    ((void)((increment) ? InterlockedIncrement(count) : InterlockedDecrement(count)))
NT_EXTERN_C_END

#endif
