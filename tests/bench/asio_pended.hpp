// A pended operation as Asio's documentation prescribes it: allocated with the handler's allocator,
// holding outstanding work, cancellable through the handler's slot, and with its handler posted. It
// is the equivalent of a pended IRP in a user's Asio program.
#pragma once

#include <boost/asio.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/recycling_allocator.hpp>
#include <boost/intrusive/list.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace irpverbs::bench {

namespace asio = boost::asio;
using boost::system::error_code;

class pended_operation : public boost::intrusive::list_base_hook<
                             boost::intrusive::link_mode<boost::intrusive::normal_link>> {
public:
    // Both free the operation's memory; complete() also posts the handler.
    void complete(error_code error, std::size_t bytes) { finish_(this, true, error, bytes); }
    void abandon() { finish_(this, false, {}, 0); }

protected:
    using finish_function = void (*)(pended_operation*, bool post, error_code, std::size_t);
    explicit pended_operation(finish_function finish) : finish_(finish) {}
    ~pended_operation() = default;

private:
    finish_function finish_;
};

class pended_list {
public:
    pended_list() = default;
    pended_list(const pended_list&) = delete;
    pended_list& operator=(const pended_list&) = delete;
    ~pended_list() {
        while (pended_operation* each = pop())
            each->abandon();
    }
    void push(pended_operation& operation) { list_.push_back(operation); }
    void remove(pended_operation& operation) { list_.erase(list_.iterator_to(operation)); }
    pended_operation* pop() {
        if (list_.empty()) return nullptr;
        pended_operation& first = list_.front();
        list_.pop_front();
        return &first;
    }

private:
    boost::intrusive::list<pended_operation, boost::intrusive::constant_time_size<false>> list_;
};

template <class Handler, class Executor>
class pended_with_handler final : public pended_operation {
public:
    static pended_with_handler* create(Handler&& handler, const Executor& executor) {
        auto memory = allocator_of(handler);
        return ::new (traits::allocate(memory, 1))
            pended_with_handler(std::move(handler), executor);
    }
    const Handler& handler() const { return handler_; }

private:
    using fallback = asio::recycling_allocator<void>;
    using traits = typename std::allocator_traits<asio::associated_allocator_t<Handler, fallback>>::
        template rebind_traits<pended_with_handler>;
    using allocator = typename traits::allocator_type;
    using work =
        decltype(asio::make_work_guard(std::declval<Handler&>(), std::declval<Executor>()));

    pended_with_handler(Handler&& handler, const Executor& executor)
        : pended_operation(&finish), handler_(std::move(handler)),
          work_(asio::make_work_guard(handler_, executor)) {}

    static allocator allocator_of(const Handler& handler) {
        return allocator(asio::get_associated_allocator(handler, fallback()));
    }
    static void finish(pended_operation* base, bool post, error_code error, std::size_t bytes) {
        auto* self = static_cast<pended_with_handler*>(base);
        auto memory = allocator_of(self->handler_);
        Handler handler(std::move(self->handler_));
        work still_working(std::move(self->work_));
        self->~pended_with_handler();
        traits::deallocate(memory, self, 1);
        if (post)
            asio::post(still_working.get_executor(),
                       asio::append(std::move(handler), error, bytes));
    }

    Handler handler_;
    work work_;
};

template <class Token>
auto async_pend(asio::io_context& context, pended_list& list, Token&& token) {
    return asio::async_initiate<Token, void(error_code, std::size_t)>(
        [&context, &list](auto handler) {
            using operation =
                pended_with_handler<decltype(handler), asio::io_context::executor_type>;
            operation* pended = operation::create(std::move(handler), context.get_executor());
            auto slot = asio::get_associated_cancellation_slot(pended->handler());
            if (slot.is_connected())
                slot.assign([pended, &list](asio::cancellation_type) {
                    list.remove(*pended);
                    pended->complete(asio::error::operation_aborted, 0);
                });
            list.push(*pended);
        },
        token);
}

} // namespace irpverbs::bench
