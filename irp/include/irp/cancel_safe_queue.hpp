/// A queue of pended requests, each cancellable at any instant from any thread.
#pragma once

#include <irp/pending_irp.hpp>

#include <dispatch/support/spin.hpp>

#include <memory>
#include <optional>
#include <type_traits>

namespace irpverbs::irp {

/// Requests that were removed from a queue together, oldest first. Ownership: the holder of the
/// list must complete each request; destroying a list that is not empty is bug check 0xC9/0x226.
class [[nodiscard]] pending_irp_list {
public:
    pending_irp_list() noexcept = default;
    pending_irp_list(pending_irp_list&& other) noexcept
        : first_(std::exchange(other.first_, nullptr)) {}
    pending_irp_list& operator=(pending_irp_list&&) = delete;
    ~pending_irp_list() noexcept(false) {
        if (first_ != nullptr) [[unlikely]]
            detail::irp_abandoned(of(first_));
    }

    bool empty() const noexcept { return first_ == nullptr; }

    /// Removes the oldest request; the list must not be empty.
    pending_irp remove_next() noexcept {
        IRP* irp = of(first_);
        first_ = first_->Flink;
        return pending_irp(irp);
    }

    /// Completes all requests in order.
    void complete(NTSTATUS status, ULONG_PTR information = 0) && {
        while (!empty())
            remove_next().complete(status, information);
    }

private:
    friend class cancel_safe_queue;
    explicit pending_irp_list(LIST_ENTRY* first) noexcept : first_(first) {}
    static IRP* of(LIST_ENTRY* entry) noexcept {
        return CONTAINING_RECORD(entry, IRP, Tail.Overlay.ListEntry);
    }

    LIST_ENTRY* first_ = nullptr; // linked by Flink, to null
};

/// A first-in first-out queue that allocates nothing: it links IRPs by Tail.Overlay.ListEntry and
/// uses DriverContext[3] of each queued IRP. A request leaves the queue exactly once: removed,
/// drained, removed, or completed with STATUS_CANCELLED by its canceller; no lock is held during
/// that completion. Any thread may call any member. IRQL: <= DISPATCH_LEVEL.
class NT_API cancel_safe_queue {
public:
    /// Called by the drain DPC at DISPATCH_LEVEL for each request that it removed, in order. During
    /// the call the DPC may start again on another processor, with requests that were pended later.
    using drain_routine = void (*)(pending_irp request, void* context);

    cancel_safe_queue() noexcept;
    /// A queue with a DPC that drains it: pend() queues the DPC unless it is already queued.
    cancel_safe_queue(drain_routine drain, void* context);
    /// Requires an empty queue: bug check 0xC9/0x226 when a request is queued. Every pended request
    /// has left the queue, but pend() itself need not have returned. The destructor waits for a
    /// drain DPC that is queued or about to be. It does not wait for a DPC that calls the drain
    /// routine, which may be the caller. IRQL: PASSIVE_LEVEL with a drain DPC.
    ~cancel_safe_queue();
    cancel_safe_queue(const cancel_safe_queue&) = delete;
    cancel_safe_queue& operator=(const cancel_safe_queue&) = delete;

    /// Marks the request pending and queues it. Always returns STATUS_PENDING, which the dispatch
    /// routine returns. The request may be completed before this returns: with STATUS_CANCELLED
    /// when it is cancelled, with the status of close() after that call.
    NTSTATUS pend(pending_irp request) { return pend_irp(std::move(request).release()); }

    /// Removes the oldest request that no canceller owns, if there is one; it is no longer
    /// cancellable.
    std::optional<pending_irp> remove_next() { return as_pending(remove_first(nullptr, nullptr)); }

    /// Removes the oldest request that no canceller owns and for which matches(const IRP&) returns
    /// true. The predicate runs under the queue's lock and must call nothing of the library.
    template <class Predicate>
    std::optional<pending_irp> remove_next_if(Predicate&& matches) {
        using callable = std::remove_reference_t<Predicate>;
        return as_pending(remove_first(
            [](const IRP& irp, void* held) -> bool { return (*static_cast<callable*>(held))(irp); },
            const_cast<std::remove_const_t<callable>*>(std::addressof(matches))));
    }

    /// Removes this request if it is queued here and no canceller owns it. `irp` is only compared.
    std::optional<pending_irp> remove(const IRP* irp) {
        return remove_next_if([irp](const IRP& each) { return &each == irp; });
    }

    /// Removes all requests that no canceller owns, under one acquisition of the lock.
    pending_irp_list remove_all();

    /// Completes all queued requests with STATUS_CANCELLED, in order.
    void cancel_all() { remove_all().complete(STATUS_CANCELLED); }

    /// Completes all queued requests with STATUS_CANCELLED; later calls of pend() complete their
    /// request with `close_status` (a success is replaced by STATUS_CANCELLED).
    void close(NTSTATUS close_status = STATUS_CANCELLED);

    /// The drain DPC, so that its target or importance can be set before the first request is
    /// pended. Only the queue may insert it.
    KDPC* drain_dpc() noexcept { return &dpc_; }

    /// True when no request is queued at this instant.
    bool empty() const noexcept;

private:
    friend class completion_queue;
    using filter = bool (*)(const IRP& irp, void* context);
    static std::optional<pending_irp> as_pending(IRP* irp) {
        if (irp == nullptr) return std::nullopt;
        return std::optional<pending_irp>(std::in_place, irp);
    }
    struct steps;

    NTSTATUS pend_irp(IRP* irp);
    IRP* remove_first(filter matches, void* context);
    LIST_ENTRY* claim_all(NTSTATUS close_status); // an error closes the queue
    bool drain_pending() const noexcept;

    mutable dispatch::detail::machine_spin_lock lock_;
    bool armed_ = true; // guarded by lock_: the DPC is queued, or there is none
    NTSTATUS close_status_ = STATUS_SUCCESS; // guarded by lock_: an error once closed
    LIST_ENTRY waiting_;                     // guarded by lock_
    drain_routine drain_ = nullptr;
    void* context_ = nullptr;
    KDPC dpc_{};
};

} // namespace irpverbs::irp
