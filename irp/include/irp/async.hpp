/// Sends an IRP with any completion token of Asio.
#pragma once

#include <irp/device.h>
#include <irp/support/async_operation.hpp>

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

/// Sends a request to a device. `fill(irp)` sets the major function and the parameters in the IRP's
/// next stack location; it leaves the completion routine alone and does not throw. The call
/// completes with void(error_code, ULONG_PTR Information), or with void(error_code, R) when fill
/// has a member `R result(ULONG_PTR Information)`, which is called for every status. The error_code
/// is of dispatch::status_category.
/// Ownership: fill lives as long as the request, so its members can be the request's buffers. The
/// device must outlive the request.
/// The handler is posted, never called from inside this function. It runs at PASSIVE_LEVEL on its
/// associated executor, by default the current machine's context(). Its associated allocator
/// provides all memory before the request is sent; the memory is freed before the handler is
/// called.
/// IRQL: <= DISPATCH_LEVEL. STATUS_INSUFFICIENT_RESOURCES: no IRP could be allocated.
/// Cancellation: every type, by the associated slot, and a deadline by within(). Both only request
/// the cancellation: a result that comes first wins, otherwise the call completes with
/// STATUS_CANCELLED or STATUS_IO_TIMEOUT.
template <class Fill, class Token = boost::asio::deferred_t>
auto call(DEVICE_OBJECT* device, Fill fill, Token&& token = {}) {
    return detail::initiate(detail::device_call<Fill>{device, std::move(fill)},
                            std::forward<Token>(token));
}

} // namespace irpverbs::irp
