// Reports: events told to those who subscribed to them, in order, one at a time to each.
#pragma once

#include "subscriptions.hpp"
#include <message_port.hpp>
#include <model/lids.hpp>

#include <deque>
#include <map>
#include <memory>
#include <tuple>

namespace irpverbs::subnet_manager {

/// For tasks of the queue.
class reporter {
public:
    explicit reporter(message_port& port) : port_(port) {}

    /// Dropped when the subscriber has not answered for so many before. Source: IBA 13.4.11.
    void send(const subscription& to, const ib_mad_notice_t& notice);

    /// Sends the Reports that could not be sent because the port was down or memory was short.
    void resume();

    /// The port with these LIDs is away: its waiting Reports are dropped. It is to subscribe anew
    /// when it is back, and they are older than that.
    void forget(lid_range lids);

private:
    static constexpr std::size_t most_waiting = 1024;
    using receiver = std::tuple<ib_lid_t, ib_qpn_t, ib_pkey_t, std::uint8_t>;

    void send_next(const receiver& to);
    void ended(const receiver& to, int status);

    struct line {
        std::deque<ib_mad_notice_t> waiting;
        bool under_way = false;  // one of them, or one that was forgotten
        bool has_first = false;  // it is the first that waits
        bool is_held_up = false; // it is to be sent again
    };

    message_port& port_;
    std::map<receiver, line> lines_;
    std::uint64_t sent_ = 0;
    // Reports that are under way when this ends find nobody.
    std::shared_ptr<reporter*> here_ = std::make_shared<reporter*>(this);
};

} // namespace irpverbs::subnet_manager
