// A coroutine that awaits a pended request: with the library's awaiter, and with a bare awaiter on
// the C interface.
#include "measurements.hpp"
#include "ours_pend.hpp"

#include <irp/send.hpp>

#include <version>
#if defined(__cpp_impl_coroutine)
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

using send_loop = routine (*)(PDEVICE_OBJECT, packet&, std::uint64_t count, std::uint64_t& sum);

BENCH_OPAQUE routine send_many_bare(PDEVICE_OBJECT, packet& request, std::uint64_t count,
                                    std::uint64_t& sum) {
    for (std::uint64_t i = 0; i < count; ++i)
        sum += co_await sent{request};
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
            await_pended<send_many_bare>);
}
#else
void add_ours_coroutine(catalog&) {}
#endif
} // namespace irpverbs::bench
