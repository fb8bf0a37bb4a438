// The replies that a connection expects: of verbs, and of the waits for events.
#pragma once

#include <ci/support/crossing.hpp>

#include <boost/intrusive/set.hpp>

#include <atomic>
#include <memory>

namespace irpverbs::hca_user {

class bracket;
class connection;
struct user_object;

/// A request that was sent, or is about to be. The connection finds it by its id.
struct expected_reply : boost::intrusive::set_base_hook<> {
    explicit expected_reply(bool of_object) : belongs_to_object(of_object) {}

    std::uint64_t id = 0;
    const bool belongs_to_object; // whose end forgets it

    /// Called once for each time that it was expected, on the thread that receives. False: the
    /// message is no reply to it, and the daemon is not to be believed.
    virtual bool on_reply(connection& from, ci::crossing::message reply) = 0;

protected:
    ~expected_reply() = default;
};

/// A verb. Its IRP is completed when the last of its holders has released it: the sender, the
/// receiver of the reply, and the IRP's cancel routine. Whichever exchange removes that routine
/// releases its hold; otherwise the routine does so itself.
struct verb_request final : expected_reply {
    verb_request();
    ~verb_request();
    verb_request(const verb_request&) = delete;
    verb_request& operator=(const verb_request&) = delete;

    bool on_reply(connection& from, ci::crossing::message reply) override;
    /// The connection has ended without a reply.
    void on_end(connection& from);

    IRP* irp = nullptr;
    const ci::crossing::traits* verb = nullptr;
    user_object* object = nullptr;
    bool reserved = false;                 // a part of its object
    IO_STACK_LOCATION* location = nullptr; // the IRP's; of an undone creation that of its end
    std::unique_ptr<bracket> steps;        // of the provider; null: there are none
    ci::crossing::result result;
    std::atomic<int> holds{0};
    bool sent = false; // guarded by the connection's lock, as the next
    bool cancel_wanted = false;
};

/// A kind of events: the verb that waits for it, and the report to this process's clients.
struct event_kind {
    UCHAR verb;
    ci::crossing::object_type type;
    bool is_last; // it occurs once
    /// False: no event has that number.
    bool (*is_known)(std::uint64_t event);
    void (*report)(const struct event_wait& wait, std::uint64_t event);
    bool concerns_provider = false;
};

/// A wait that is pended in the daemon as long as its object exists. It is sent again before its
/// event is reported, and the daemon latches what occurs in between. Half of those for datagrams
/// are pended at any time, and the others are sent again together.
struct event_wait final : expected_reply {
    event_wait() : expected_reply(true) {}

    bool on_reply(connection& from, ci::crossing::message reply) override;
    bool is_fence() const;
    /// False: it is not sent when its object begins.
    bool is_sent() const;
    bool is_for_datagrams() const;

    IO_STACK_LOCATION location();

    const event_kind* kind = nullptr;
    user_object* object = nullptr;
    UCHAR port = 0;
    bool has_ended = false;    // of one for datagrams that was not sent again yet
    ULONG seen = 0;            // of the fence of a fatal event: port events before it was sent
    IB_MAD_RECEIVE datagram{}; // of kinds that receive datagrams, with `bytes`
    std::unique_ptr<std::byte[]> bytes;
};

} // namespace irpverbs::hca_user
