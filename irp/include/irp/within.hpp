/// within(5s, token): a deadline for any asynchronous call of this library, in machine time.
#pragma once

#include <dispatch/ntdef.h>

#include <boost/asio/associator.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <type_traits>
#include <utility>

namespace irpverbs::irp {

/// Machine time: units of 100 ns.
using ticks = std::chrono::duration<LONGLONG, std::ratio<1, 10'000'000>>;

struct no_deadline {};

namespace detail {

template <class Handler>
struct timed_handler {
    Handler handler;
    ticks limit;

    template <class... Args>
    void operator()(Args&&... args) {
        std::move(handler)(std::forward<Args>(args)...);
    }
};

} // namespace detail

/// The time limit of a handler's operation: `ticks`, or no_deadline. Token adapters propagate it
/// like Asio's own associated properties.
template <class Handler, class Default = no_deadline>
struct associated_deadline {
    using type = Default;
    static type get(const Handler&, const Default& otherwise = {}) noexcept { return otherwise; }
};

template <class Handler, class Default>
requires requires { typename boost::asio::associator<associated_deadline, Handler, Default>::type; }
struct associated_deadline<Handler, Default>
    : boost::asio::associator<associated_deadline, Handler, Default> {};

template <class Handler, class Default>
struct associated_deadline<detail::timed_handler<Handler>, Default> {
    using type = ticks;
    static type get(const detail::timed_handler<Handler>& timed, const Default& = {}) noexcept {
        return timed.limit;
    }
};

namespace detail {

/// The limit in ticks, rounded up, and clamped to the range of machine time.
template <class Rep, class Period>
constexpr ticks ticks_of(std::chrono::duration<Rep, Period> limit) {
    using wide = std::chrono::duration<long double, ticks::period>;
    if (wide(limit) >= wide(ticks::max())) return ticks::max();
    if (wide(limit) <= wide(ticks::min())) return ticks::min();
    return std::chrono::ceil<ticks>(limit);
}

} // namespace detail

/// `token` with a deadline.
template <class Token>
struct within_t {
    ticks limit;
    Token token;
};

/// Cancels the request `limit` after the call; it then completes with STATUS_IO_TIMEOUT unless its
/// result comes first. A limit beyond 29,000 years is clamped to that.
template <class Rep, class Period, class Token = boost::asio::deferred_t>
constexpr within_t<std::decay_t<Token>> within(std::chrono::duration<Rep, Period> limit,
                                               Token&& token = {}) {
    return {detail::ticks_of(limit), std::forward<Token>(token)};
}

} // namespace irpverbs::irp

namespace boost::asio {

template <class Token, class... Signatures>
class async_result<irpverbs::irp::within_t<Token>, Signatures...> {
    template <class Initiation>
    struct timed_initiation {
        Initiation initiation;
        irpverbs::irp::ticks limit;

        template <class Handler, class... Args>
        void operator()(Handler&& handler, Args&&... args) {
            using timed = irpverbs::irp::detail::timed_handler<std::decay_t<Handler>>;
            std::move(initiation)(timed{std::forward<Handler>(handler), limit},
                                  std::forward<Args>(args)...);
        }
    };

public:
    template <class Initiation, class RawToken, class... Args>
    static auto initiate(Initiation&& initiation, RawToken&& token, Args&&... args) {
        using timed = timed_initiation<std::decay_t<Initiation>>;
        using inner = std::conditional_t<std::is_const_v<std::remove_reference_t<RawToken>>,
                                         const Token, Token>;
        return async_initiate<inner, Signatures...>(
            timed{std::forward<Initiation>(initiation), token.limit}, token.token,
            std::forward<Args>(args)...);
    }
};

template <template <class, class> class Associator, class Handler, class Default>
struct associator<Associator, irpverbs::irp::detail::timed_handler<Handler>, Default>
    : Associator<Handler, Default> {
    using timed = irpverbs::irp::detail::timed_handler<Handler>;

    static typename Associator<Handler, Default>::type get(const timed& each) noexcept {
        return Associator<Handler, Default>::get(each.handler);
    }
    static auto get(const timed& each, const Default& otherwise) noexcept
        -> decltype(Associator<Handler, Default>::get(each.handler, otherwise)) {
        return Associator<Handler, Default>::get(each.handler, otherwise);
    }
};

} // namespace boost::asio
