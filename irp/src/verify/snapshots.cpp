#include "snapshots.hpp"

#include "packet/poison.hpp"

#include <cstring>

namespace irpverbs::irp::verify {
namespace {

IO_STACK_LOCATION* location_of(const record& irp, int location) {
    return reinterpret_cast<IO_STACK_LOCATION*>(irp.irp + 1) + location - 1;
}

} // namespace

void snapshot(record& irp, int location) {
    // A location that the IRP was never sent to belongs to the originator, which may write to it.
    if (!irp.has(location) || irp.at(location).use == 0 || irp.at(location).left) return;
    location_record& own = irp.at(location);
    IO_STACK_LOCATION* place = location_of(irp, location);
    own.has_snapshot = true;
    std::memcpy(own.contents.data(), place, own.contents.size());
    if (may_be_poisoned(*irp.irp)) poison(place, sizeof *place);
}

pending_report* verify_snapshot(irp_tracker& tracker, record& irp, int location) {
    if (!irp.has(location) || !irp.at(location).has_snapshot) return nullptr;
    location_record& own = irp.at(location);
    IO_STACK_LOCATION* place = location_of(irp, location);
    own.has_snapshot = false;
    if (may_be_poisoned(*irp.irp)) unpoison(place, sizeof *place);
    if (std::memcmp(place, own.contents.data(), own.contents.size()) == 0) return nullptr;
    return &tracker
                .violation(rule::WriteAfterSend, &irp,
                           "stack location " + std::to_string(location) + " of irp#" +
                               std::to_string(irp.generation) + ", " +
                               device_text(own.device_number) +
                               "'s, was written to while a lower driver had the IRP")
                .with("sent last at", irp.sent_at);
}

// The current owner of the IRP may mark it again, or have it poisoned. That races with this read
// and is harmless, so the sanitizers ignore it.
[[gnu::no_sanitize_thread, gnu::no_sanitize_address]] UCHAR control_of(const record& irp,
                                                                       int location) {
    const volatile UCHAR& control = location_of(irp, location)->Control;
    return control;
}

} // namespace irpverbs::irp::verify
