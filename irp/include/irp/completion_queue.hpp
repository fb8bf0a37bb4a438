/// A queue of completed IRPs.
#pragma once

#include <irp/cancel_safe_queue.hpp>
#include <irp/support/async_operation.hpp>

#include <dispatch/rundown.h>

#include <cstddef>
#include <optional>
#include <span>

namespace irpverbs::irp {

/// First in, first out; an inserted IRP needs no allocation. Distinct threads may call all members
/// but the destructor. IRQL: <= DISPATCH_LEVEL; the destructor: <= APC_LEVEL.
class NT_API completion_queue {
public:
    /// Throws dispatch::status_error(STATUS_INSUFFICIENT_RESOURCES). IRQL: <= APC_LEVEL.
    completion_queue();
    /// Closes the queue and frees its IRPs (IoFreeIrp). Every IRP of collect() must be completed,
    /// and every call of a member must have had its effect; the destructor waits for the threads
    /// that have not yet returned from such a call.
    ~completion_queue();
    completion_queue(const completion_queue&) = delete;
    completion_queue& operator=(const completion_queue&) = delete;

    /// Sets the completion routine in the next location, which inserts the IRP here. Ownership: the
    /// queue's from IoCallDriver until the IRP is removed; it is linked by Tail.Overlay.ListEntry.
    void collect(IRP* irp) noexcept {
        IoSetCompletionRoutine(irp, insert_completed, this, TRUE, TRUE, TRUE);
    }

    /// Removes the oldest IRP; null when the queue is empty.
    IRP* try_remove();

    /// Removes up to into.size() IRPs; returns their number.
    std::size_t try_remove(std::span<IRP*> into);

    /// Removes the oldest IRP, and waits for one if the queue is empty. Completes with
    /// void(error_code, IRP*): STATUS_CANCELLED after cancel() or by the slot, STATUS_IO_TIMEOUT
    /// with within(), STATUS_FILE_CLOSED after close(). Removals are served in the order of their
    /// calls; handlers, memory and cancellation as in irp::call.
    template <class Token = boost::asio::deferred_t>
    auto async_remove(Token&& token = {}) {
        return detail::initiate(one{this, nullptr}, std::forward<Token>(token));
    }

    /// Removes at least one and at most into.size() IRPs, as many as are queued when the first is
    /// there. Completes with void(error_code, std::size_t) and the statuses of async_remove()
    /// above; STATUS_INVALID_PARAMETER: `into` is empty. `into` must live until then.
    template <class Token = boost::asio::deferred_t>
    auto async_remove(std::span<IRP*> into, Token&& token = {}) {
        return detail::initiate(many{this, into}, std::forward<Token>(token));
    }

    /// Cancels the waiting removals, in order.
    void cancel() { removers_.cancel_all(); }

    /// Fails the waiting removals and all later asynchronous ones with STATUS_FILE_CLOSED; IRPs are
    /// still inserted and can be removed with try_remove().
    void close() { removers_.close(STATUS_FILE_CLOSED); }

private:
    struct one {
        completion_queue* queue;
        IRP* removed;
        CCHAR stack_size() const { return 1; }
        void start(IRP* irp) { queue->send(irp, {&removed, 1}); }
        IRP* result(ULONG_PTR count) && { return count != 0 ? removed : nullptr; }
    };
    struct many {
        completion_queue* queue;
        std::span<IRP*> into;
        CCHAR stack_size() const { return 1; }
        void start(IRP* irp) { queue->send(irp, into); }
        std::size_t result(ULONG_PTR count) && { return count; }
    };

    static NTSTATUS insert_completed(DEVICE_OBJECT*, IRP* irp, void* context);
    static NTSTATUS remove(DEVICE_OBJECT* device, IRP* remover);
    void send(IRP* remover, std::span<IRP*> into);
    static std::size_t remove_entries(LIST_ENTRY& from, std::span<IRP*> into);
    void serve_removals();
    std::optional<pending_irp> next_removal(std::size_t& count);

    dispatch::detail::machine_spin_lock lock_;
    LIST_ENTRY done_{&done_, &done_}; // guarded by lock_
    bool serving_ = false;            // guarded by lock_: a thread is in serve_removals()
    cancel_safe_queue removers_;      // its lock is acquired under lock_, too
    EX_RUNDOWN_REF rundown_;          // threads inside a member; the destructor waits for them
    DRIVER_OBJECT driver_{};
    DEVICE_OBJECT* device_ = nullptr;
};

} // namespace irpverbs::irp
