#include "plug_and_play.hpp"

#include "hooks.hpp"
#include "options.hpp"

#include <irp/pnp_types.h>
#include <irp/power.h>

#include <algorithm>

namespace irpverbs::irp::verify {
namespace {

// The first parameters of bug check 0xC9.
constexpr ULONG_PTR untouched_id = 0x22F;
constexpr ULONG_PTR not_detached_id = 0x21D;

std::string text_of_request(const record& irp, const IO_STACK_LOCATION& location,
                            std::uint32_t device_number) {
    return "irp#" + std::to_string(irp.generation) +
           (location.MajorFunction == IRP_MJ_PNP ? ", IRP_MJ_PNP" : ", IRP_MJ_POWER") +
           " with minor function " + hex(location.MinorFunction) + ", at " +
           device_text(device_number);
}

// These may be answered where they are.
bool may_be_completed(UCHAR minor) {
    return minor == IRP_MN_QUERY_INTERFACE || minor == IRP_MN_QUERY_STOP_DEVICE ||
           minor == IRP_MN_QUERY_REMOVE_DEVICE;
}

bool may_not_fail(UCHAR minor) {
    return minor == IRP_MN_REMOVE_DEVICE || minor == IRP_MN_SURPRISE_REMOVAL ||
           minor == IRP_MN_CANCEL_REMOVE_DEVICE || minor == IRP_MN_CANCEL_STOP_DEVICE;
}

// The location below was never sent.
bool stays_here(record& irp, int location) {
    return !irp.has(location - 1) || irp.at(location - 1).use == 0;
}

// The location of a driver that has another one below it, and completes the IRP; null: there is no
// driver below.
const IO_STACK_LOCATION* location_above_another(record& irp) {
    const int number = static_cast<UCHAR>(irp.irp->CurrentLocation);
    return irp.has(number) && irp.at(number).has_lower ? IoGetCurrentIrpStackLocation(irp.irp)
                                                       : nullptr;
}

} // namespace

pending_report* check_power_completion(irp_tracker& tracker, record& irp) {
    const IO_STACK_LOCATION* location = location_above_another(irp);
    const int number = static_cast<UCHAR>(irp.irp->CurrentLocation);
    if (location == nullptr || location->MajorFunction != IRP_MJ_POWER ||
        (location->MinorFunction != IRP_MN_SET_POWER &&
         location->MinorFunction != IRP_MN_QUERY_POWER) ||
        !NT_SUCCESS(irp.irp->IoStatus.Status) || !stays_here(irp, number))
        return nullptr;
    return &tracker.violation(rule::PowerIrpCompletion, &irp,
                              text_of_request(irp, *location, irp.at(number).device_number) +
                                  ", is completed with " + status_text(irp.irp->IoStatus.Status) +
                                  " and was not passed down");
}

pending_report* check_pnp_completion(irp_tracker& tracker, record& irp) {
    const IO_STACK_LOCATION* above = location_above_another(irp);
    if (above == nullptr || above->MajorFunction != IRP_MJ_PNP) return nullptr;
    const IO_STACK_LOCATION& location = *above;
    const int number = static_cast<UCHAR>(irp.irp->CurrentLocation);
    const NTSTATUS status = irp.irp->IoStatus.Status;
    const std::string request = text_of_request(irp, location, irp.at(number).device_number);
    const bool succeeds = NT_SUCCESS(status);
    if (stays_here(irp, number) && !may_be_completed(location.MinorFunction) &&
        (succeeds || status == STATUS_NOT_SUPPORTED)) {
        pending_report& report = tracker.violation(
            rule::PnpIrpCompletion, &irp,
            request + ", is completed with " + status_text(status) + " and was not passed down");
        if (!succeeds) report.found.parameters[0] = untouched_id;
        return &report;
    }
    if (succeeds || !may_not_fail(location.MinorFunction)) return nullptr;
    return &tracker.violation(rule::PnpRemove, &irp,
                              request + ", is completed with " + status_text(status));
}

pending_report* check_pnp_forwarded(irp_tracker& tracker, const record& irp, const frame* by,
                                    const IO_STACK_LOCATION& next) {
    const NTSTATUS status = irp.irp->IoStatus.Status;
    if (by == nullptr || by->kind != routine::dispatch || next.MajorFunction != IRP_MJ_PNP ||
        NT_SUCCESS(status) || status == STATUS_NOT_SUPPORTED)
        return nullptr;
    return &tracker.violation(rule::PnpFailedIrpForwarded, &irp,
                              text_of_request(irp, next, by->device_number) +
                                  ", is passed down with " + status_text(status));
}

pending_report* check_surprise_removal(irp_tracker& tracker, const frame* innermost,
                                       const DEVICE_OBJECT* device, ULONG_PTR id) {
    const frame* each = innermost;
    while (each != nullptr && (each->kind != routine::dispatch || each->device != device ||
                               each->major != IRP_MJ_PNP || each->minor != IRP_MN_SURPRISE_REMOVAL))
        each = each->outer;
    if (each == nullptr) return nullptr;
    pending_report& report = tracker.violation(
        rule::PnpSurpriseRemove, each->irp,
        device_text(each->device_number) +
            " is detached or deleted before it has received IRP_MN_REMOVE_DEVICE");
    report.found.parameters[0] = id;
    return &report;
}

void check_added(DEVICE_OBJECT* device) {
    if (!enabled(check::io) || (device->Flags & DO_DEVICE_INITIALIZING) == 0) return;
    irp_tracker& tracker = irp_tracker::of(core::this_processor());
    pending_report* report = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        report = &tracker.violation(rule::DeviceInitializing, nullptr,
                                    "AddDevice leaves DO_DEVICE_INITIALIZING set in " +
                                        device_text(tracker.device(device).number));
    }
    emit(tracker, report);
}

void check_unknown_request(DEVICE_OBJECT* device, NTSTATUS status) {
    if (!enabled(check::io) || status == STATUS_NOT_SUPPORTED) return;
    irp_tracker& tracker = irp_tracker::of(core::this_processor());
    pending_report* report = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        report = &tracker.violation(
            rule::PnpStatusChanged, nullptr,
            "an IRP_MJ_PNP with a minor function that is not defined was sent to " +
                device_text(tracker.device(device).number) + ", and came back with " +
                status_text(status) + " instead of STATUS_NOT_SUPPORTED");
    }
    emit(tracker, report);
}

void check_removed(const std::vector<DEVICE_OBJECT*>& stack, bool detached) {
    if (!enabled(check::io) || stack.empty()) return;
    irp_tracker& tracker = irp_tracker::of(core::this_processor());
    pending_report* report = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        const auto left = std::find_if(stack.begin(), stack.end(), [&](const DEVICE_OBJECT* each) {
            return !tracker.device(each).deleted;
        });
        if (!detached || left != stack.end()) {
            const std::uint32_t number =
                tracker.device(left == stack.end() ? stack.front() : *left).number;
            report = &tracker.violation(rule::RemovedDeviceDeleted, nullptr,
                                        device_text(number) +
                                            " has received IRP_MN_REMOVE_DEVICE, "
                                            "and was not " +
                                            (detached ? "deleted" : "detached"));
            if (!detached) report->found.parameters[0] = not_detached_id;
        }
    }
    emit(tracker, report);
}

} // namespace irpverbs::irp::verify
