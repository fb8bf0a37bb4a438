// Event tracing and WMI, to which no one listens: providers are registered and never enabled.
#include "standard.hpp"

#include <dispatch/support/live_objects.hpp>
#include <dispatch/support/verify.hpp>

#include <dispatch/pool.h>
#include <windows/wdk/wmi.h>

using namespace irpverbs::dispatch::detail;

extern "C" {

NTSTATUS EtwRegister(LPCGUID, PETWENABLECALLBACK, PVOID, PREGHANDLE RegHandle) {
    *RegHandle = 1;
    return STATUS_SUCCESS;
}
NTSTATUS EtwUnregister(REGHANDLE) { return STATUS_SUCCESS; }
NTSTATUS EtwWrite(REGHANDLE, PCEVENT_DESCRIPTOR, LPCGUID, ULONG, PEVENT_DATA_DESCRIPTOR) {
    return STATUS_SUCCESS;
}
NTSTATUS EtwWriteString(REGHANDLE, UCHAR, ULONGLONG, LPCGUID, PCWSTR) { return STATUS_SUCCESS; }
NTSTATUS EtwWriteTransfer(REGHANDLE, PCEVENT_DESCRIPTOR, LPCGUID, LPCGUID, ULONG,
                          PEVENT_DATA_DESCRIPTOR) {
    return STATUS_SUCCESS;
}
BOOLEAN EtwEventEnabled(REGHANDLE, PCEVENT_DESCRIPTOR) { return FALSE; }
BOOLEAN EtwProviderEnabled(REGHANDLE, UCHAR, ULONGLONG) { return FALSE; }
NTSTATUS EtwSetInformation(REGHANDLE, ULONG, PVOID, ULONG) { return STATUS_SUCCESS; }

NTSTATUS IoWMIRegistrationControl(PDEVICE_OBJECT DeviceObject, ULONG Action) {
    if (!verifying()) return STATUS_SUCCESS;
    if (Action == WMIREG_ACTION_REGISTER)
        add_live_object(this_processor(), live_object_kind::wmi_registration, DeviceObject);
    else if (Action == WMIREG_ACTION_DEREGISTER)
        remove_live_object(live_object_kind::wmi_registration, DeviceObject);
    return STATUS_SUCCESS;
}
ULONG IoWMIDeviceObjectToProviderId(PDEVICE_OBJECT DeviceObject) {
    return static_cast<ULONG>(reinterpret_cast<ULONG_PTR>(DeviceObject));
}
NTSTATUS IoWMIWriteEvent(PVOID WnodeEventItem) {
    ExFreePool(WnodeEventItem);
    return STATUS_SUCCESS;
}
NTSTATUS WmiFireEvent(PDEVICE_OBJECT, LPCGUID, ULONG, ULONG, PVOID EventData) {
    if (EventData != nullptr) ExFreePool(EventData);
    return STATUS_SUCCESS;
}
NTSTATUS WmiTraceMessage(TRACEHANDLE, ULONG, LPCGUID, USHORT, ...) { return STATUS_SUCCESS; }

} // extern "C"
