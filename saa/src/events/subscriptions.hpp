// The port's subscriptions with the SA, one for each type of producer: wanted and actual state
// apart, one operation of each under way. Which events come is told when that changes.
#pragma once

#include <access/own_access.hpp>
#include <events/subnet_event.hpp>

#include <array>
#include <memory>

namespace irpverbs::saa {

class event_subscriptions {
public:
    static constexpr std::uint8_t all_producers = 0xF;

    explicit event_subscriptions(port& of);
    ~event_subscriptions();
    event_subscriptions(const event_subscriptions&) = delete;
    event_subscriptions& operator=(const event_subscriptions&) = delete;

    // All at <= DISPATCH_LEVEL, without the lock.
    /// Subscribes, also what is subscribed: the SA may have forgotten.
    void begin(session& by);
    /// The port came up, or the SM is another. Nothing when nothing is wanted.
    void renew();
    /// Tells the SA, and does not wait for it.
    void end();
    /// The port closes.
    void stop();

    // Under the lock.
    bool complete() const { return told_ == all_producers; }
    /// From which producers events come.
    subnet_event status_event() const;

private:
    struct producer;

    void subscribe_all();
    void advance(producer& which);
    void ended(producer& which, int status);
    bool note(producer& which, int status);
    void set_actual(producer& which, bool actual);
    void wait(producer& which);
    void cancel_wait(producer& which);
    void leave(producer& which);
    void tell_changes();

    port& of_;
    std::array<std::unique_ptr<producer>, 4> producers_;
    // Guarded by the port's lock:
    session_ref by_;
    bool wanted_ = false;
    bool interrupted_ = false; // Reports may have been lost, which is told when they come again
    std::uint8_t told_ = all_producers;
};

} // namespace irpverbs::saa
