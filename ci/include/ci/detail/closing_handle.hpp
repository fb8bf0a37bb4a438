// Objects of the channel interface that close themselves.
#pragma once

#include <ci/detail/verb.hpp>

#include <array>
#include <atomic>
#include <memory>

namespace irpverbs::ci::detail {

class closing_handle;

/// The objects that an object was created with; null: none.
using parent_handles = std::array<std::shared_ptr<closing_handle>, 4>;

/// An object with a verb that closes it. The last holder sends the verb when it releases the
/// object, in any context and at any IRQL up to that of the verb. The IRP for the verb is allocated
/// beforehand: the release neither fails nor waits. The parents stay open until the verb has
/// completed.
class NT_API closing_handle {
public:
    using closing_verb = NTSTATUS (*)(void* object, IRP* irp);

    /// Returns null without memory.
    static std::shared_ptr<closing_handle> reserve(closing_verb close,
                                                   parent_handles parents) noexcept;
    ~closing_handle();
    closing_handle(const closing_handle&) = delete;
    closing_handle& operator=(const closing_handle&) = delete;

    void set_object(void* object) noexcept;
    void* object() const noexcept { return object_; }

    /// True while holders, or calls that create one, have a child of this.
    bool has_children() const noexcept { return children_.load(std::memory_order_acquire) != 0; }

    /// The closing verb will use this IRP of the caller, which keeps the parents open until the IRP
    /// has completed.
    parent_handles close_with(IRP* irp) noexcept;

private:
    struct close_request;
    explicit closing_handle(closing_verb close) noexcept;
    static NTSTATUS close_completed(DEVICE_OBJECT*, IRP*, void* context);

    closing_verb close_;
    DEVICE_OBJECT* fdo_ = nullptr; // the object's device
    void* object_ = nullptr;
    IRP* close_irp_ = nullptr;
    std::unique_ptr<close_request> close_request_;
    std::atomic<int> children_{0};
};

/// Gives the library access to the handles that own such objects.
struct access {
    template <class Handle>
    static std::shared_ptr<closing_handle> held(const Handle& handle) noexcept {
        return handle.open_;
    }
    template <class Handle>
    static Handle handle(std::shared_ptr<closing_handle> open) noexcept {
        return Handle(std::move(open));
    }
    template <class Handle>
    static constexpr closing_handle::closing_verb closing_verb_of = Handle::close;
};

/// A call that creates an object: `send(irp)` calls the verb, whose Information is the object.
template <class Handle, class Send>
struct open_call {
    CCHAR locations;
    parent_handles parents;
    Send send;
    std::shared_ptr<closing_handle> made = nullptr;

    CCHAR stack_size() const { return locations; }
    void start(IRP* irp) {
        made = closing_handle::reserve(access::closing_verb_of<Handle>, std::move(parents));
        if (made != nullptr)
            send(irp);
        else
            fail_unsent(irp, STATUS_INSUFFICIENT_RESOURCES);
    }
    Handle result(ULONG_PTR information) && {
        if (information == 0) return Handle();
        made->set_object(reinterpret_cast<void*>(information));
        return access::handle<Handle>(std::move(made));
    }
};

/// Completes with void(error_code, Handle).
template <class Handle, class Send, class Token>
auto open(CCHAR locations, parent_handles parents, Send send, Token&& token) {
    return irp::detail::initiate(
        open_call<Handle, Send>{locations, std::move(parents), std::move(send)},
        std::forward<Token>(token));
}

/// A call that closes the object of `handle`, as soon as no call on another thread uses it.
struct NT_API close_call {
    std::shared_ptr<closing_handle>* handle;
    parent_handles parents{};

    CCHAR stack_size() const { return 1; }
    void start(IRP* irp);
    void result(ULONG_PTR) && {}
};

} // namespace irpverbs::ci::detail
