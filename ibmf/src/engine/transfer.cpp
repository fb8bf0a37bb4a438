#include <engine/transfer.hpp>

#include <algorithm>
#include <utility>

namespace irpverbs::ibmf {

namespace {

// Functions in which the roles differ.
struct roles {
    static bool transmit(rmpp::receiver& role, mad_buffer to, rmpp::ticks) {
        return role.transmit(to);
    }
    template <class Role>
    static bool transmit(Role& role, mad_buffer to, rmpp::ticks now) {
        return role.transmit(to, now);
    }
    static void cancel(rmpp::sender& role, rmpp::ticks) { role.cancel(); }
    template <class Role>
    static void cancel(Role& role, rmpp::ticks now) {
        role.cancel(now);
    }
    static void set_window(rmpp::sender&, std::uint32_t, rmpp::ticks) {}
    template <class Role>
    static void set_window(Role& role, std::uint32_t segments, rmpp::ticks now) {
        role.set_window(segments, now);
    }
    static bool retired(const rmpp::sender& role) { return !role.result().running(); }
    template <class Role>
    static bool retired(const Role& role) {
        return role.retired();
    }
    static bool begun(const rmpp::sender&) { return false; }
    static bool begun(const rmpp::receiver& role) { return role.begun(); }
    static bool begun(const rmpp::requester& role) { return role.response().begun(); }
    static std::uint32_t resent(const rmpp::sender& role) { return role.counts().resent; }
    static std::uint32_t resent(const rmpp::receiver&) { return 0; }
    static std::uint32_t resent(const rmpp::requester& role) {
        return role.request().counts().resent;
    }
};

} // namespace

transfer::transfer(const rmpp::settings& chosen)
    : role_(std::in_place_type<rmpp::receiver>, chosen, buffer_) {}

transfer::transfer(const rmpp::settings& chosen, const rmpp::message& sent)
    : role_(std::in_place_type<rmpp::sender>, chosen, copy_header(sent)) {}

transfer::transfer(const rmpp::settings& chosen, const rmpp::message& sent, double_sided)
    : role_(std::in_place_type<rmpp::requester>, chosen, copy_header(sent), buffer_) {}

rmpp::message transfer::copy_header(const rmpp::message& sent) {
    std::ranges::copy(sent.header, header_.begin());
    return {header_, sent.class_header, sent.data};
}

bool transfer::transmit(mad_buffer datagram, rmpp::ticks now) {
    return std::visit([&](auto& role) { return roles::transmit(role, datagram, now); }, role_);
}

void transfer::receive(const mad_view& view, rmpp::ticks now) {
    std::visit([&](auto& role) { role.receive(view, now); }, role_);
}

rmpp::ticks transfer::deadline() const {
    return std::visit([](const auto& role) { return role.deadline(); }, role_);
}

void transfer::expire(rmpp::ticks now) {
    std::visit([&](auto& role) { role.expire(now); }, role_);
}

void transfer::cancel(rmpp::ticks now) {
    std::visit([&](auto& role) { roles::cancel(role, now); }, role_);
}

const rmpp::outcome& transfer::result() const {
    return std::visit([](const auto& role) -> const rmpp::outcome& { return role.result(); },
                      role_);
}

bool transfer::retired() const {
    return std::visit([](const auto& role) { return roles::retired(role); }, role_);
}

bool transfer::segment_completed() {
    return --at_driver_ == max_at_driver / 2 && std::exchange(sending_paused_, false);
}

void transfer::update_window(rmpp::ticks now) {
    constexpr std::size_t max_unread = 64u << 10;
    const bool full = buffer_.data().size() >= max_unread;
    if (std::exchange(receiving_paused_, full) == full) return;
    std::visit([&](auto& role) { roles::set_window(role, full ? 0 : UINT32_MAX, now); }, role_);
}

bool transfer::begun() const {
    return std::visit([](const auto& role) { return roles::begun(role); }, role_);
}

std::uint32_t transfer::resent() const {
    return std::visit([](const auto& role) { return roles::resent(role); }, role_);
}

} // namespace irpverbs::ibmf
