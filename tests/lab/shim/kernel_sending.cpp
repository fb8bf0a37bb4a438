// Sends messages of programs to the fabric: requests that wait for responses, and segmented
// transfers.
#include "kernel.hpp"

#include <cerrno>
#include <cstring>
#include <endian.h>

namespace shim {

void kernel::emit(const ib_user_mad_hdr& to, std::uint32_t queue_pair, const mad& content) {
    constexpr __be16 permissive = 0xffff;
    packet out;
    out.dlid = to.lid;
    out.slid = to.lid == permissive ? permissive : 0;
    out.dqp = to.qpn;
    out.sqp = htobe32(queue_pair);
    out.length = htobe64(mad_size);
    out.content = content;
    const bool all_sent = link_.send(out);
    if (!all_sent || timers_.next() < sleeps_until_) wake();
}

ssize_t kernel::write_message(int descriptor, const void* from, std::size_t size) {
    if (size < header_size + mad_header) {
        errno = EINVAL;
        return -1;
    }
    ib_user_mad_hdr header{};
    std::memcpy(&header, from, header_size);
    const std::span content(static_cast<const std::uint8_t*>(from) + header_size,
                            size - header_size);
    const std::lock_guard guard(lock_);
    if (link_.gone()) {
        errno = ENODEV;
        return -1;
    }
    return send(*file_of(descriptor), header, content);
}

ssize_t kernel::send(user_file& file, const ib_user_mad_hdr& header,
                     std::span<const std::uint8_t> content) {
    agent* from = agent_of_file(file, header.id);
    if (from == nullptr) {
        errno = EINVAL;
        return -1;
    }
    std::vector<std::uint8_t> own(content.begin(), content.end());
    if (own.size() < mad_size) own.resize(mad_size);
    if (!is_response(own.data())) {
        // The kernel sets the upper half of a request's transaction id.
        put32(&own[8], link_.client() << 16 | from->number);
        if (requests_.contains({from->number, class_of(own.data()), low_tid(own.data())})) {
            errno = EINVAL;
            return -1;
        }
    }
    if (from->kernel_rmpp && rmpp::is_active(own.data())) {
        own.resize(std::max(content.size(), data_offset(class_of(own.data()))));
        return send_segmented(*from, header, own);
    }
    if (content.size() > mad_size) {
        errno = EINVAL;
        return -1;
    }
    mad whole{};
    std::memcpy(whole.data(), own.data(), mad_size);
    if (header.timeout_ms != 0 && !is_response(own.data()))
        await_response(*from, header, whole, header.retries);
    emit(header, from->queue_pair, whole);
    return static_cast<ssize_t>(header_size + content.size());
}

void kernel::await_response(agent& from, const ib_user_mad_hdr& header,
                            std::span<const std::uint8_t> content, std::uint32_t retries) {
    const request_key key{from.number, class_of(content.data()), low_tid(content.data())};
    request waiting{&from, header, {}, retries, {}};
    std::memcpy(waiting.content.data(), content.data(), std::min(content.size(), mad_size));
    waiting.timer = timers_.set(header.timeout_ms, [this, key] { request_expired(key); });
    requests_.emplace(key, waiting);
}

void kernel::request_expired(const request_key& key) {
    request& late = requests_.at(key);
    if (late.left == 0) {
        deliver(*late.owner, nullptr, ETIMEDOUT, std::span(late.content).first(mad_header));
        requests_.erase(key);
        return;
    }
    --late.left;
    late.timer = timers_.set(late.header.timeout_ms, [this, key] { request_expired(key); });
    emit(late.header, late.owner->queue_pair, late.content);
}

void kernel::forget(const request_key& key) {
    const auto found = requests_.find(key);
    if (found == requests_.end()) return;
    timers_.cancel(found->second.timer);
    requests_.erase(found);
}

ssize_t kernel::send_segmented(agent& from, const ib_user_mad_hdr& header,
                               std::span<const std::uint8_t> content) {
    const out_key key{from.number, header.lid, get64(&content[8]), class_of(content.data())};
    constexpr int usual_retries = 3;
    const int retries = header.retries != 0 ? static_cast<int>(header.retries) : usual_retries;
    auto transfer = std::make_unique<rmpp_out>(content, static_cast<int>(header.timeout_ms),
                                               static_cast<int>(options_.resend_ms), retries,
                                               [this, header, queue_pair = from.queue_pair](
                                                   const mad& m) { emit(header, queue_pair, m); });
    const auto [place, fresh] = sendings_.try_emplace(key);
    if (!fresh) {
        errno = EINVAL;
        return -1;
    }
    place->second = {&from, header, std::move(transfer), {}};
    place->second.transfer->start();
    rearm(key);
    return static_cast<ssize_t>(header_size + content.size());
}

void kernel::rearm(const out_key& key) {
    sending& each = sendings_.at(key);
    timers_.cancel(each.timer);
    each.timer = timers_.set(each.transfer->max_wait_ms(), [this, key] { sending_expired(key); });
}

void kernel::sending_expired(const out_key& key) {
    settle(key, sendings_.at(key).transfer->expired());
}

void kernel::settle(const out_key& key, rmpp_out::state state) {
    sending& each = sendings_.at(key);
    if (state == rmpp_out::state::going) return rearm(key);
    timers_.cancel(each.timer);
    if (state == rmpp_out::state::acknowledged && each.transfer->awaits_response())
        await_response(*each.owner, each.header, each.transfer->header(), 0);
    // The program is not notified of a transfer that the peer stopped or aborted.
    if (state == rmpp_out::state::out_of_retries && each.header.timeout_ms != 0)
        deliver(*each.owner, nullptr, ETIMEDOUT, each.transfer->header());
    sendings_.erase(key);
}

} // namespace shim
