/// Sending an IRP with any completion token of Asio.
#pragma once

#include <irp/detail/async_operation.hpp>
#include <irp/device.h>

namespace irpverbs::irp {

namespace detail {

template <class Fill>
struct device_call {
    DEVICE_OBJECT* device;
    Fill fill;

    CCHAR stack_size() const { return device->StackSize; }
    void start(IRP* irp) {
        fill(irp);
        IoCallDriver(device, irp);
    }
    auto result(ULONG_PTR information) && {
        if constexpr (requires { std::move(fill).result(information); })
            return std::move(fill).result(information);
        else
            return information;
    }
};

} // namespace detail

/// Sends a request to a device. `fill(irp)` sets major function and parameters in the IRP's next
/// stack location, and leaves its completion routine alone; it does not throw. Completes with
/// void(error_code, ULONG_PTR Information); or with void(error_code, R) when fill has a member
/// `R result(ULONG_PTR Information)`, called whatever the status. The error_code is that of
/// dispatch::status_category.
/// Ownership: fill lives as long as the request, its members can be the request's buffers. The
/// device must outlive the request.
/// The handler is posted, never called in here, and runs at PASSIVE_LEVEL on its associated
/// executor, by default the current machine's context(). Its associated allocator provides the
/// memory, all of it before the request is sent, and has it back before the handler is called.
/// Cancellation: any type, by the associated slot, and a deadline by within(): a request. Its own
/// result wins when it is there first, else STATUS_CANCELLED or STATUS_IO_TIMEOUT.
/// IRQL: <= DISPATCH_LEVEL. STATUS_INSUFFICIENT_RESOURCES without an IRP.
template <class Fill, class Token = boost::asio::deferred_t>
auto call(DEVICE_OBJECT* device, Fill fill, Token&& token = {}) {
    return detail::initiate(detail::device_call<Fill>{device, std::move(fill)},
                            std::forward<Token>(token));
}

} // namespace irpverbs::irp
