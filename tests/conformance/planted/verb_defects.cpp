// Defects of a single verb.
#include "hook.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace planted {

namespace {

/// Position of the buffer, and of its size or count, in Parameters.Others of a verb's location.
template <class Type>
Type* buffer_of(IRP* irp) {
    return static_cast<Type*>(IoGetCurrentIrpStackLocation(irp)->Parameters.Others.Argument2);
}
ULONG_PTR number_of(IRP* irp) {
    return reinterpret_cast<ULONG_PTR>(
        IoGetCurrentIrpStackLocation(irp)->Parameters.Others.Argument3);
}

NTSTATUS completes_twice(hook& at, IRP* irp) {
    const bool query = minor_of(irp) == HCA_MN_QUERY_PORT;
    const NTSTATUS status = at.pass(irp);
    if (query) IoCompleteRequest(irp, IO_NO_INCREMENT);
    return status;
}

NTSTATUS fails_without_completing(hook& at, IRP* irp) {
    if (minor_of(irp) == HCA_MN_MODIFY_PORT) return STATUS_INVALID_PARAMETER;
    return at.pass(irp);
}

NTSTATUS returns_another_status(hook& at, IRP* irp) {
    const bool query = minor_of(irp) == HCA_MN_QUERY_PORT;
    const NTSTATUS status = at.pass(irp);
    return query ? STATUS_SUCCESS : status;
}

NTSTATUS marks_a_completed_irp(hook& at, IRP* irp) {
    if (minor_of(irp) == HCA_MN_QUERY_PORT) IoMarkIrpPending(irp);
    return at.pass(irp);
}

// Misbehaves for one arbitrary size.
NTSTATUS fails_at_one_size(hook& at, IRP* irp) {
    if (minor_of(irp) != HCA_MN_QUERY_CA || number_of(irp) != 307) return at.pass(irp);
    outcome seen = forward(at, irp);
    --seen.information;
    return complete(irp, seen);
}

NTSTATUS returns_users_another_size(hook& at, IRP* irp) {
    if (minor_of(irp) != HCA_MN_QUERY_CQ || irp->RequestorMode != UserMode) return at.pass(irp);
    outcome seen = forward(at, irp);
    seen.information = std::max<ULONG_PTR>(seen.information, sizeof(ULONG));
    return complete(irp, seen);
}

NTSTATUS returns_another_size(hook& at, IRP* irp) {
    if (minor_of(irp) != HCA_MN_QUERY_PORT) return at.pass(irp);
    outcome seen = forward(at, irp);
    if (seen.status == STATUS_SUCCESS) seen.information = number_of(irp);
    return complete(irp, seen);
}

NTSTATUS writes_beyond_the_buffer(hook& at, IRP* irp) {
    if (minor_of(irp) != HCA_MN_QUERY_CQ) return at.pass(irp);
    const outcome seen = forward(at, irp);
    if (seen.status == STATUS_BUFFER_OVERFLOW) buffer_of<UCHAR>(irp)[number_of(irp)] = 0;
    return complete(irp, seen);
}

NTSTATUS omits_the_needed_size(hook& at, IRP* irp) {
    if (minor_of(irp) != HCA_MN_QUERY_CA) return at.pass(irp);
    const outcome seen = forward(at, irp);
    if (seen.status == STATUS_BUFFER_OVERFLOW)
        *buffer_of<ULONG>(irp) = static_cast<ULONG>(number_of(irp));
    return complete(irp, seen);
}

NTSTATUS takes_unknown_flags(hook& at, IRP* irp) {
    if (minor_of(irp) == HCA_MN_MODIFY_CA)
        IoGetCurrentIrpStackLocation(irp)->Parameters.Others.Argument3 =
            reinterpret_cast<void*>(number_of(irp) & 3);
    return at.pass(irp);
}

/// Ignores that flag of CiModifyPort.
template <ULONG Flag>
NTSTATUS ignores(hook& at, IRP* irp) {
    if (minor_of(irp) == HCA_MN_MODIFY_PORT && (number_of(irp) & Flag) != 0)
        return complete(irp, {STATUS_SUCCESS, 0});
    return at.pass(irp);
}

NTSTATUS confuses_flags(hook& at, IRP* irp) {
    if (minor_of(irp) == HCA_MN_MODIFY_PORT && number_of(irp) == IB_MODIFY_PORT_INIT_TYPE)
        IoGetCurrentIrpStackLocation(irp)->Parameters.Others.Argument3 =
            reinterpret_cast<void*>(ULONG_PTR{IB_MODIFY_PORT_CAPABILITIES});
    return at.pass(irp);
}

constexpr auto allows_conflicts =
    confuses<HCA_MN_MODIFY_PORT, STATUS_FILE_LOCK_CONFLICT, STATUS_SUCCESS>;
constexpr auto closes_with_children = confuses<HCA_MN_CLOSE_CA, STATUS_DEVICE_BUSY, STATUS_SUCCESS>;
constexpr auto returns_another_status_after_a_fatal_event =
    confuses<HCA_MN_POLL_CQ, STATUS_FILE_FORCED_CLOSED, STATUS_UNSUCCESSFUL>;
constexpr auto returns_another_status_when_detached =
    confuses<HCA_MN_OPEN_CA, STATUS_DELETE_PENDING, STATUS_UNSUCCESSFUL>;

NTSTATUS makes_queues_too_small(hook& at, IRP* irp) {
    if (minor_of(irp) != HCA_MN_CREATE_CQ) return at.pass(irp);
    const outcome seen = forward(at, irp);
    if (NT_SUCCESS(seen.status)) --reinterpret_cast<IB_CQ*>(seen.information)->NumCqes;
    return complete(irp, seen);
}

NTSTATUS serves_after_a_fatal_event(hook& at, IRP* irp) {
    if (minor_of(irp) == HCA_MN_QUERY_CA && HcaIsFailed(at.fdo))
        return complete(irp, {STATUS_SUCCESS, 0});
    return at.pass(irp);
}

NTSTATUS counts_a_missing_entry(hook& at, IRP* irp) {
    if (minor_of(irp) != HCA_MN_POLL_CQ) return at.pass(irp);
    const outcome seen = forward(at, irp);
    return complete(irp, {seen.status, 1});
}

NTSTATUS loses_datagrams_at_dispatch(hook& at, IRP* irp) {
    if (minor_of(irp) == HCA_MN_GET_MAD && KeGetCurrentIrql() == DISPATCH_LEVEL)
        return complete(irp, {STATUS_INVALID_DEVICE_STATE, 0});
    return at.pass(irp);
}

NTSTATUS leaves_another_irql(hook& at, IRP* irp) {
    if (minor_of(irp) == HCA_MN_QUERY_CA) KeRaiseIrqlToDpcLevel();
    return at.pass(irp);
}

NTSTATUS blocks(hook& at, IRP* irp) {
    LARGE_INTEGER little;
    little.QuadPart = -10;
    if (minor_of(irp) == HCA_MN_CREATE_CQ) KeDelayExecutionThread(KernelMode, FALSE, &little);
    return at.pass(irp);
}

NTSTATUS writes_to_the_callers_location(hook& at, IRP* irp) {
    if (minor_of(irp) == HCA_MN_QUERY_PORT && irp->StackCount > 1)
        IoGetCurrentIrpStackLocation(irp)[1].MinorFunction = 99;
    return at.pass(irp);
}

NTSTATUS touches_a_completed_irp(hook& at, IRP* irp) {
    const bool query = minor_of(irp) == HCA_MN_QUERY_PORT;
    const NTSTATUS status = at.pass(irp);
    if (query) IoSetCancelRoutine(irp, nullptr);
    return status;
}

NTSTATUS ignores_user_mode(hook& at, IRP* irp) {
    if (minor_of(irp) == HCA_MN_QUERY_PORT && irp->RequestorMode == UserMode)
        return complete(irp, {STATUS_SUCCESS, number_of(irp)});
    return at.pass(irp);
}

template <UCHAR Minor>
NTSTATUS returns_another_status_without_memory(hook& at, IRP* irp) {
    if (minor_of(irp) != Minor) return at.pass(irp);
    void* memory = ExAllocatePool2(POOL_FLAG_NON_PAGED, 16, 'p');
    if (memory == nullptr) return complete(irp, {STATUS_UNSUCCESSFUL, 0});
    ExFreePoolWithTag(memory, 'p');
    return at.pass(irp);
}

// Behaves differently on every other call, independent of the machine's choices.
NTSTATUS counts_the_calls(hook& at, IRP* irp) {
    static unsigned calls = 0;
    if (minor_of(irp) == HCA_MN_QUERY_PORT && ++calls % 2 == 0) {
        const KIRQL before = KeAcquireSpinLockRaiseToDpc(&at.lock);
        KeReleaseSpinLock(&at.lock, before);
    }
    return at.pass(irp);
}

NTSTATUS arms_nothing(hook& at, IRP* irp) {
    if (minor_of(irp) == HCA_MN_ARM_CQ) return complete(irp, {STATUS_SUCCESS, 0});
    return at.pass(irp);
}

NTSTATUS sends_nothing(hook& at, IRP* irp) {
    if (minor_of(irp) == HCA_MN_SEND_MAD) return complete(irp, {STATUS_SUCCESS, 0});
    return at.pass(irp);
}

NTSTATUS keeps_its_keys(hook& at, IRP* irp) {
    if (minor_of(irp) == HCA_MN_MODIFY_MAD_AGENT) return complete(irp, {STATUS_SUCCESS, 0});
    return at.pass(irp);
}

/// Changes one byte of each sent datagram.
template <std::size_t Offset>
NTSTATUS sends_another_byte(hook& at, IRP* irp) {
    if (minor_of(irp) != HCA_MN_SEND_MAD) return at.pass(irp);
    IB_MAD_SEND changed = *buffer_of<IB_MAD_SEND>(irp);
    const UCHAR* const data = static_cast<const UCHAR*>(changed.Data);
    std::vector<UCHAR> bytes(data, data + changed.Length);
    bytes[Offset] = 1;
    changed.Data = bytes.data();
    IoGetCurrentIrpStackLocation(irp)->Parameters.Others.Argument2 = &changed;
    return complete(irp, forward(at, irp));
}
constexpr auto knows_one_version = sends_another_byte<2>;
constexpr auto knows_one_oui = sends_another_byte<37>;

NTSTATUS sends_without_a_route(hook& at, IRP* irp) {
    if (minor_of(irp) != HCA_MN_SEND_MAD) return at.pass(irp);
    IB_MAD_SEND bare = *buffer_of<IB_MAD_SEND>(irp);
    bare.To.Flags = 0;
    IoGetCurrentIrpStackLocation(irp)->Parameters.Others.Argument2 = &bare;
    return complete(irp, forward(at, irp));
}

NTSTATUS drops_a_long_message(hook& at, IRP* irp) {
    if (minor_of(irp) != HCA_MN_GET_MAD) return at.pass(irp);
    IB_MAD_RECEIVE& asked = *buffer_of<IB_MAD_RECEIVE>(irp);
    std::vector<UCHAR> room(std::size_t{64} * IB_MAD_SIZE);
    VOID* const data = std::exchange(asked.Data, room.data());
    const ULONG size = std::exchange(asked.Size, static_cast<ULONG>(room.size()));
    outcome seen = forward(at, irp);
    asked.Data = data;
    asked.Size = size;
    if (asked.Length > size) return complete(irp, {STATUS_BUFFER_OVERFLOW, 0});
    std::copy_n(room.begin(), asked.Length, static_cast<UCHAR*>(data));
    return complete(irp, seen);
}

NTSTATUS shares_methods(hook& at, IRP* irp) {
    if (minor_of(irp) != HCA_MN_REGISTER_MAD_AGENT) return at.pass(irp);
    outcome seen = forward(at, irp);
    if (seen.status == STATUS_SHARING_VIOLATION) seen.status = STATUS_SUCCESS;
    return complete(irp, seen);
}

// ---- polls without an IRP: functions for direct polls of a queue

int get_results(ibv_cq* queue, int count, ibv_wc* entries) {
    ULONG taken = 0;
    const NTSTATUS status =
        IbGetCqResults(reinterpret_cast<IB_CQ*>(queue), static_cast<ULONG>(count),
                       reinterpret_cast<IB_WC*>(entries), &taken);
    return NT_SUCCESS(status) ? static_cast<int>(taken) : -1;
}

/// Enables direct polls of each queue by the function Poll.
template <int (*Poll)(ibv_cq* queue, int count, ibv_wc* entries)>
NTSTATUS enables_direct_poll(hook& at, IRP* irp) {
    if (minor_of(irp) != HCA_MN_CREATE_CQ) return at.pass(irp);
    const outcome seen = forward(at, irp);
    if (auto* cq = reinterpret_cast<HCA_CQ*>(seen.information)) {
        cq->Direct.Queue = reinterpret_cast<ibv_cq*>(cq);
        cq->Direct.Poll = Poll;
    }
    return complete(irp, seen);
}

int returns_a_missing_entry(ibv_cq*, int, ibv_wc*) { return 1; }

int finds_the_newest_first(ibv_cq* queue, int count, ibv_wc* entries) {
    const int taken = get_results(queue, count, entries);
    auto* first = reinterpret_cast<IB_WC*>(entries);
    if (taken > 0) std::reverse(first, first + taken);
    return taken;
}

int loses_one_of_many(ibv_cq* queue, int count, ibv_wc* entries) {
    const int taken = get_results(queue, count, entries);
    return taken > 1 ? taken - 1 : taken;
}

int finds_one_more(ibv_cq* queue, int count, ibv_wc* entries) {
    return get_results(queue, std::min(count, 3) + 1, entries);
}

int sees_nothing_at_dispatch(ibv_cq* queue, int count, ibv_wc* entries) {
    return KeGetCurrentIrql() == DISPATCH_LEVEL ? 0 : get_results(queue, count, entries);
}

constexpr defect defects[] = {
    {"completes_twice", "Law.FailingVerb_CompletesExactlyOnce", completes_twice, nullptr},
    {"fails_without_completing", "Law.FailingVerb_CompletesExactlyOnce", fails_without_completing,
     nullptr},
    {"returns_another_status", "QueryPort.AnyBufferSize_ReturnsSizeAndStatus",
     returns_another_status, nullptr},
    {"marks_a_completed_irp", "QueryPort.AnyBufferSize_ReturnsSizeAndStatus", marks_a_completed_irp,
     nullptr},
    {"returns_another_size", "QueryPort.AnyBufferSize_ReturnsSizeAndStatus", returns_another_size,
     nullptr},
    {"fails_at_one_size", "QueryCa.AnyBufferSize_ReturnsSizeAndStatus", fails_at_one_size, nullptr},
    {"returns_users_another_size", "QueryCq.AnyBufferSize_ReturnsSizeAndStatus",
     returns_users_another_size, nullptr},
    {"writes_beyond_the_buffer", "QueryCq.AnyBufferSize_ReturnsSizeAndStatus",
     writes_beyond_the_buffer, nullptr},
    {"omits_the_needed_size", "QueryCa.AnyBufferSize_ReturnsSizeAndStatus", omits_the_needed_size,
     nullptr},
    {"takes_unknown_flags", "ModifyCa.UnknownFlag_ReturnsInvalidParameter", takes_unknown_flags,
     nullptr},
    {"keeps_the_violations", "ModifyPort.ResetQKeyViolations_CounterIsZero",
     ignores<IB_MODIFY_PORT_RESET_QKEY_VIOLATIONS>, nullptr},
    {"keeps_the_port_up", "ModifyPort.Shutdown_PortGoesDown", ignores<IB_MODIFY_PORT_SHUTDOWN>,
     nullptr},
    {"confuses_flags", "ModifyPort.InitType_IsAccepted", confuses_flags, nullptr},
    {"allows_conflicts", "ModifyPort.CapabilityHeldByOther_ReturnsConflict", allows_conflicts,
     nullptr},
    {"makes_queues_too_small", "CreateCq.Success_HasRequestedEntries", makes_queues_too_small,
     nullptr},
    {"closes_with_children", "CloseCa.ChildrenOpen_ReturnsDeviceBusy", closes_with_children,
     nullptr},
    {"serves_after_a_fatal_event", "FatalEvent.LaterVerbs_ReturnForcedClosed",
     serves_after_a_fatal_event, nullptr},
    {"returns_another_status_after_a_fatal_event", "FatalEvent.RacesWithVerbs_AllComplete",
     returns_another_status_after_a_fatal_event, nullptr},
    {"returns_another_status_when_detached", "OpenCa.RacesWithDetach_ReturnsDeletePending",
     returns_another_status_when_detached, nullptr},
    {"counts_a_missing_entry", "EveryVerb.CalledFromC_CompletesOnce", counts_a_missing_entry,
     nullptr},
    {"loses_datagrams_at_dispatch", "EveryVerb.DispatchLevel_Completes",
     loses_datagrams_at_dispatch, nullptr},
    {"leaves_another_irql", "EveryVerb.ApcLevel_Completes", leaves_another_irql, nullptr},
    {"blocks", "EveryVerb.DispatchLevel_Completes", blocks, nullptr},
    {"writes_to_the_callers_location", "Law.CallersLocation_StaysUnchanged",
     writes_to_the_callers_location, nullptr},
    {"touches_a_completed_irp", "Law.CompletedIrp_MayBeFreed", touches_a_completed_irp, nullptr},
    {"ignores_user_mode", "User.QueryResults_EqualKernelResults", ignores_user_mode, nullptr},
    {"returns_another_status_without_memory", "Law.AllocationFailure_ReturnsInsufficientResources",
     returns_another_status_without_memory<HCA_MN_OPEN_CA>, nullptr},
    {"counts_the_calls", "Law.SameSeed_SameRun", counts_the_calls, nullptr},
    {"sends_nothing", "GetMad.RacesWithDatagram_CompletesWithIt", sends_nothing, nullptr},
    {"shares_methods", "MadAgent.SameMethods_ReturnsSharingViolation", shares_methods, nullptr},
    {"keeps_its_keys", "MadQp.WrongPKeyOrQKey_IsDropped", keeps_its_keys, nullptr},
    {"knows_one_version", "MadRoute.SameClass_RoutedByVersion", knows_one_version, nullptr},
    {"knows_one_oui", "MadRoute.VendorClass_RoutedByOui", knows_one_oui, nullptr},
    {"sends_without_a_route", "MadRoute.SourceAddress_IsDestinationOfResponse",
     sends_without_a_route, nullptr},
    {"drops_a_long_message", "GetMad.MessageTooLong_StaysFirstInQueue", drops_a_long_message,
     nullptr},
    {"arms_nothing", "ArmCq.ArmedOnce_OneEvent", arms_nothing, nullptr},
    {"returns_a_missing_entry", "GetCqResults.EmptyQueue_ReturnsZero",
     enables_direct_poll<returns_a_missing_entry>, nullptr},
    {"finds_the_newest_first", "GetCqResults.ManyEntries_ReturnedAsByPollCq",
     enables_direct_poll<finds_the_newest_first>, nullptr},
    {"loses_one_of_many", "GetCqResults.AlternatesWithPollCq_NoEntryLost",
     enables_direct_poll<loses_one_of_many>, nullptr},
    {"finds_one_more", "GetCqResults.FewerRequested_RestStaysQueued",
     enables_direct_poll<finds_one_more>, nullptr},
    {"sees_nothing_at_dispatch", "GetCqResults.DispatchLevel_Succeeds",
     enables_direct_poll<sees_nothing_at_dispatch>, nullptr},
    {"misleads_the_c_client", "EveryVerb.CalledFromC_CompletesOnce",
     enables_direct_poll<returns_a_missing_entry>, nullptr},
};

} // namespace

const std::span<const defect> verb_defects = defects;

} // namespace planted
