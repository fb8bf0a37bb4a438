// The base of the objects of the channel interface that close themselves.
#pragma once

#include <ci/detail/closing_handle.hpp>

namespace irpverbs::ci::detail {

/// `Close(object, irp)` calls the verb that ends the object.
template <class Object, NTSTATUS (*Close)(Object*, IRP*)>
class object_handle {
public:
    /// Without object; converts to null.
    object_handle() noexcept = default;

    operator Object*() const noexcept {
        return open_ != nullptr ? static_cast<Object*>(open_->object()) : nullptr;
    }

    /// Ends the object: void(error_code). The handle is empty from the beginning of the call. An
    /// end that has begun is not cancelled. STATUS_DEVICE_BUSY: handles of objects that use it
    /// exist; the handle is not empty. STATUS_INVALID_PARAMETER: the handle is empty.
    template <class Token = boost::asio::deferred_t>
    auto async_close(Token&& token = {}) {
        return irp::detail::initiate(close_call{&open_}, std::forward<Token>(token));
    }

protected:
    explicit object_handle(std::shared_ptr<closing_handle> open) noexcept
        : open_(std::move(open)) {}

    const std::shared_ptr<closing_handle>& held() const noexcept { return open_; }

private:
    friend struct access;
    static NTSTATUS close(void* object, IRP* irp) {
        return Close(static_cast<Object*>(object), irp);
    }

    std::shared_ptr<closing_handle> open_;
};

} // namespace irpverbs::ci::detail
