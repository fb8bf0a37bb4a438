// Sends Reports of events to their subscribers: in order, one at a time to each.
#pragma once

#include "subscriptions.hpp"
#include <message_port.hpp>
#include <model/lids.hpp>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <tuple>

namespace irpverbs::subnet_manager {

/// Runs in tasks of the queue.
class reporter {
public:
    using lost_handler = std::function<void(const subscriber& whose)>;

    /// `lost` is called when Reports to a subscriber are lost: it did not respond to one, or more
    /// than `max_waiting` waited. The Reports that wait are dropped then.
    reporter(message_port& port, lost_handler lost) : port_(port), lost_(std::move(lost)) {}
    /// Cancels the Reports in transport.
    ~reporter();
    reporter(const reporter&) = delete;
    reporter& operator=(const reporter&) = delete;

    /// Queues a Report. Source: IBA 13.4.11.
    void send(const subscription& to, const ib_mad_notice_t& notice);

    /// Sends the Reports that were not sent because the port was down or memory was short.
    void resume();

    /// Drops the Reports to an unreachable port with these LIDs, and cancels the one in transport.
    /// The port must subscribe again when it returns. A repeat that arrived after that would be an
    /// event older than the subscription.
    void drop(lid_range lids);

private:
    static constexpr std::size_t max_waiting = 1024;
    using destination = std::tuple<ib_lid_t, ib_qpn_t, ib_pkey_t, std::uint8_t>;

    void send_next(const destination& to);
    void on_sent(const destination& to, int status);
    void lose(const destination& to);

    struct report_queue {
        std::deque<ib_mad_notice_t> waiting;
        std::uint64_t message = 0;    // the last one that was sent
        bool in_flight = false;       // it is in transport, and perhaps cancelled
        bool first_in_flight = false; // the Report in transport is the first in `waiting`
        bool must_resend = false;     // the first Report must be sent again
        bool overflowed = false;      // a Report was not queued
    };

    message_port& port_;
    const lost_handler lost_;
    std::map<destination, report_queue> queues_;
    std::uint64_t sent_ = 0;
    // Expires with the reporter, so that a later completion of a Report has no effect.
    std::shared_ptr<reporter*> alive_ = std::make_shared<reporter*>(this);
};

} // namespace irpverbs::subnet_manager
