// Verbs as IRPs to the package's device.
#pragma once

#include <engine/port_table.hpp>

#include <ci/support/fail_unsent.hpp>

namespace irpverbs::cm::engine {

/// The end of a verb's dispatch; STATUS_PENDING: the IRP is pended, or completed.
struct verb_result {
    NTSTATUS status;
    ULONG_PTR information = 0;
};

/// The device's dispatch routine.
NTSTATUS dispatch_verb(DEVICE_OBJECT* device, IRP* irp);

/// Sends the IRP, whose dispatch calls `body(irp)`, which returns a verb_result.
template <class Body>
NTSTATUS send_verb(IRP* irp, const Body& body) {
    using function = verb_result (*)(IRP*, const void*);
    DEVICE_OBJECT* const device = port_table::current().device();
    if (device == nullptr) {
        ci::detail::fail_unsent(irp, STATUS_INSUFFICIENT_RESOURCES);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    static constexpr function run = [](IRP* sent, const void* context) -> verb_result {
        return (*static_cast<const Body*>(context))(sent);
    };
    IO_STACK_LOCATION& next = *IoGetNextIrpStackLocation(irp);
    next.MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    next.MinorFunction = 0;
    next.Parameters.Others.Argument1 = reinterpret_cast<void*>(run);
    next.Parameters.Others.Argument2 = const_cast<Body*>(&body);
    return IoCallDriver(device, irp);
}

} // namespace irpverbs::cm::engine
