/// A queue of pended requests, each cancellable at any instant from any thread.
#pragma once

#include <irp/obligation.hpp>

#include <dispatch/detail/spin.hpp>

#include <memory>
#include <optional>
#include <type_traits>

namespace irpverbs::irp {

/// Requests that were removed from a queue together, oldest first. Ownership: the holder of the
/// list must complete each request; destroying a list that is not empty is bug check 0xC9/0x226.
class [[nodiscard]] obligation_list {
public:
    obligation_list() noexcept = default;
    obligation_list(obligation_list&& other) noexcept
        : first_(std::exchange(other.first_, nullptr)) {}
    obligation_list& operator=(obligation_list&&) = delete;
    ~obligation_list() noexcept(false) {
        if (first_ != nullptr) [[unlikely]]
            detail::dropped_obligation(of(first_));
    }

    bool empty() const noexcept { return first_ == nullptr; }

    /// Removes the oldest request; the list must not be empty.
    obligation pop() noexcept {
        IRP* irp = of(first_);
        first_ = first_->Flink;
        return obligation(irp);
    }

    /// Completes all requests in order.
    void complete(NTSTATUS status, ULONG_PTR information = 0) && {
        while (!empty())
            pop().complete(status, information);
    }

private:
    friend class cancel_safe_queue;
    explicit obligation_list(LIST_ENTRY* first) noexcept : first_(first) {}
    static IRP* of(LIST_ENTRY* entry) noexcept {
        return CONTAINING_RECORD(entry, IRP, Tail.Overlay.ListEntry);
    }

    LIST_ENTRY* first_ = nullptr; // linked by Flink, to null
};

/// A first-in first-out queue that allocates nothing: it links IRPs by Tail.Overlay.ListEntry and
/// uses DriverContext[3] of each queued IRP. A request leaves the queue exactly once: popped,
/// drained, removed, or completed with STATUS_CANCELLED by its canceller; no lock is held during
/// that completion. Any thread may call any member. IRQL: <= DISPATCH_LEVEL.
class NT_API cancel_safe_queue {
public:
    /// Called by the drain DPC at DISPATCH_LEVEL for each request that it removed, in order. During
    /// the call the DPC may start again on another processor, with requests that were pended later.
    using drain_routine = void (*)(obligation request, void* context);

    cancel_safe_queue() noexcept;
    /// A queue with a DPC that drains it: park() queues the DPC unless it is already queued.
    cancel_safe_queue(drain_routine drain, void* context);
    /// Requires an empty queue: bug check 0xC9/0x226 when a request is queued. Every pended request
    /// has left the queue, but park() itself need not have returned. The destructor waits for a
    /// drain DPC that is queued or about to be. It does not wait for a DPC that calls the drain
    /// routine, which may be the caller. IRQL: PASSIVE_LEVEL with a drain DPC.
    ~cancel_safe_queue();
    cancel_safe_queue(const cancel_safe_queue&) = delete;
    cancel_safe_queue& operator=(const cancel_safe_queue&) = delete;

    /// Marks the request pending and queues it. Always returns STATUS_PENDING, which the dispatch
    /// routine returns. The request may be completed before this returns: with STATUS_CANCELLED
    /// when it is cancelled, with the status of close() after that call.
    NTSTATUS park(obligation request) { return park_irp(std::move(request).release()); }

    /// Removes the oldest request that no canceller owns, if there is one; it is no longer
    /// cancellable.
    std::optional<obligation> pop() { return owed(take(nullptr, nullptr)); }

    /// Removes the oldest request that no canceller owns and for which matches(const IRP&) returns
    /// true. The predicate runs under the queue's lock and must call nothing of the library.
    template <class Predicate>
    std::optional<obligation> pop_if(Predicate&& matches) {
        using callable = std::remove_reference_t<Predicate>;
        return owed(take(
            [](const IRP& irp, void* held) -> bool { return (*static_cast<callable*>(held))(irp); },
            const_cast<std::remove_const_t<callable>*>(std::addressof(matches))));
    }

    /// Removes this request if it is queued here and no canceller owns it. `irp` is only compared.
    std::optional<obligation> remove(const IRP* irp) {
        return pop_if([irp](const IRP& each) { return &each == irp; });
    }

    /// Removes all requests that no canceller owns, under one acquisition of the lock.
    obligation_list pop_all();

    /// Completes all queued requests with STATUS_CANCELLED, in order.
    void cancel_all() { pop_all().complete(STATUS_CANCELLED); }

    /// Completes all queued requests with STATUS_CANCELLED; later calls of park() complete their
    /// request with `refusal` (a success is replaced by STATUS_CANCELLED).
    void close(NTSTATUS refusal = STATUS_CANCELLED);

    /// The drain DPC, so that its target or importance can be set before the first request is
    /// pended. Only the queue may insert it.
    KDPC* drain_dpc() noexcept { return &dpc_; }

    /// True when no request is queued at this instant.
    bool empty() const noexcept;

private:
    friend class completion_queue;
    using filter = bool (*)(const IRP& irp, void* context);
    static std::optional<obligation> owed(IRP* irp) {
        if (irp == nullptr) return std::nullopt;
        return std::optional<obligation>(std::in_place, irp);
    }
    struct steps;

    NTSTATUS park_irp(IRP* irp);
    IRP* take(filter matches, void* context);
    LIST_ENTRY* claim_all(NTSTATUS refusal); // an error closes the queue
    bool drain_is_coming() const noexcept;

    mutable dispatch::detail::machine_spin lock_;
    bool armed_ = true;                 // guarded by lock_: the DPC is queued, or there is none
    NTSTATUS refusal_ = STATUS_SUCCESS; // guarded by lock_: an error once closed
    LIST_ENTRY waiting_;                // guarded by lock_
    drain_routine drain_ = nullptr;
    void* context_ = nullptr;
    KDPC dpc_{};
};

} // namespace irpverbs::irp
