// A coroutine that awaits a pended request: with the library's awaiter, with a bare awaiter on the
// C interface, and with the least awaiter that keeps the promises of the library's.
#include "measurements.hpp"
#include "ours_pend.hpp"

#include <irp/send.hpp>

#include <version>
#if defined(__cpp_impl_coroutine)
#include <dispatch/support/locals.hpp>

#include <coroutine>
#include <exception>
#endif

namespace irpverbs::bench {
#if defined(__cpp_impl_coroutine)
namespace {

struct routine {
    struct promise_type {
        routine get_return_object() {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

BENCH_OPAQUE NTSTATUS resume(PDEVICE_OBJECT, PIRP, PVOID context) {
    std::coroutine_handle<>::from_address(context).resume();
    return STATUS_MORE_PROCESSING_REQUIRED;
}

// Resumes inside the completion routine; the device always pends.
struct sent {
    packet& request;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) { request.send(resume, handle.address()); }
    ULONG_PTR await_resume() const { return request.irp()->IoStatus.Information; }
};

// The limit of irp::send: it also resumes at PASSIVE_LEVEL and never inside the call that sends,
// but it is inline, knows that its device always pends, and leaves out the cases that do not occur
// here: another call on the processor, another level, an exception.
class sent_least {
public:
    explicit sent_least(packet& request) : request_(request) {}

    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> handle) {
        waiting_ = handle;
        call*& innermost = innermost_call.of(dispatch::detail::this_processor());
        call here{this, innermost};
        innermost = &here;
        inside_ = &here;
        request_.send(completed, this);
        innermost = here.outer;
        return here.sends != nullptr;
    }
    ULONG_PTR await_resume() const { return request_.irp()->IoStatus.Information; }

private:
    struct call {
        const sent_least* sends;
        call* outer;
    };
    static const dispatch::detail::processor_local<call*> innermost_call;

    BENCH_OPAQUE static NTSTATUS completed(PDEVICE_OBJECT, PIRP, PVOID context) {
        const auto* self = static_cast<sent_least*>(context);
        const auto& here = dispatch::detail::this_processor();
        const bool outside = innermost_call.of(here) == nullptr && here.irql == PASSIVE_LEVEL;
        expect(outside, "ours/coroutine_least");
        self->waiting_.resume();
        return STATUS_MORE_PROCESSING_REQUIRED;
    }

    packet& request_;
    std::coroutine_handle<> waiting_;
    const call* inside_;
};

IRPVERBS_REGISTERED_EARLY const dispatch::detail::processor_local<sent_least::call*>
    sent_least::innermost_call;

using send_loop = routine (*)(PDEVICE_OBJECT, packet&, std::uint64_t count, std::uint64_t& sum);

template <class Awaiter>
BENCH_OPAQUE routine send_many_by(PDEVICE_OBJECT, packet& request, std::uint64_t count,
                                  std::uint64_t& sum) {
    for (std::uint64_t i = 0; i < count; ++i)
        sum += co_await Awaiter{request};
}

BENCH_OPAQUE routine send_many(PDEVICE_OBJECT device, packet& request, std::uint64_t count,
                               std::uint64_t& sum) {
    for (std::uint64_t i = 0; i < count; ++i) {
        IoReuseIrp(request.irp(), STATUS_SUCCESS);
        PIO_STACK_LOCATION next = IoGetNextIrpStackLocation(request.irp());
        next->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
        next->Parameters.DeviceIoControl.IoControlCode = 7;
        sum += (co_await irp::send(device, request.irp())).information;
    }
}

template <send_loop Loop>
void await_pended(run& sample) {
    pended_irp place;
    const device_stack stack(pend, 0, &place);
    packet request(stack.top());
    std::uint64_t sum = 0;
    const routine sender =
        Loop(stack.top(), request, sample.operations(), sum); // allocates a frame
    sample.start();
    while (place.release()) {
    }
    sample.stop();
    expect(sum == sample.operations() * result_information, "ours/coroutine");
    sender.handle.destroy();
}

} // namespace

void add_ours_coroutine(catalog& all) {
    all.add("ours/coroutine", "co_await of a pended request with irp::send",
            await_pended<send_many>);
    all.add("ours/coroutine_bare", "co_await of a pended request, resumed by its callback",
            await_pended<send_many_by<sent>>);
    all.add("ours/coroutine_least", "the same, at PASSIVE_LEVEL and never inside the call",
            await_pended<send_many_by<sent_least>>);
}
#else
void add_ours_coroutine(catalog&) {}
#endif
} // namespace irpverbs::bench
