#include "exchange.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace irpverbs::umad {

namespace {

// Times and sizes of the kernel's RMPP.
constexpr int longest_wait_for_ack_ms = 2'000;
constexpr std::int64_t longest_reception_ms = 40'000;
constexpr std::int64_t kept_after_completion_ms = 10'000;
constexpr std::uint32_t receive_window = 64;

// "Wait forever" of libibumad is a negative number of milliseconds.
bool is_forever(std::uint32_t timeout_ms) { return static_cast<std::int32_t>(timeout_ms) < 0; }

} // namespace

exchange::~exchange() {
    for (const auto& [key, each] : requests_)
        port_.timers().cancel(each.timer);
    for (const auto& [key, each] : sendings_)
        port_.timers().cancel(each.timer);
    for (const auto& [key, each] : receivings_)
        port_.timers().cancel(each.timer);
}

deadlines::ticket exchange::in_ms(std::int64_t delay, std::function<void()> what) {
    return port_.timers().set(port_.now_ms() + delay, std::move(what));
}

int exchange::send(const send_options& how, std::span<const std::uint8_t> content) {
    const std::uint8_t* const m = content.data();
    const bool waits = !is_response(m);
    if (waits && (requests_.contains({class_of(m), low_tid(m)}) ||
                  sendings_.contains(key_of_transfer(how.peer, m))))
        return EINVAL;
    if (segments_ && rmpp::is_active(m)) return send_segments(how, content);
    if (content.size() > mad_size) return EINVAL;
    mad datagram{};
    std::ranges::copy(content, datagram.begin());
    if (waits && how.timeout_ms != 0) await_response(how, datagram, how.retries);
    port_.emit(how.peer, datagram, how.timeout_ms);
    return 0;
}

void exchange::withdraw(const send_options& how, const std::uint8_t* m) {
    if (!is_response(m)) forget({class_of(m), low_tid(m)});
    const auto found = sendings_.find(key_of_transfer(how.peer, m));
    if (found == sendings_.end()) return;
    port_.timers().cancel(found->second.timer);
    sendings_.erase(found);
}

exchange::out_key exchange::key_of_transfer(const ib_mad_addr_t& to, const std::uint8_t* m) {
    return {to.lid, class_of(m), is_response(m) ? get64(m + 8) : low_tid(m)};
}

void exchange::await_response(const send_options& how, std::span<const std::uint8_t> content,
                              std::uint32_t retries) {
    const request_key key{class_of(content.data()), low_tid(content.data())};
    request waiting{how, {}, retries, {}};
    std::copy_n(content.begin(), std::min(content.size(), mad_size), waiting.content.begin());
    forget(key);
    requests_.emplace(key, waiting);
    set_timer(key);
}

void exchange::set_timer(const request_key& key) {
    request& each = requests_.at(key);
    if (!is_forever(each.how.timeout_ms))
        each.timer = in_ms(each.how.timeout_ms, [this, key] { request_expired(key); });
}

void exchange::request_expired(const request_key& key) {
    request& late = requests_.at(key);
    if (late.left == 0) {
        const request ended = late;
        requests_.erase(key);
        port_.deliver(ETIMEDOUT, ended.how.peer, std::span(ended.content).first(mad_header));
        return;
    }
    --late.left;
    set_timer(key);
    port_.emit(late.how.peer, late.content, late.how.timeout_ms);
}

void exchange::forget(const request_key& key) {
    const auto found = requests_.find(key);
    if (found == requests_.end()) return;
    port_.timers().cancel(found->second.timer);
    requests_.erase(found);
}

int exchange::send_segments(const send_options& how, std::span<const std::uint8_t> content) {
    const std::uint8_t* const m = content.data();
    if (content.size() < data_offset(class_of(m))) return EINVAL;
    const out_key key = key_of_transfer(how.peer, m);
    const auto [place, fresh] = sendings_.try_emplace(key);
    if (!fresh) return EINVAL;
    const int timeout =
        is_forever(how.timeout_ms) ? longest_wait_for_ack_ms : static_cast<int>(how.timeout_ms);
    auto transfer = std::make_unique<rmpp_out>(
        content, timeout, longest_wait_for_ack_ms, static_cast<int>(how.retries),
        [this, how](const mad& segment) { port_.emit(how.peer, segment, how.timeout_ms); });
    place->second = {how, std::move(transfer), {}};
    place->second.transfer->start();
    set_timer(key);
    return 0;
}

void exchange::set_timer(const out_key& key) {
    sending& each = sendings_.at(key);
    port_.timers().cancel(each.timer);
    each.timer = in_ms(each.transfer->max_wait_ms(),
                       [this, key] { settle(key, sendings_.at(key).transfer->expired()); });
}

void exchange::settle(const out_key& key, rmpp_out::state state) {
    sending& each = sendings_.at(key);
    if (state == rmpp_out::state::going) return set_timer(key);
    port_.timers().cancel(each.timer);
    if (state == rmpp_out::state::acknowledged && each.transfer->awaits_response())
        await_response(each.how, each.transfer->header(), 0);
    // The program is not notified of a transfer that the peer stopped or aborted.
    if (state == rmpp_out::state::out_of_retries)
        port_.deliver(ETIMEDOUT, each.how.peer, each.transfer->header());
    sendings_.erase(key);
}

void exchange::received(const ib_mad_addr_t& from, const std::uint8_t* m) {
    const bool segment = rmpp::is_active(m);
    if (segments_ && segment)
        return rmpp::type_of(m) == rmpp::data ? segment_arrived(from, m) : control_arrived(from, m);
    if (is_response(m)) {
        const request_key key{class_of(m), low_tid(m)};
        // A program that does RMPP itself gets all segments; other responses are late, or unknown.
        if (!segment && !requests_.contains(key)) return;
        forget(key);
    }
    port_.deliver(0, from, std::span(m, mad_size));
}

void exchange::control_arrived(const ib_mad_addr_t& from, const std::uint8_t* m) {
    // A control segment has the response bit when the transfer is a request.
    const out_key key{from.lid, class_of(m), is_response(m) ? low_tid(m) : get64(m + 8)};
    const auto found = sendings_.find(key);
    if (found != sendings_.end()) settle(key, found->second.transfer->control(m));
}

exchange::receiving& exchange::begin_reception(const in_key& key, const ib_mad_addr_t& from,
                                               const std::uint8_t* m) {
    receiving fresh;
    fresh.transfer = std::make_unique<rmpp_in>(
        receive_window, [this, from](const mad& reply) { port_.emit(from, reply, 0); });
    std::copy_n(m, mad_size, fresh.first.begin());
    fresh.timer = in_ms(longest_reception_ms, [this, key] {
        receiving& late = receivings_.at(key);
        late.transfer->abort(late.first.data(), rmpp::too_long);
        receivings_.erase(key);
    });
    return receivings_.emplace(key, std::move(fresh)).first->second;
}

void exchange::end_reception(const in_key& key) {
    port_.timers().cancel(receivings_.at(key).timer);
    receivings_.erase(key);
}

void exchange::segment_arrived(const ib_mad_addr_t& from, const std::uint8_t* m) {
    const in_key key{from.lid, class_of(m), method_of(m), get64(m + 8)};
    const request_key asked{class_of(m), low_tid(m)};
    const auto found = receivings_.find(key);
    if (found == receivings_.end() && is_response(m) && !requests_.contains(asked)) return;
    receiving& each = found != receivings_.end() ? found->second : begin_reception(key, from, m);
    const auto whole = each.transfer->data(m);
    if (each.transfer->failed()) return end_reception(key);
    if (is_response(m)) forget(asked); // the response has begun: the reception's time counts
    if (!whole) return;
    port_.timers().cancel(each.timer);
    each.timer = in_ms(kept_after_completion_ms, [this, key] { receivings_.erase(key); });
    port_.deliver(0, from, *whole);
}

} // namespace irpverbs::umad
