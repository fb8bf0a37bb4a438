/* Building of USB request blocks. The macros are complete; the functions are declarations only.
   Source: WDK usbdlib.h reference. */
#ifndef IRPVERBS_WINDOWS_USBDLIB_H
#define IRPVERBS_WINDOWS_USBDLIB_H

#include <usbdi.h>
#include <windows/wdk/wdm.h>

typedef struct _USBD_INTERFACE_LIST_ENTRY {
    PUSB_INTERFACE_DESCRIPTOR InterfaceDescriptor;
    PUSBD_INTERFACE_INFORMATION Interface;
} USBD_INTERFACE_LIST_ENTRY, *PUSBD_INTERFACE_LIST_ENTRY;
typedef struct USBD_HANDLE_OPAQUE* USBD_HANDLE;
#define USBD_CLIENT_CONTRACT_VERSION_INVALID 0xFFFFFFFF
#define USBD_CLIENT_CONTRACT_VERSION_602 0x602
#define USBD_INTERFACE_VERSION_600 0x600
#define URB_STATUS(urb) ((urb)->UrbHeader.Status)
#define GET_ISO_URB_SIZE(packets)                                                                  \
    (sizeof(struct _URB_ISOCH_TRANSFER) + sizeof(USBD_ISO_PACKET_DESCRIPTOR) * (packets))
#define GET_SELECT_CONFIGURATION_REQUEST_SIZE(interfaces, pipes)                                   \
    (sizeof(struct _URB_SELECT_CONFIGURATION) +                                                    \
     ((interfaces)-1) * sizeof(USBD_INTERFACE_INFORMATION) +                                       \
     ((pipes)-1) * sizeof(USBD_PIPE_INFORMATION))
#define GET_SELECT_INTERFACE_REQUEST_SIZE(pipes)                                                   \
    (sizeof(struct _URB_SELECT_INTERFACE) + ((pipes)-1) * sizeof(USBD_PIPE_INFORMATION))
#define GET_USBD_INTERFACE_SIZE(endpoints)                                                         \
    (sizeof(USBD_INTERFACE_INFORMATION) +                                                          \
     sizeof(USBD_PIPE_INFORMATION) * ((endpoints) == 0 ? 0 : (endpoints)-1))
#define UsbBuildInterruptOrBulkTransferRequest(urb, length, pipe, buffer, mdl, size, flags, link)  \
    ((urb)->UrbHeader.Function = URB_FUNCTION_BULK_OR_INTERRUPT_TRANSFER,                          \
     (urb)->UrbHeader.Length = (length), (urb)->UrbBulkOrInterruptTransfer.PipeHandle = (pipe),    \
     (urb)->UrbBulkOrInterruptTransfer.TransferBufferMDL = (mdl),                                  \
     (urb)->UrbBulkOrInterruptTransfer.TransferBuffer = (buffer),                                  \
     (urb)->UrbBulkOrInterruptTransfer.TransferBufferLength = (size),                              \
     (urb)->UrbBulkOrInterruptTransfer.TransferFlags = (flags),                                    \
     (urb)->UrbBulkOrInterruptTransfer.UrbLink = (link))
#define UsbBuildGetDescriptorRequest(urb, length, type, index, language, buffer, mdl, size, link)  \
    ((urb)->UrbHeader.Function = URB_FUNCTION_GET_DESCRIPTOR_FROM_DEVICE,                          \
     (urb)->UrbHeader.Length = (length),                                                           \
     (urb)->UrbControlDescriptorRequest.TransferBufferLength = (size),                             \
     (urb)->UrbControlDescriptorRequest.TransferBufferMDL = (mdl),                                 \
     (urb)->UrbControlDescriptorRequest.TransferBuffer = (buffer),                                 \
     (urb)->UrbControlDescriptorRequest.DescriptorType = (type),                                   \
     (urb)->UrbControlDescriptorRequest.Index = (index),                                           \
     (urb)->UrbControlDescriptorRequest.LanguageId = (language),                                   \
     (urb)->UrbControlDescriptorRequest.UrbLink = (link))
#define UsbBuildSelectConfigurationRequest(urb, length, descriptor)                                \
    ((urb)->UrbHeader.Function = URB_FUNCTION_SELECT_CONFIGURATION,                                \
     (urb)->UrbHeader.Length = (length),                                                           \
     (urb)->UrbSelectConfiguration.ConfigurationDescriptor = (descriptor))
#define UsbBuildVendorRequest(urb, command, length, flags, bits, request, value, index, buffer,    \
                              mdl, size, link)                                                     \
    ((urb)->UrbHeader.Function = (command), (urb)->UrbHeader.Length = (length),                    \
     (urb)->UrbControlVendorClassRequest.TransferBufferLength = (size),                            \
     (urb)->UrbControlVendorClassRequest.TransferBufferMDL = (mdl),                                \
     (urb)->UrbControlVendorClassRequest.TransferBuffer = (buffer),                                \
     (urb)->UrbControlVendorClassRequest.RequestTypeReservedBits = (bits),                         \
     (urb)->UrbControlVendorClassRequest.Request = (request),                                      \
     (urb)->UrbControlVendorClassRequest.Value = (value),                                          \
     (urb)->UrbControlVendorClassRequest.Index = (index),                                          \
     (urb)->UrbControlVendorClassRequest.TransferFlags = (flags),                                  \
     (urb)->UrbControlVendorClassRequest.UrbLink = (link))

NT_EXTERN_C_BEGIN
NT_API void USBD_GetUSBDIVersion(PUSBD_VERSION_INFORMATION VersionInformation);
NT_API PUSB_INTERFACE_DESCRIPTOR USBD_ParseConfigurationDescriptorEx(
    PUSB_CONFIGURATION_DESCRIPTOR ConfigurationDescriptor, PVOID StartPosition,
    LONG InterfaceNumber, LONG AlternateSetting, LONG InterfaceClass, LONG InterfaceSubClass,
    LONG InterfaceProtocol);
NT_API PUSB_COMMON_DESCRIPTOR USBD_ParseDescriptors(PVOID DescriptorBuffer, ULONG TotalLength,
                                                    PVOID StartPosition, LONG DescriptorType);
NT_API PURB USBD_CreateConfigurationRequestEx(PUSB_CONFIGURATION_DESCRIPTOR ConfigurationDescriptor,
                                              PUSBD_INTERFACE_LIST_ENTRY InterfaceList);
NT_API NTSTATUS USBD_CreateHandle(PDEVICE_OBJECT DeviceObject, PDEVICE_OBJECT TargetDeviceObject,
                                  ULONG USBDClientContractVersion, ULONG PoolTag,
                                  USBD_HANDLE* USBDHandle);
NT_API void USBD_CloseHandle(USBD_HANDLE USBDHandle);
NT_API NTSTATUS USBD_UrbAllocate(USBD_HANDLE USBDHandle, PURB* Urb);
NT_API NTSTATUS USBD_IsochUrbAllocate(USBD_HANDLE USBDHandle, ULONG NumberOfIsochPackets,
                                      PURB* Urb);
NT_API NTSTATUS USBD_SelectConfigUrbAllocateAndBuild(
    USBD_HANDLE USBDHandle, PUSB_CONFIGURATION_DESCRIPTOR ConfigurationDescriptor,
    PUSBD_INTERFACE_LIST_ENTRY InterfaceList, PURB* Urb);
NT_API NTSTATUS USBD_SelectInterfaceUrbAllocateAndBuild(
    USBD_HANDLE USBDHandle, USBD_CONFIGURATION_HANDLE ConfigurationHandle,
    PUSBD_INTERFACE_LIST_ENTRY InterfaceListEntry, PURB* Urb);
NT_API void USBD_UrbFree(USBD_HANDLE USBDHandle, PURB Urb);
NT_API void USBD_AssignUrbToIoStackLocation(USBD_HANDLE USBDHandle,
                                            PIO_STACK_LOCATION IoStackLocation, PURB Urb);
NT_API NTSTATUS USBD_QueryUsbCapability(USBD_HANDLE USBDHandle, const GUID* CapabilityType,
                                        ULONG OutputBufferLength, PUCHAR OutputBuffer,
                                        PULONG ResultLength);
NT_EXTERN_C_END

#endif
