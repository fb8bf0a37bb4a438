// The life of a verb's IRP inside an HCA: dispatched, submitted, executed, completed.
#pragma once

#include <ci/driver.h>

namespace irpverbs::ci {

/// What CiOpenCa, CiCreateCq and CiRegisterMadAgent want, before there is an object. Alive only
/// while dispatching.
struct creation {
    VOID* context;
    const void* dispatch;
    CI_UDATA* user_data = nullptr;
    ULONG num_cqes = 0;
    const IB_MAD_AGENT_ATTR* agent = nullptr;
};

/// Parameters.Others of a verb's stack location, with the types that they have.
struct [[gnu::may_alias]] parameters {
    void* object;
    void* buffer;
    ULONG_PTR number; // bytes, entries or flags
    ULONG_PTR port;
};

inline parameters& parameters_of(IO_STACK_LOCATION* location) {
    static_assert(sizeof(parameters) == sizeof(location->Parameters.Others));
    return *reinterpret_cast<parameters*>(&location->Parameters.Others);
}

/// Held by no user of its object: that begins with it.
inline bool begins_an_object(ULONG minor) {
    return minor == HCA_MN_OPEN_CA || minor == HCA_MN_CREATE_CQ ||
           minor == HCA_MN_REGISTER_MAD_AGENT;
}

/// Done also for a dead HCA, and not cancelled.
inline bool ends_an_object(ULONG minor) {
    return minor == HCA_MN_CLOSE_CA || minor == HCA_MN_DESTROY_CQ ||
           minor == HCA_MN_DEREGISTER_MAD_AGENT;
}

/// The FDO's dispatch routine.
NTSTATUS dispatch_verb(DEVICE_OBJECT* device, IRP* irp);

/// Has the verb executed, where and when the driver likes.
NTSTATUS submit(IRP* irp);

/// Ends a verb that a driver need not end (any but a close that took effect) and drops what it
/// held; gives back `status`.
NTSTATUS complete(IRP* irp, NTSTATUS status, ULONG_PTR information);
/// The same for a verb that a driver has executed.
NTSTATUS complete_executed(IRP* irp, IO_STACK_LOCATION* location, NTSTATUS status,
                           ULONG_PTR information);
/// Ends a verb that waits for an event. What it held is the caller's to drop.
void complete_event(IRP* irp, IB_ASYNC_EVENT event);

} // namespace irpverbs::ci
