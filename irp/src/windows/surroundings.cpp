// Questions of a driver about its surroundings, and settings on which nothing here depends.
#include "standard.hpp"

#include <irp/wdm.h>
#include <windows/wdk/executive.h>
#include <windows/wdk/io.h>
#include <windows/wdk/kernel.h>
#include <windows/wdk/objects.h>
#include <windows/wdk/power.h>

namespace {

constexpr KPRIORITY normal_priority = 8;
constexpr UCHAR newest_wdm = 6; // of Windows Vista and later

// DEVICE_OBJECT.Reserved has the system's state in the lower half, the device's in the upper one.
constexpr unsigned bits_of_state = 16;
constexpr ULONG_PTR mask_of_state = (ULONG_PTR{1} << bits_of_state) - 1;

HANDLE handle_of(ULONG_PTR number) { return reinterpret_cast<HANDLE>(number); }

} // namespace

extern "C" {

KPRIORITY KeSetPriorityThread(PKTHREAD, KPRIORITY) { return normal_priority; }
KPRIORITY KeQueryPriorityThread(PKTHREAD) { return normal_priority; }
LONG KeSetBasePriorityThread(PKTHREAD, LONG) { return 0; }

void KeQuerySystemTimePrecise(PLARGE_INTEGER CurrentTime) { KeQuerySystemTime(CurrentTime); }

KPROCESSOR_MODE ExGetPreviousMode(void) { return KernelMode; }

BOOLEAN IoIsWdmVersionAvailable(UCHAR MajorVersion, UCHAR MinorVersion) {
    return MajorVersion < newest_wdm || (MajorVersion == newest_wdm && MinorVersion == 0);
}

NTSTATUS ObReferenceObjectByPointer(PVOID Object, ACCESS_MASK, POBJECT_TYPE, KPROCESSOR_MODE) {
    ObReferenceObject(Object);
    return STATUS_SUCCESS;
}
NTSTATUS ObReferenceObjectByPointerWithTag(PVOID Object, ACCESS_MASK DesiredAccess,
                                           POBJECT_TYPE ObjectType, KPROCESSOR_MODE AccessMode,
                                           ULONG) {
    return ObReferenceObjectByPointer(Object, DesiredAccess, ObjectType, AccessMode);
}

POWER_STATE PoSetPowerState(PDEVICE_OBJECT DeviceObject, POWER_STATE_TYPE Type, POWER_STATE State) {
    const unsigned shift = Type == DevicePowerState ? bits_of_state : 0;
    const auto kept = reinterpret_cast<ULONG_PTR>(DeviceObject->Reserved);
    POWER_STATE before;
    before.SystemState = static_cast<SYSTEM_POWER_STATE>(kept >> shift & mask_of_state);
    const auto now = static_cast<ULONG_PTR>(State.SystemState) & mask_of_state;
    DeviceObject->Reserved = handle_of((kept & ~(mask_of_state << shift)) | now << shift);
    return before;
}

} // extern "C"
