// One asynchronous call, without the types of its caller: the IRP, its completion, its deadline.
#pragma once

#include <irp/detail/reserve.hpp>
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
/// <= DISPATCH_LEVEL, posts `arrived` to the machine's context; if the context is destroyed first,
/// `abandoned` is called instead.
class NT_API operation {
public:
    using step = void (*)(operation* self);

    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;

    boost::asio::io_context& context() const noexcept { return context_; }

    /// Requests cancellation. Only until `arrived` has been called.
    void cancel() { cancel(cause::caller); }

protected:
    operation(step arrived, step abandoned);
    ~operation();

    /// Allocates an IRP whose completion ends this operation. Null without memory; `arrived` is
    /// then posted.
    IRP* make_packet(CCHAR stack_size);
    /// Sets the deadline; precedes the sending of the IRP.
    void limit(deadline& by, ticks limit);

    /// The result of the call.
    NTSTATUS status() const noexcept;
    ULONG_PTR information() const noexcept;

    reserve memory_;

private:
    friend class deadline;
    enum class cause : unsigned char { none, caller, deadline };

    // The posted function; destroyed without being called when the context ends.
    class arrival {
    public:
        using allocator_type = reserved_allocator<void>;

        explicit arrival(operation& self) noexcept : self_(&self) {}
        arrival(arrival&& other) noexcept : self_(std::exchange(other.self_, nullptr)) {}
        arrival& operator=(arrival&&) = delete;
        ~arrival() {
            if (self_ != nullptr) self_->abandoned_(self_);
        }
        allocator_type get_allocator() const noexcept { return allocator_type(self_->memory_); }
        void operator()() {
            operation* self = std::exchange(self_, nullptr);
            self->arrived_(self);
        }

    private:
        operation* self_;
    };

    static NTSTATUS completed(struct _DEVICE_OBJECT*, IRP*, void* context);
    void cancel(cause why);
    void leave();
    void post();

    boost::asio::io_context& context_;
    step arrived_;
    step abandoned_;
    IRP* irp_ = nullptr;
    deadline* due_ = nullptr;
    std::atomic<int> holders_{1}; // the sent IRP, and the deadline's DPC
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
    void set(operation& whose, ticks limit);
    bool withdrawn();
    static void expired(KDPC*, void* context, void*, void*);

    KTIMER timer_;
    KDPC dpc_;
};

/// Replaces the deadline of a call without one.
struct unlimited {};

} // namespace irpverbs::irp::detail
