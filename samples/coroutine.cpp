// A coroutine calls a slow driver: with a deadline, with the first of two results, and with an
// external cancellation. Each request is an IRP, which completes exactly once in every case.
#include <dispatch/machine.hpp>
#include <irp/async.hpp>
#include <irp/cancel_safe_queue.hpp>
#include <irp/wdm.h>
#include <irp/within.hpp>

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include <chrono>
#include <cstdio>

namespace {

namespace asio = boost::asio;
namespace irp = irpverbs::irp;
using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;

/// Completes a number at once, and pends a request for 0 until it is cancelled.
class slow_driver {
public:
    slow_driver() {
        driver_.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = dispatch;
        IoCreateDevice(&driver_, sizeof(slow_driver*), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE,
                       &device);
        *static_cast<slow_driver**>(device->DeviceExtension) = this;
    }
    ~slow_driver() { IoDeleteDevice(device); }

    DEVICE_OBJECT* device = nullptr;

private:
    static NTSTATUS dispatch(DEVICE_OBJECT* device, IRP* packet) {
        irp::pending_irp request(packet);
        const ULONG number = request.stack().Parameters.DeviceIoControl.IoControlCode;
        if (number == 0)
            return (*static_cast<slow_driver**>(device->DeviceExtension))
                ->pended_.pend(std::move(request));
        return std::move(request).complete(STATUS_SUCCESS, ULONG_PTR{2} * number);
    }

    DRIVER_OBJECT driver_{};
    irp::cancel_safe_queue pended_;
};

auto query(ULONG number) {
    return [number](IRP* packet) {
        IO_STACK_LOCATION* next = IoGetNextIrpStackLocation(packet);
        next->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
        next->Parameters.DeviceIoControl.IoControlCode = number;
    };
}

asio::awaitable<int> run_queries(DEVICE_OBJECT* device) {
    constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
    int good = 0;

    const ULONG_PTR result = co_await irp::call(device, query(21), asio::use_awaitable);
    std::printf("twice 21 is %zu\n", static_cast<std::size_t>(result));
    good += result == 42;

    const auto [late, nothing] = co_await irp::call(device, query(0), irp::within(20ms, as_result));
    std::printf("with a deadline: %s\n", late.message().c_str());
    good += late == irpverbs::dispatch::make_error_code(STATUS_IO_TIMEOUT) && nothing == 0;

    // The operator cancels the slower request, and its IRP is complete before the coroutine
    // resumes.
    const auto first = co_await (irp::call(device, query(0), asio::use_awaitable) ||
                                 irp::call(device, query(4), asio::use_awaitable));
    std::printf("the first of two: number %zu\n", first.index() + 1);
    good += first.index() == 1;
    co_return good;
}

asio::awaitable<bool> is_cancelled(DEVICE_OBJECT* device) {
    constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
    const auto [error, nothing] = co_await irp::call(device, query(0), as_result);
    std::printf("cancelled from outside: %s\n", error.message().c_str());
    co_return error == irpverbs::dispatch::make_error_code(STATUS_CANCELLED);
}

} // namespace

int main() {
    irpverbs::dispatch::asio_machine machine;
    const irpverbs::dispatch::machine::scope inside(machine);
    slow_driver driver;

    const int good =
        asio::co_spawn(machine.context(), run_queries(driver.device), asio::use_future).get();

    asio::cancellation_signal stop;
    auto cancelled = asio::co_spawn(machine.context(), is_cancelled(driver.device),
                                    asio::bind_cancellation_slot(stop.slot(), asio::use_future));
    // The emission runs on the coroutine's thread, after its start.
    asio::post(machine.context(), [&] { stop.emit(asio::cancellation_type::all); });
    return cancelled.get() && good == 3 ? 0 : 1;
}
