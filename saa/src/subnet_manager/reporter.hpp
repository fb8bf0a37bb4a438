// Reports: events told to those who subscribed to them, in order, one at a time to each.
#pragma once

#include "message_port.hpp"
#include "subscriptions.hpp"

#include <deque>
#include <map>
#include <memory>
#include <tuple>

namespace irpverbs::saa {

/// For tasks of the queue.
class reporter {
public:
    explicit reporter(message_port& port) : port_(port) {}

    /// Dropped when the subscriber has not answered for so many before. Source: IBA 13.4.11.
    void send(const subscription& to, const ib_mad_notice_t& notice);

private:
    static constexpr std::size_t most_waiting = 1024;
    using receiver = std::tuple<ib_lid_t, ib_qpn_t, ib_pkey_t, std::uint8_t>;

    void send_next(const receiver& to);
    void answered(const receiver& to);

    message_port& port_;
    std::map<receiver, std::deque<ib_mad_notice_t>> waiting_; // the first is under way
    std::uint64_t sent_ = 0;
    // Reports that are under way when this ends find nobody.
    std::shared_ptr<reporter*> here_ = std::make_shared<reporter*>(this);
};

} // namespace irpverbs::saa
