// An asynchronous call with its caller's handler; the base of every C++ async wrapper of a verb.
#pragma once

#include <dispatch/status.hpp>
#include <irp/detail/operation.hpp>

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/recycling_allocator.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>

namespace irpverbs::irp::detail {

namespace asio = boost::asio;

/// The parameters of a call, which live until the IRP is completed: its members may be the
/// request's buffers. `start(irp)` sends the IRP, whose completion routine is set, and does not
/// throw. `result(Information)` is called once, for every status; if no handler is left to receive
/// its result, the result is discarded.
template <class T>
concept request = std::move_constructible<T> && requires(T call, IRP* irp, ULONG_PTR information) {
    { call.stack_size() } -> std::convertible_to<CCHAR>;
    call.start(irp);
    std::move(call).result(information);
};

template <request Call>
using result_of = decltype(std::declval<Call>().result(ULONG_PTR{}));

template <class Result>
struct signature {
    using type = void(boost::system::error_code, Result);
};
template <>
struct signature<void> {
    using type = void(boost::system::error_code);
};

template <request Call, class Handler>
class async_operation final : operation {
    using executor = asio::associated_executor_t<Handler, asio::io_context::executor_type>;
    using default_allocator = asio::recycling_allocator<void>;
    using traits =
        typename std::allocator_traits<asio::associated_allocator_t<Handler, default_allocator>>::
            template rebind_traits<async_operation>;
    using allocator = typename traits::allocator_type;
    using limit_type = typename associated_deadline<Handler>::type;
    static constexpr bool timed = std::is_same_v<limit_type, ticks>;

public:
    static void start(Handler handler, Call call) {
        async_operation* self = make(std::move(handler), std::move(call));
        IRP* irp = self->allocate_irp(self->call_.stack_size());
        if (irp == nullptr) return;
        auto slot = asio::get_associated_cancellation_slot(self->handler_);
        if (slot.is_connected())
            slot.assign([self](asio::cancellation_type type) {
                if (type != asio::cancellation_type::none) self->cancel();
            });
        if constexpr (timed)
            self->set_deadline(self->deadline_, associated_deadline<Handler>::get(self->handler_));
        self->call_.start(irp); // may complete inside and destroy the operation
    }

private:
    async_operation(Handler&& handler, Call&& call)
        : operation(on_completed, on_abandoned), call_(std::move(call)),
          handler_(std::move(handler)),
          work_(asio::get_associated_executor(handler_, context().get_executor())) {}
    ~async_operation() = default;

    static allocator allocator_of(const Handler& handler) {
        return allocator(asio::get_associated_allocator(handler, default_allocator()));
    }

    static async_operation* make(Handler&& handler, Call&& call) {
        auto memory = allocator_of(handler);
        async_operation* place = traits::allocate(memory, 1);
        try {
            return ::new (place) async_operation(std::move(handler), std::move(call));
        } catch (...) {
            traits::deallocate(memory, place, 1);
            throw;
        }
    }

    static void destroy(async_operation* self) {
        auto memory = allocator_of(self->handler_);
        destroy(self, memory);
    }
    static void destroy(async_operation* self, allocator& memory) {
        self->~async_operation();
        traits::deallocate(memory, self, 1);
    }

    static void discard(async_operation* self) {
        std::move(self->call_).result(self->information());
        destroy(self);
    }
    static void on_abandoned(operation* base) { discard(static_cast<async_operation*>(base)); }

    // Runs on the machine's context; dispatches to the handler's executor, if that is another one.
    static void on_completed(operation* base) {
        auto* self = static_cast<async_operation*>(base);
        const executor where = self->work_.get_executor();
        asio::dispatch(where, asio::bind_allocator(reserved_allocator<void>(self->memory_),
                                                   completion_handler(self)));
    }

    // The function that Asio calls; destroyed without a call, it frees the operation.
    class completion_handler {
    public:
        explicit completion_handler(async_operation* self) noexcept : self_(self) {}
        completion_handler(completion_handler&& other) noexcept
            : self_(std::exchange(other.self_, nullptr)) {}
        completion_handler& operator=(completion_handler&&) = delete;
        ~completion_handler() {
            if (self_ != nullptr) discard(self_);
        }
        void operator()() { std::exchange(self_, nullptr)->finish(); }

    private:
        async_operation* self_;
    };

    // The slot is cleared on the handler's executor, where no cancellation runs at the same time,
    // so none can reach a freed IRP. The memory is freed before the handler runs.
    void finish() {
        auto slot = asio::get_associated_cancellation_slot(handler_);
        if (slot.is_connected()) slot.clear();
        const boost::system::error_code error = dispatch::make_error_code(status());
        if constexpr (std::is_void_v<result_of<Call>>) {
            std::move(call_).result(information());
            std::move(*this).detach_handler()(error);
        } else {
            auto result = std::move(call_).result(information());
            std::move(*this).detach_handler()(error, std::move(result));
        }
    }

    struct detached_handler {
        Handler handler;
        asio::executor_work_guard<executor> work;
        template <class... Args>
        void operator()(Args&&... args) && {
            std::move(handler)(std::forward<Args>(args)...);
        }
    };
    detached_handler detach_handler() && {
        detached_handler rest{std::move(handler_), std::move(work_)};
        auto memory = allocator_of(rest.handler);
        destroy(this, memory);
        return rest;
    }

    Call call_;
    Handler handler_;
    asio::executor_work_guard<executor> work_;
    [[no_unique_address]] std::conditional_t<timed, deadline, unlimited> deadline_;
};

struct start_operation {
    template <class Handler, request Call>
    void operator()(Handler&& handler, Call call) const {
        async_operation<Call, std::decay_t<Handler>>::start(std::forward<Handler>(handler),
                                                            std::move(call));
    }
};

/// Sends the request of `call`; completes with void(error_code, result), or void(error_code).
template <request Call, class Token>
auto initiate(Call call, Token&& token) {
    using completes_with = typename signature<result_of<Call>>::type;
    return asio::async_initiate<Token, completes_with>(start_operation(), token, std::move(call));
}

} // namespace irpverbs::irp::detail
