// Delivers packets from the fabric to their agents.
#include "kernel.hpp"

#include <cstring>
#include <utility>

namespace shim {
namespace {

constexpr int keep_after_completion_ms = 10'000;
constexpr int longest_reception_ms = 40'000;

} // namespace

void kernel::arrived_with_faults(const packet& what) {
    const auto happens = [this](unsigned percent) {
        return percent != 0 && chance_() % 100 < percent;
    };
    if (is_smp(what.content.data()) || what.status != 0) return arrived(what);
    if (happens(options_.drop)) return;
    if (!held_back_ && happens(options_.reorder)) {
        held_back_ = what;
        // Delivered after the next packet, or by the timer if none arrives.
        timers_.set(5, [this] {
            if (const auto late = std::exchange(held_back_, std::nullopt)) arrived(*late);
        });
        return;
    }
    const int copies = happens(options_.duplicate) ? 2 : 1;
    for (int i = 0; i < copies; ++i)
        if (options_.delay_ms != 0)
            timers_.set(options_.delay_ms, [this, what] { arrived(what); });
        else
            arrived(what);
    if (const auto late = std::exchange(held_back_, std::nullopt)) arrived(*late);
}

agent* kernel::addressee(const std::uint8_t* m) {
    if (is_response(m)) {
        const auto found = agents_.find(agent_of(m));
        return found != agents_.end() ? found->second : nullptr;
    }
    constexpr std::size_t oui_at = 37;
    for (const auto& [number, each] : agents_)
        if (each->mad_class == class_of(m) && each->version == version_of(m) &&
            each->methods[method_of(m) & 0x7f] &&
            (!has_oui(each->mad_class) || std::memcmp(each->oui.data(), m + oui_at, 3) == 0))
            return each;
    return nullptr;
}

// ibsim could not deliver the packet. It is dropped, as on a wire, unless LAB_BOUNCE is set.
void kernel::bounced(const std::uint8_t* m) {
    const request_key key{agent_of(m), class_of(m), low_tid(m)};
    if (!options_.bounce || is_response(m) || !requests_.contains(key)) return;
    requests_.at(key).left = 0;
    timers_.cancel(requests_.at(key).timer);
    request_expired(key);
}

void kernel::arrived(const packet& what) {
    const std::uint8_t* m = what.content.data();
    if (what.status != 0) return bounced(m);
    agent* to = addressee(m);
    if (to == nullptr) return;
    if (to->kernel_rmpp && rmpp::is_active(m)) {
        if (rmpp::type_of(m) == rmpp::data)
            segment_arrived(*to, what);
        else
            control_arrived(*to, what);
        return;
    }
    if (is_response(m)) {
        const request_key key{to->number, class_of(m), low_tid(m)};
        const bool raw_segment = rmpp::is_active(m) && !to->kernel_rmpp;
        if (!requests_.contains(key) && !raw_segment) return; // unknown or late response
        forget(key);
    }
    deliver(*to, &what, 0, what.content);
}

void kernel::control_arrived(agent& to, const packet& what) {
    const std::uint8_t* m = what.content.data();
    const out_key key{to.number, static_cast<std::uint16_t>(what.slid), get64(m + 8), class_of(m)};
    const auto found = sendings_.find(key);
    if (found != sendings_.end()) settle(key, found->second.transfer->control(m));
}

void kernel::segment_arrived(agent& to, const packet& what) {
    const std::uint8_t* m = what.content.data();
    const in_key key{to.number, static_cast<std::uint16_t>(what.slid), get64(m + 8), class_of(m),
                     method_of(m)};
    const request_key asked{to.number, class_of(m), low_tid(m)};
    const auto drop = [this, key] { receivings_.erase(key); };
    auto found = receivings_.find(key);
    if (found == receivings_.end()) {
        if (is_response(m) && !requests_.contains(asked)) return;
        ib_user_mad_hdr back{};
        back.lid = static_cast<__be16>(what.slid);
        back.qpn = what.sqp;
        receiving fresh;
        fresh.transfer = std::make_unique<rmpp_in>(
            options_.window, [this, back, queue_pair = to.queue_pair](const mad& reply) {
                emit(back, queue_pair, reply);
            });
        fresh.first = what.content;
        fresh.timer = timers_.set(longest_reception_ms, [this, key] {
            receiving& late = receivings_.at(key);
            late.transfer->abort(late.first.data(), rmpp::too_long);
            receivings_.erase(key);
        });
        found = receivings_.emplace(key, std::move(fresh)).first;
    }
    receiving& each = found->second;
    const auto whole = each.transfer->data(m);
    if (each.transfer->failed()) {
        timers_.cancel(each.timer);
        return drop();
    }
    if (is_response(m)) forget(asked); // the response has begun, so the reception's timer applies
    if (!whole) return;
    timers_.cancel(each.timer);
    each.timer = timers_.set(keep_after_completion_ms, drop);
    deliver(to, &what, 0, *whole);
}

} // namespace shim
