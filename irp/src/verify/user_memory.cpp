#include "user_memory.hpp"

#include "frames.hpp"
#include "hooks.hpp"

#include <irp/ioctl.h>
#include <irp/support/user_memory.hpp>

namespace irpverbs::irp::verify {
namespace {

user_buffer* buffer_at(frame* within, const volatile void* address) {
    if (within == nullptr || within->kind != routine::dispatch || within->irp == nullptr)
        return nullptr;
    for (user_buffer& each : within->irp->user_buffers)
        if (reinterpret_cast<ULONG_PTR>(address) - each.begin < each.length) return &each;
    return nullptr;
}

bool is_neither(const IRP& irp, const IO_STACK_LOCATION& next) {
    return irp.RequestorMode == UserMode && next.MajorFunction == IRP_MJ_DEVICE_CONTROL &&
           METHOD_FROM_CTL_CODE(next.Parameters.DeviceIoControl.IoControlCode) == METHOD_NEITHER;
}

} // namespace

void find_user_buffers(record& irp, const IO_STACK_LOCATION& next) {
    if (irp.user_buffers[0].length != 0 || irp.user_buffers[1].length != 0) return;
    if (!is_neither(*irp.irp, next)) return;
    const auto& given = next.Parameters.DeviceIoControl;
    irp.user_buffers[0] = {reinterpret_cast<ULONG_PTR>(given.Type3InputBuffer),
                           given.InputBufferLength, false};
    irp.user_buffers[1] = {reinterpret_cast<ULONG_PTR>(irp.irp->UserBuffer),
                           given.OutputBufferLength, false};
}

pending_report* check_user_buffer(irp_tracker& tracker, frame* within, const void* address) {
    user_buffer* const touched = buffer_at(within, address);
    if (touched == nullptr || touched->probed) return nullptr;
    touched->probed = true; // one report is enough
    const bool input = touched == &within->irp->user_buffers[0];
    return &tracker.violation(rule::UserBufferProbed, within->irp,
                              "the dispatch routine of " + device_text(within->device_number) +
                                  " touches the " + (input ? "input" : "output") +
                                  " buffer of irp#" + std::to_string(within->irp->generation) +
                                  ", an address that user mode chose, without a probe");
}

void user_memory_probed(const volatile void* address, std::size_t length) {
    if (!enabled(check::io) || length == 0) return;
    core::processor& self = core::this_processor();
    irp_tracker& tracker = irp_tracker::of(self);
    const std::lock_guard guard(tracker.lock);
    if (user_buffer* const probed = buffer_at(context_of(self), address)) probed->probed = true;
}

} // namespace irpverbs::irp::verify
