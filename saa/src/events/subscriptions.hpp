// The port's subscriptions at the SA, one for each type of producer. Wanted and actual state are
// separate, and each producer has at most one operation in flight. An event reports each change of
// the set of producers.
#pragma once

#include <access/internal_access.hpp>
#include <events/subnet_event.hpp>

#include <array>
#include <memory>

namespace irpverbs::saa {

class event_subscriptions {
public:
    static constexpr std::uint8_t all_producers = 0xF;

    explicit event_subscriptions(session_port& of);
    ~event_subscriptions();
    event_subscriptions(const event_subscriptions&) = delete;
    event_subscriptions& operator=(const event_subscriptions&) = delete;

    // All functions run at <= DISPATCH_LEVEL, without the lock.
    /// Subscribes to every producer again, since the SA may have lost a subscription.
    void begin(session& by);
    /// Subscribes again when the port came up or the SM changed. Has no effect when no session
    /// listens.
    void renew();
    /// Sends the unsubscriptions, and does not wait for their responses.
    void end();
    /// Ends the subscriptions for the close of the port.
    void stop();

    // The caller holds the lock.
    bool complete() const { return reported_ == all_producers; }
    /// Returns the event with the current set of producers.
    subnet_event status_event() const;

private:
    struct producer;

    void subscribe_all();
    void advance(producer& which);
    void ended(producer& which, int status);
    bool record_result(producer& which, int status);
    void set_actual(producer& which, bool actual);
    void schedule_retry(producer& which);
    void cancel_retry(producer& which);
    void emit_changes();

    session_port& of_;
    std::array<std::unique_ptr<producer>, 4> producers_;
    // Guarded by the port's lock:
    session_ref by_;
    bool wanted_ = false;
    bool interrupted_ = false; // Reports may have been lost, which an event reports after the next
                               // subscription
    std::uint8_t reported_ = all_producers;
};

} // namespace irpverbs::saa
