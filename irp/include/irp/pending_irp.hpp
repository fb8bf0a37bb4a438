/// Ownership of an IRP that its driver must complete.
#pragma once

#include <irp/device.h>

#include <type_traits>
#include <utility>

namespace irpverbs::irp {

namespace detail {
/// Bug check 0xC9/0x226.
[[noreturn]] NT_API void irp_abandoned(const IRP* irp);
} // namespace detail

/// Move-only proof that its holder must complete an IRP once. A dispatch routine wraps its IRP on
/// the first line; each way out then completes, forwards or pends it, or ends in bug check
/// 0xC9/0x226. The members with && end that ownership: the IRP may be freed when they return. IRQL:
/// <= DISPATCH_LEVEL.
class [[nodiscard]] pending_irp {
public:
    explicit pending_irp(IRP* irp) noexcept : irp_(irp) {}
    pending_irp(pending_irp&& other) noexcept : irp_(std::exchange(other.irp_, nullptr)) {}
    pending_irp& operator=(pending_irp&&) = delete;
    /// A bug-check handler may throw.
    ~pending_irp() noexcept(false) {
        if (irp_ != nullptr) [[unlikely]]
            detail::irp_abandoned(irp_);
    }

    /// This driver's stack location.
    IO_STACK_LOCATION& stack() const noexcept { return *IoGetCurrentIrpStackLocation(irp_); }

    /// The location's parameters as the type that caller and driver agreed on.
    template <class Parameters>
    Parameters& parameters() const noexcept {
        static_assert(sizeof(Parameters) <= sizeof(IO_STACK_LOCATION::Parameters));
        static_assert(alignof(Parameters) <= alignof(void*));
        static_assert(std::is_trivially_copyable_v<Parameters>);
        return *reinterpret_cast<Parameters*>(&stack().Parameters);
    }

    /// The IRP; this object keeps it.
    IRP* get() const noexcept { return irp_; }

    /// The IRP without this object: other code completes it.
    [[nodiscard]] IRP* release() && noexcept { return std::exchange(irp_, nullptr); }

    /// Completes the IRP; returns `status`, which the dispatch routine returns.
    NTSTATUS complete(NTSTATUS status, ULONG_PTR information = 0) && {
        IRP* irp = std::exchange(irp_, nullptr);
        irp->IoStatus.Status = status;
        irp->IoStatus.Information = information;
        IoCompleteRequest(irp, IO_NO_INCREMENT);
        return status;
    }

    /// Passes the IRP with this driver's own location to the driver below. The dispatch routine
    /// returns the result.
    NTSTATUS forward(DEVICE_OBJECT* lower) && {
        IRP* irp = std::exchange(irp_, nullptr);
        IoSkipCurrentIrpStackLocation(irp);
        return IoCallDriver(lower, irp);
    }

    /// Passes the IRP with a copy of the location to the driver below. Completion calls `routine`
    /// for every status; `routine` propagates PendingReturned.
    NTSTATUS forward_with(DEVICE_OBJECT* lower, PIO_COMPLETION_ROUTINE routine, void* context) && {
        IRP* irp = std::exchange(irp_, nullptr);
        IoCopyCurrentIrpStackLocationToNext(irp);
        IoSetCompletionRoutine(irp, routine, context, TRUE, TRUE, TRUE);
        return IoCallDriver(lower, irp);
    }

private:
    IRP* irp_;
};

} // namespace irpverbs::irp
