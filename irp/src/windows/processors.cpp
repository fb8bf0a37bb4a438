// Processors of one group and one node, on all of which a thread may run.
#include "standard.hpp"

#include <dispatch/irql.h>
#include <dispatch/timer.h>
#include <windows/wdk/executive.h>
#include <windows/wdk/kernel.h>

namespace {

GROUP_AFFINITY all_of_group_0() {
    GROUP_AFFINITY all{};
    all.Mask = KeQueryActiveProcessors();
    return all;
}

constexpr ULONG ticks_of_timer = 10'000; // of 100 ns, a period's unit

} // namespace

extern "C" {

KAFFINITY KeSetSystemAffinityThreadEx(KAFFINITY) { return 0; }
void KeRevertToUserAffinityThreadEx(KAFFINITY) {}
void KeSetSystemAffinityThread(KAFFINITY) {}
void KeRevertToUserAffinityThread(void) {}
void KeSetSystemGroupAffinityThread(PGROUP_AFFINITY, PGROUP_AFFINITY PreviousAffinity) {
    if (PreviousAffinity != nullptr) *PreviousAffinity = all_of_group_0();
}
void KeRevertToUserGroupAffinityThread(PGROUP_AFFINITY) {}

USHORT KeQueryActiveGroupCount(void) { return 1; }
USHORT KeQueryMaximumGroupCount(void) { return 1; }
USHORT KeQueryHighestNodeNumber(void) { return 0; }
USHORT KeGetCurrentNodeNumber(void) { return 0; }
KAFFINITY KeQueryGroupAffinity(USHORT GroupNumber) {
    return GroupNumber == 0 ? KeQueryActiveProcessors() : 0;
}

NTSTATUS KeGetProcessorNumberFromIndex(ULONG ProcIndex, PPROCESSOR_NUMBER ProcNumber) {
    if (ProcIndex >= KeQueryMaximumProcessorCount()) return STATUS_INVALID_PARAMETER;
    *ProcNumber = {};
    ProcNumber->Number = static_cast<UCHAR>(ProcIndex);
    return STATUS_SUCCESS;
}

ULONG KeGetProcessorIndexFromNumber(PPROCESSOR_NUMBER ProcNumber) {
    const bool known =
        ProcNumber->Group == 0 && ProcNumber->Number < KeQueryMaximumProcessorCount();
    return known ? ProcNumber->Number : INVALID_PROCESSOR_INDEX;
}

NTSTATUS KeSaveFloatingPointState(PKFLOATING_SAVE) { return STATUS_SUCCESS; }
NTSTATUS KeRestoreFloatingPointState(PKFLOATING_SAVE) { return STATUS_SUCCESS; }
NTSTATUS KeSaveExtendedProcessorState(ULONG64, PXSTATE_SAVE) { return STATUS_SUCCESS; }
void KeRestoreExtendedProcessorState(PXSTATE_SAVE) {}

KPROCESSOR_MODE KeGetPreviousMode(void) { return KernelMode; }

ULONGLONG KeQueryInterruptTimePrecise(PULONG64 QpcTimeStamp) {
    *QpcTimeStamp = static_cast<ULONG64>(KeQueryPerformanceCounter(nullptr).QuadPart);
    return KeQueryInterruptTime();
}
ULONGLONG KeQueryUnbiasedInterruptTime(void) { return KeQueryInterruptTime(); }

ULONG ExSetTimerResolution(ULONG, BOOLEAN) { return ticks_of_timer; }
void ExQueryTimerResolution(PULONG MaximumTime, PULONG MinimumTime, PULONG CurrentTime) {
    *MaximumTime = *MinimumTime = *CurrentTime = ticks_of_timer;
}

NTSTATUS KeExpandKernelStackAndCallout(void (*Callout)(PVOID), PVOID Parameter, SIZE_T) {
    Callout(Parameter);
    return STATUS_SUCCESS;
}
NTSTATUS KeExpandKernelStackAndCalloutEx(void (*Callout)(PVOID), PVOID Parameter, SIZE_T Size,
                                         BOOLEAN, PVOID) {
    return KeExpandKernelStackAndCallout(Callout, Parameter, Size);
}

} // extern "C"
