/// Awaits an IRP in any C++20 coroutine, without Asio and without an allocation.
#pragma once

#include <irp/device.h>

#include <version>
#if defined(__cpp_impl_coroutine)
#include <coroutine>

namespace irpverbs::irp {

/// The result of a completed IRP.
struct sent_result {
    NTSTATUS status;
    ULONG_PTR information;
};

namespace detail {

/// A sent IRP. The coroutine owns the memory and must not be destroyed before the IRP is completed.
class NT_API sent_irp {
public:
    sent_irp(DEVICE_OBJECT* device, IRP* irp) noexcept : device_(device), irp_(irp) {}
    sent_irp(const sent_irp&) = delete;
    sent_irp& operator=(const sent_irp&) = delete;

    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> waiting) {
        waiting_ = waiting;
        return send();
    }
    sent_result await_resume() const noexcept {
        return {irp_->IoStatus.Status, irp_->IoStatus.Information};
    }

private:
    bool send();
    static NTSTATUS completed(DEVICE_OBJECT*, IRP*, void* context);
    void completed_elsewhere();
    static void resume_at_passive(void* context);

    DEVICE_OBJECT* device_;
    IRP* irp_;
    std::coroutine_handle<> waiting_;
    const void* inside_; // the call that sends
    WORK_QUEUE_ITEM item_;
};

} // namespace detail

/// `auto [status, information] = co_await send(device, irp);` sends an IRP whose next stack
/// location holds its major function and parameters; this function sets its completion routine.
/// Ownership: the IRP is the caller's again when the coroutine resumes; the coroutine must not be
/// destroyed before that. The coroutine resumes at PASSIVE_LEVEL and never inside the call that
/// sends. It is not suspended if the request was completed during that call. Otherwise it resumes
/// on the completing thread if that is at PASSIVE_LEVEL, else on a worker thread. IRQL:
/// PASSIVE_LEVEL. Cancellation: IoCancelIrp(irp).
inline detail::sent_irp send(DEVICE_OBJECT* device, IRP* irp) noexcept { return {device, irp}; }

} // namespace irpverbs::irp
#endif
