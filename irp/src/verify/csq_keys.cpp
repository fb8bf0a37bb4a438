#include "csq_keys.hpp"

#include "hooks.hpp"

namespace irpverbs::irp::verify {
namespace {

// The owner of the IRP may remove it from the queue at the same time; the sanitizers ignore that.
[[gnu::no_sanitize_thread]] const void* key_of(const IRP& irp) {
    void* const volatile& key = irp.Tail.Overlay.DriverContext[3];
    return key;
}

} // namespace

void csq_key_given(const IRP* irp, const IO_CSQ_IRP_CONTEXT* key) {
    if (!enabled(check::io)) return;
    core::processor& self = core::this_processor();
    frame* const by = context_of(self);
    if (by == nullptr || by->kind != routine::dispatch ||
        !is_on_stack(*by, __builtin_frame_address(0), key))
        return;
    irp_tracker& tracker = irp_tracker::of(self);
    const std::lock_guard guard(tracker.lock);
    const record* of = tracker.find(irp);
    if (of == nullptr) return;
    by->key = key;
    by->keyed = irp;
    by->keyed_generation = of->generation;
}

pending_report* check_key_left(irp_tracker& tracker, const frame& mine) {
    if (mine.key == nullptr) return nullptr;
    const record* irp = tracker.find(mine.keyed);
    if (irp == nullptr || irp->generation != mine.keyed_generation || irp->stage != stage::sent ||
        key_of(*irp->irp) != mine.key)
        return nullptr;
    return &tracker
                .violation(rule::CsqContextOnStack, irp,
                           "the dispatch routine of " + device_text(mine.device_number) +
                               " returned while irp#" + std::to_string(irp->generation) +
                               " waits in a cancel-safe queue under a key on its stack")
                .with("sent at", irp->sent_at);
}

} // namespace irpverbs::irp::verify
