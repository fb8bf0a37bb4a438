/// Completed IRPs wait here until they are removed.
#pragma once

#include <irp/cancel_safe_queue.hpp>
#include <irp/detail/async_operation.hpp>

#include <dispatch/rundown.h>

#include <cstddef>
#include <optional>
#include <span>

namespace irpverbs::irp {

/// First in, first out; nothing is allocated for an IRP. Distinct threads may call all members but
/// the destructor. IRQL: <= DISPATCH_LEVEL; the destructor: <= APC_LEVEL.
class NT_API completion_queue {
public:
    /// Throws dispatch::status_error(STATUS_INSUFFICIENT_RESOURCES). IRQL: <= APC_LEVEL.
    completion_queue();
    /// Closes; IRPs that wait are freed (IoFreeIrp). Each IRP of collect() was completed, and each
    /// call of a member has had its effect; the destructor waits for the threads that have not
    /// returned from that yet.
    ~completion_queue();
    completion_queue(const completion_queue&) = delete;
    completion_queue& operator=(const completion_queue&) = delete;

    /// Sets the completion routine in the next location, which inserts the IRP here. Ownership:
    /// from IoCallDriver to its removal the queue's; it waits by Tail.Overlay.ListEntry.
    void collect(IRP* irp) noexcept {
        IoSetCompletionRoutine(irp, arrived, this, TRUE, TRUE, TRUE);
    }

    /// The oldest, or null.
    IRP* try_remove();

    /// As many as there are, at most into.size(); gives back how many.
    std::size_t try_remove(std::span<IRP*> into);

    /// The oldest, when there is one. Completes with void(error_code, IRP*): STATUS_CANCELLED after
    /// cancel() or by the slot, STATUS_IO_TIMEOUT with within(), STATUS_FILE_CLOSED after close().
    /// Removals are served in the order of their calls; handlers, memory and cancellation as in
    /// irp::call.
    template <class Token = boost::asio::deferred_t>
    auto async_remove(Token&& token = {}) {
        return detail::initiate(one{this, nullptr}, std::forward<Token>(token));
    }

    /// At least one, at most into.size(): what there is by then. Completes with
    /// void(error_code, std::size_t), else as async_remove; STATUS_INVALID_PARAMETER without room.
    /// `into` must live until then.
    template <class Token = boost::asio::deferred_t>
    auto async_remove(std::span<IRP*> into, Token&& token = {}) {
        return detail::initiate(many{this, into}, std::forward<Token>(token));
    }

    /// Ends the removals that wait, in order.
    void cancel() { removers_.cancel_all(); }

    /// Likewise, and asynchronous removals fail from now on; IRPs still arrive and can be removed.
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

    static NTSTATUS arrived(DEVICE_OBJECT*, IRP* irp, void* context);
    static NTSTATUS remove(DEVICE_OBJECT* device, IRP* remover);
    void send(IRP* remover, std::span<IRP*> into);
    static std::size_t take(LIST_ENTRY& from, std::span<IRP*> into);
    void match();
    std::optional<obligation> serve_one(std::size_t& count);

    dispatch::detail::machine_spin lock_;
    LIST_ENTRY done_{&done_, &done_}; // guarded by lock_
    bool matching_ = false;           // guarded by lock_: a thread is in match()
    cancel_safe_queue removers_;      // its lock is acquired under lock_, too
    EX_RUNDOWN_REF inside_;           // threads that work here, for the destructor
    DRIVER_OBJECT driver_{};
    DEVICE_OBJECT* device_ = nullptr;
};

} // namespace irpverbs::irp
