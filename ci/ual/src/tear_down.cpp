// The end of a connection whose client is gone: nothing of it remains.
#include "served_connection.hpp"

#include <ci/support/blocking_verb.hpp>
#include <dispatch/support/spin_lock.hpp>

namespace irpverbs::ual {

using ci::action;
using dispatch::detail::spin_guard;

namespace {

constexpr unsigned codes_of_type = 16;

/// The verb that ends an object.
UCHAR ending_verb(ci::crossing::object_type type) {
    for (unsigned code = type; code < type + codes_of_type; ++code) {
        const ci::crossing::traits* const each = ci::crossing::find(static_cast<UCHAR>(code));
        if (each != nullptr && each->does == action::ends) return each->code;
    }
    return 0; // no type lacks one
}

NTSTATUS send_end(DEVICE_OBJECT* hca, const served_object& place, IRP* irp) {
    IO_STACK_LOCATION* const next = IoGetNextIrpStackLocation(irp);
    next->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    next->MinorFunction = ending_verb(place.type);
    next->Flags = 0;
    next->Parameters.Others.Argument1 = place.object;
    next->Parameters.Others.Argument2 = nullptr;
    next->Parameters.Others.Argument3 = nullptr;
    next->Parameters.Others.Argument4 = nullptr;
    return IoCallDriver(hca, irp);
}

} // namespace

void served_connection::tear_down() {
    {
        const spin_guard guard(lock_);
        closing_ = true;
    }
    cancel_all();
    await_requests();
    while (!out_.empty()) {
        served_request& unsent = out_.front();
        out_.pop_front();
        release(unsent);
    }
    posts_.receives().close();
    destroy_objects();
}

served_request* served_connection::next_to_cancel() {
    const spin_guard guard(lock_);
    for (served_request& each : running_) {
        if (each.cancelled || each.irp == nullptr) continue;
        each.cancelled = true;
        ++each.references;
        return &each;
    }
    return nullptr;
}

void served_connection::cancel_all() {
    while (served_request* const each = next_to_cancel()) {
        IoCancelIrp(each->irp);
        drop(*each);
    }
}

// The lock is acquired again, because the last request sets the event under it.
void served_connection::await_requests() {
    bool busy = false;
    {
        const spin_guard guard(lock_);
        busy = busy_ != 0;
    }
    if (busy) KeWaitForSingleObject(&idle_, Executive, KernelMode, FALSE, nullptr);
    const spin_guard guard(lock_);
}

bool served_connection::destroy(const served_object& place) {
    return ci::detail::call_verb([&](IRP* irp) { return send_end(hca_, place, irp); }).success();
}

// An object that others use is destroyed after them, in the next pass.
void served_connection::destroy_objects() {
    for (bool progress = true; progress;) {
        progress = false;
        for (served_object* each = objects_.newest(); each != nullptr;) {
            served_object* const older = objects_.before(*each);
            if (destroy(*each)) {
                objects_.remove(*each);
                progress = true;
            }
            each = older;
        }
    }
}

} // namespace irpverbs::ual
