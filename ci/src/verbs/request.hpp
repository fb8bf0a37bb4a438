// The life of a verb's IRP inside an HCA: dispatched, submitted, executed, completed.
#pragma once

#include <ci/driver.h>

#include <cstddef>

namespace irpverbs::ci {

struct verb;

/// Parameters.Others of a verb's stack location, typed: see ci/verbs.def.
struct [[gnu::may_alias]] parameters {
    void* object;
    void* buffer;
    ULONG_PTR number; // bytes, entries or flags
    ULONG_PTR port;   // or CI_UDATA*, of a verb that has a buffer, too
};

/// Parameters.Others of a verb that creates an object. They lie in the IRP, which a driver may pend
/// and forward after the call that sent it has returned.
struct [[gnu::may_alias]] create_words {
    void* object; // the parent, until the object exists
    void* buffer; // attributes or CI_UDATA
    VOID* context;
    const void* dispatch; // or CI_UDATA*, of a verb that has attributes, too
};

inline parameters& parameters_of(IO_STACK_LOCATION* location) {
    static_assert(sizeof(parameters) == sizeof(location->Parameters.Others));
    return *reinterpret_cast<parameters*>(&location->Parameters.Others);
}

inline create_words& create_words_of(IO_STACK_LOCATION* location) {
    static_assert(sizeof(create_words) == sizeof(location->Parameters.Others));
    return *reinterpret_cast<create_words*>(&location->Parameters.Others);
}

/// The fifth word of a verb that creates an object: IoCopyCurrentIrpStackLocationToNext copies it.
inline ULONG& create_count_of(IO_STACK_LOCATION* location) {
    static_assert(offsetof(IO_STACK_LOCATION, Reserved) <
                  offsetof(IO_STACK_LOCATION, CompletionRoutine));
    return location->Reserved;
}

/// The parameters of a verb that creates an object. They live while the object is created.
struct create_parameters {
    VOID* context;
    const void* dispatch; // may be null
    const void* attributes;
    ULONG count;
    void* parent; // HCA_CA, HCA_PD
    UCHAR verb;   // HCA_MINOR_FUNCTION
};

/// A flag of IO_STACK_LOCATION.Flags: the verb has the turn in the turn_queue of its object.
inline constexpr UCHAR has_turn = 2;

/// The FDO's dispatch routine.
NTSTATUS dispatch_verb(DEVICE_OBJECT* device, IRP* irp);

/// Submits the verb for execution, where and when the driver decides.
NTSTATUS submit(IRP* irp);

/// Submits a verb that has got the turn in the turn_queue of its object.
NTSTATUS submit_with_turn(IRP* irp);

/// Completes a verb that the driver does not execute, except a close that took effect; returns
/// `status`. The verb no longer references its object.
NTSTATUS complete(IRP* irp, NTSTATUS status, ULONG_PTR information);
/// Completes a verb that a driver has executed.
NTSTATUS complete_executed(IRP* irp, IO_STACK_LOCATION* location, const verb& row, NTSTATUS status,
                           ULONG_PTR information);
/// Completes a verb that waits for an event. The caller then dereferences the object.
void complete_event(IRP* irp, IB_ASYNC_EVENT event);
/// Completes a verb that references no object, because it creates or ends the object.
NTSTATUS finish(IRP* irp, NTSTATUS status, ULONG_PTR information);

} // namespace irpverbs::ci
