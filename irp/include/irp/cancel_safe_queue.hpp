/// Requests that wait in a driver, each cancellable at any instant from any thread.
#pragma once

#include <irp/obligation.hpp>

#include <dispatch/detail/spin.hpp>

#include <memory>
#include <optional>
#include <type_traits>

namespace irpverbs::irp {

/// Requests taken out of a queue together, oldest first. Ownership: whoever holds the list owes
/// each a completion; dropping a list that is not empty is bug check 0xC9/0x226.
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

    /// The oldest; the list must not be empty.
    obligation pop() noexcept {
        IRP* irp = of(first_);
        first_ = first_->Flink;
        return obligation(irp);
    }

    /// Completes all in order.
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
/// keeps itself in DriverContext[3] meanwhile. A request leaves it once: popped, drained, removed,
/// or completed with STATUS_CANCELLED by whoever cancels it; no lock is held then. All members may
/// be called from any thread. IRQL: <= DISPATCH_LEVEL.
class NT_API cancel_safe_queue {
public:
    /// Called by the drain DPC at DISPATCH_LEVEL for each request it took, in order. While it runs
    /// the DPC may start again on another processor, with requests that came later.
    using drain_routine = void (*)(obligation request, void* context);

    cancel_safe_queue() noexcept;
    /// With a DPC that drains it: queued when a request arrives and none is on its way.
    cancel_safe_queue(drain_routine drain, void* context);
    /// Nothing may be parked any more: bug check 0xC9/0x226 when a request waits. Every request
    /// that was parked has left the queue, but park() itself need not have returned. Waits for a
    /// drain DPC that is queued, or about to be; not for one that calls the drain routine, which
    /// may be the caller. IRQL: PASSIVE_LEVEL with a drain DPC.
    ~cancel_safe_queue();
    cancel_safe_queue(const cancel_safe_queue&) = delete;
    cancel_safe_queue& operator=(const cancel_safe_queue&) = delete;

    /// Marks the request pending and queues it. Always STATUS_PENDING, for the dispatch routine to
    /// return. The request may be completed before this returns: with STATUS_CANCELLED when it is
    /// cancelled, with the status given to close() after that.
    NTSTATUS park(obligation request) { return park_irp(std::move(request).release()); }

    /// The oldest request that nobody cancels, not cancellable any more; or nothing.
    std::optional<obligation> pop() { return owed(take(nullptr, nullptr)); }

    /// The oldest that nobody cancels and for which matches(const IRP&) is true. Called under the
    /// queue's lock: it must call nothing of the library.
    template <class Predicate>
    std::optional<obligation> pop_if(Predicate&& matches) {
        using callable = std::remove_reference_t<Predicate>;
        return owed(take(
            [](const IRP& irp, void* held) -> bool { return (*static_cast<callable*>(held))(irp); },
            const_cast<std::remove_const_t<callable>*>(std::addressof(matches))));
    }

    /// This request, if it waits here and nobody cancels it. `irp` is only compared.
    std::optional<obligation> remove(const IRP* irp) {
        return pop_if([irp](const IRP& each) { return &each == irp; });
    }

    /// All that nobody cancels, taken under one lock.
    obligation_list pop_all();

    /// Completes all that wait with STATUS_CANCELLED, in order.
    void cancel_all() { pop_all().complete(STATUS_CANCELLED); }

    /// The same, and requests parked from now on are completed with `refusal` (no success).
    void close(NTSTATUS refusal = STATUS_CANCELLED);

    /// The drain DPC, to choose its target or importance before the first request is parked. Nobody
    /// else may queue it.
    KDPC* drain_dpc() noexcept { return &dpc_; }

    /// True when no request waits, at this instant.
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
    LIST_ENTRY* claim_all(NTSTATUS refusal); // from now on, unless it is STATUS_SUCCESS
    bool drain_is_coming() const noexcept;

    mutable dispatch::detail::machine_spin lock_;
    bool armed_ = true;                 // guarded by lock_: the DPC is on its way, or there is none
    NTSTATUS refusal_ = STATUS_SUCCESS; // guarded by lock_: not success once closed
    LIST_ENTRY waiting_;                // guarded by lock_
    drain_routine drain_ = nullptr;
    void* context_ = nullptr;
    KDPC dpc_{};
};

} // namespace irpverbs::irp
