/* Device interfaces: a device of a class says that it can be opened, by a symbolic link that others
   find by the class' GUID. Also the properties of a device and its registry keys, and the
   notification of interfaces that come and go.

   PhysicalDeviceObject is the device of a bus, as AddDevice receives it (testing/pnp.hpp). For any
   other device the functions return STATUS_INVALID_DEVICE_REQUEST. */
#ifndef IRPVERBS_IRP_DEVICE_INTERFACE_H
#define IRPVERBS_IRP_DEVICE_INTERFACE_H

#include <irp/device.h>

typedef WCHAR* PZZWSTR;

typedef struct _DEVICE_INTERFACE_CHANGE_NOTIFICATION {
    USHORT Version;
    USHORT Size;
    GUID Event;
    GUID InterfaceClassGuid;
    PUNICODE_STRING SymbolicLinkName;
} DEVICE_INTERFACE_CHANGE_NOTIFICATION, *PDEVICE_INTERFACE_CHANGE_NOTIFICATION;
typedef enum _IO_NOTIFICATION_EVENT_CATEGORY {
    EventCategoryReserved,
    EventCategoryHardwareProfileChange,
    EventCategoryDeviceInterfaceChange,
    EventCategoryTargetDeviceChange,
    EventCategoryKernelSoftRestart
} IO_NOTIFICATION_EVENT_CATEGORY;
#define PNPNOTIFY_DEVICE_INTERFACE_INCLUDE_EXISTING_INTERFACES 1
typedef NTSTATUS DRIVER_NOTIFICATION_CALLBACK_ROUTINE(PVOID NotificationStructure, PVOID Context);
typedef DRIVER_NOTIFICATION_CALLBACK_ROUTINE* PDRIVER_NOTIFICATION_CALLBACK_ROUTINE;
typedef enum _DEVICE_REGISTRY_PROPERTY {
    DevicePropertyDeviceDescription = 0,
    DevicePropertyHardwareID = 1,
    DevicePropertyCompatibleIDs = 2,
    DevicePropertyBootConfiguration = 3,
    DevicePropertyBootConfigurationTranslated = 4,
    DevicePropertyClassName = 5,
    DevicePropertyClassGuid = 6,
    DevicePropertyDriverKeyName = 7,
    DevicePropertyManufacturer = 8,
    DevicePropertyFriendlyName = 9,
    DevicePropertyLocationInformation = 10,
    DevicePropertyPhysicalDeviceObjectName = 11,
    DevicePropertyBusTypeGuid = 12,
    DevicePropertyLegacyBusType = 13,
    DevicePropertyBusNumber = 14,
    DevicePropertyEnumeratorName = 15,
    DevicePropertyAddress = 16,
    DevicePropertyUINumber = 17,
    DevicePropertyInstallState = 18,
    DevicePropertyRemovalPolicy = 19,
    DevicePropertyResourceRequirements = 20,
    DevicePropertyAllocatedResources = 21,
    DevicePropertyContainerID = 22
} DEVICE_REGISTRY_PROPERTY;
typedef enum _DEVICE_REMOVAL_POLICY {
    RemovalPolicyExpectNoRemoval = 1,
    RemovalPolicyExpectOrderlyRemoval = 2,
    RemovalPolicyExpectSurpriseRemoval = 3
} DEVICE_REMOVAL_POLICY;
#define DEVICE_INTERFACE_INCLUDE_NONACTIVE 0x00000001
/* For IoOpenDeviceRegistryKey. */
#define PLUGPLAY_REGKEY_DEVICE 1
#define PLUGPLAY_REGKEY_DRIVER 2
#define PLUGPLAY_REGKEY_CURRENT_HWPROFILE 4

NT_EXTERN_C_BEGIN

/* Event of a DEVICE_INTERFACE_CHANGE_NOTIFICATION. */
NT_API extern const GUID GUID_DEVICE_INTERFACE_ARRIVAL;
NT_API extern const GUID GUID_DEVICE_INTERFACE_REMOVAL;

/* Registers an interface of the class, disabled, and stores its symbolic link:
   \??\ROOT#IRPVERBS#0000#{class}, then a backslash and the ReferenceString, if there is one. A
   file that is opened by the link has the reference string, behind a backslash, as its name.
   Registering again returns the same link. Ownership: the caller frees SymbolicLinkName->Buffer by
   RtlFreeUnicodeString or ExFreePool; the interface ends with its physical device. IRQL:
   PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_INVALID_DEVICE_REQUEST: the device, or a reference string
   with a slash or backslash; STATUS_INSUFFICIENT_RESOURCES. Source: WDK
   IoRegisterDeviceInterface. */
NT_API NTSTATUS IoRegisterDeviceInterface(PDEVICE_OBJECT PhysicalDeviceObject,
                                          const GUID* InterfaceClassGuid,
                                          PUNICODE_STRING ReferenceString,
                                          PUNICODE_STRING SymbolicLinkName);

/* Enables the interface, which creates its symbolic link, or disables it, which deletes the link;
   either notifies the callbacks of its class. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS;
   STATUS_OBJECT_NAME_EXISTS: it is enabled already; STATUS_OBJECT_NAME_NOT_FOUND: it was not
   enabled, or is not registered; STATUS_INSUFFICIENT_RESOURCES. Source: WDK
   IoSetDeviceInterfaceState. */
NT_API NTSTATUS IoSetDeviceInterfaceState(PUNICODE_STRING SymbolicLinkName, BOOLEAN Enable);

/* Stores the links of the enabled interfaces of the class, with DEVICE_INTERFACE_INCLUDE_NONACTIVE
   also of the others: each with its terminator, and one more at the end. PhysicalDeviceObject:
   NULL, or the device whose interfaces are listed. Ownership: the caller frees *SymbolicLinkList
   by ExFreePool. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS, also for an empty list;
   STATUS_INVALID_DEVICE_REQUEST; STATUS_INSUFFICIENT_RESOURCES. Source: WDK
   IoGetDeviceInterfaces. */
NT_API NTSTATUS IoGetDeviceInterfaces(const GUID* InterfaceClassGuid,
                                      PDEVICE_OBJECT PhysicalDeviceObject, ULONG Flags,
                                      PZZWSTR* SymbolicLinkList);

/* Stores a property of the device. Most are values of its key below \...\Enum, where a test may
   set them: DeviceDesc, HardwareID, CompatibleIDs, Class, ClassGUID, Driver, Mfg, FriendlyName,
   LocationInformation, UINumber, Address. The other ones are the name of the physical device and
   that of the enumerator. Texts are stored with their terminators. *ResultLength: the bytes stored,
   or needed. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_BUFFER_TOO_SMALL: nothing was stored;
   STATUS_OBJECT_NAME_NOT_FOUND: the device does not have the property;
   STATUS_INVALID_PARAMETER_2: no property; STATUS_INVALID_DEVICE_REQUEST;
   STATUS_INSUFFICIENT_RESOURCES. Source: WDK IoGetDeviceProperty. */
NT_API NTSTATUS IoGetDeviceProperty(PDEVICE_OBJECT DeviceObject,
                                    DEVICE_REGISTRY_PROPERTY DeviceProperty, ULONG BufferLength,
                                    PVOID PropertyBuffer, PULONG ResultLength);

/* Open a key for the device or its driver (PLUGPLAY_REGKEY_DEVICE: "Device Parameters" below the
   device's key; PLUGPLAY_REGKEY_DRIVER: the key below \...\Control\Class), or for an interface. The
   key is created if it does not exist. PLUGPLAY_REGKEY_CURRENT_HWPROFILE is ignored: there is one
   profile. Ownership: ZwClose closes the handle. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS;
   STATUS_INVALID_DEVICE_REQUEST; STATUS_INVALID_PARAMETER: another DevInstKeyType;
   STATUS_OBJECT_NAME_NOT_FOUND: the link of no registered interface, or the driver has no key;
   STATUS_INSUFFICIENT_RESOURCES. Source: WDK IoOpenDeviceRegistryKey,
   IoOpenDeviceInterfaceRegistryKey. */
NT_API NTSTATUS IoOpenDeviceRegistryKey(PDEVICE_OBJECT DeviceObject, ULONG DevInstKeyType,
                                        ACCESS_MASK DesiredAccess, PHANDLE DeviceRegKey);
NT_API NTSTATUS IoOpenDeviceInterfaceRegistryKey(PUNICODE_STRING SymbolicLinkName,
                                                 ACCESS_MASK DesiredAccess,
                                                 PHANDLE DeviceInterfaceRegKey);

/* Registers a callback. EventCategoryDeviceInterfaceChange: EventCategoryData is the GUID of a
   class, and a system thread calls the callback with a DEVICE_INTERFACE_CHANGE_NOTIFICATION for
   each interface of the class that is enabled or disabled from now on. With
   PNPNOTIFY_DEVICE_INTERFACE_INCLUDE_EXISTING_INTERFACES this call also calls it for those that are
   enabled now, for which it may be called again. EventCategoryHardwareProfileChange: there is one
   profile, and the callback is never called. Ownership: an unregister frees *NotificationEntry; the
   driver can't be unloaded before (IrpUnloadDriver). The callback runs at PASSIVE_LEVEL, and owns
   none of what it is given. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_NOT_SUPPORTED: another
   category; STATUS_INSUFFICIENT_RESOURCES. Source: WDK IoRegisterPlugPlayNotification. */
NT_API NTSTATUS IoRegisterPlugPlayNotification(
    IO_NOTIFICATION_EVENT_CATEGORY EventCategory, ULONG EventCategoryFlags, PVOID EventCategoryData,
    PDRIVER_OBJECT DriverObject, PDRIVER_NOTIFICATION_CALLBACK_ROUTINE CallbackRoutine,
    PVOID Context, PVOID* NotificationEntry);

/* Unregister a callback. ...Ex returns when no call of it is under way, and none follows; inside
   the callback itself it does not wait. After the other one a call that was under way may still
   run. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS. Source: WDK IoUnregisterPlugPlayNotification,
   IoUnregisterPlugPlayNotificationEx. */
NT_API NTSTATUS IoUnregisterPlugPlayNotification(PVOID NotificationEntry);
NT_API NTSTATUS IoUnregisterPlugPlayNotificationEx(PVOID NotificationEntry);

NT_EXTERN_C_END

#endif
