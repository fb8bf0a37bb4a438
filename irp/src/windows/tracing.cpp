// Event tracing and WMI, to which no one listens: providers are registered and never enabled.
#include "standard.hpp"

#include <windows/wdk/wmi.h>

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

NTSTATUS IoWMIRegistrationControl(PDEVICE_OBJECT, ULONG) { return STATUS_SUCCESS; }
NTSTATUS WmiTraceMessage(TRACEHANDLE, ULONG, LPCGUID, USHORT, ...) { return STATUS_SUCCESS; }

} // extern "C"
