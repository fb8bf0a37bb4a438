// One asynchronous call, without the types of its caller: the IRP, its completion, its deadline.
#pragma once

#include <irp/detail/inline_memory.hpp>
#include <irp/irp.h>
#include <irp/within.hpp>

#include <atomic>
#include <utility>

namespace boost::asio {
class io_context;
}

namespace irpverbs::irp::detail {

class deadline;

/// The constructor reserves all that completion needs. The IRP's completion, on any thread at IRQL
/// <= DISPATCH_LEVEL, posts `on_completed` to the machine's context; if the context is destroyed
/// first, `on_abandoned` is called instead.
class NT_API operation {
public:
    using step = void (*)(operation* self);

    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;

    boost::asio::io_context& context() const noexcept { return context_; }

    /// Requests cancellation. Only until `on_completed` has been called.
    void cancel() { cancel(cause::caller); }

protected:
    operation(step on_completed, step on_abandoned);
    ~operation();

    /// Allocates an IRP whose completion ends this operation. Null without memory; `on_completed`
    /// is then posted.
    IRP* allocate_irp(CCHAR stack_size);
    /// Sets the deadline; precedes the sending of the IRP.
    void set_deadline(deadline& by, ticks limit);

    /// The result of the call.
    NTSTATUS status() const noexcept;
    ULONG_PTR information() const noexcept;

    inline_memory memory_;

private:
    friend class deadline;
    enum class cause : unsigned char { none, caller, deadline };

    // The posted function; destroyed without being called when the context ends.
    class posted_completion {
    public:
        using allocator_type = reserved_allocator<void>;

        explicit posted_completion(operation& self) noexcept : self_(&self) {}
        posted_completion(posted_completion&& other) noexcept
            : self_(std::exchange(other.self_, nullptr)) {}
        posted_completion& operator=(posted_completion&&) = delete;
        ~posted_completion() {
            if (self_ != nullptr) self_->on_abandoned_(self_);
        }
        allocator_type get_allocator() const noexcept { return allocator_type(self_->memory_); }
        void operator()() {
            operation* self = std::exchange(self_, nullptr);
            self->on_completed_(self);
        }

    private:
        operation* self_;
    };

    static NTSTATUS completed(struct _DEVICE_OBJECT*, IRP*, void* context);
    void cancel(cause why);
    void dereference();
    void post();

    boost::asio::io_context& context_;
    step on_completed_;
    step on_abandoned_;
    IRP* irp_ = nullptr;
    deadline* armed_deadline_ = nullptr;
    std::atomic<int> references_{1}; // the sent IRP, and the deadline's DPC
    std::atomic<cause> cancelled_by_{cause::none};
};

/// A timer that cancels the operation.
class NT_API deadline {
public:
    deadline() = default;
    deadline(const deadline&) = delete;
    deadline& operator=(const deadline&) = delete;

private:
    friend class operation;
    void set(operation& owner, ticks limit);
    bool try_cancel();
    static void expired(KDPC*, void* context, void*, void*);

    KTIMER timer_;
    KDPC dpc_;
};

/// Replaces the deadline of a call without one.
struct unlimited {};

} // namespace irpverbs::irp::detail
