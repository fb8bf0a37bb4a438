// A client's session.
#pragma once

#include <access/port.hpp>
#include <events/subscribers.hpp>

#include <dispatch/detail/processor.hpp>

namespace irpverbs::saa {

/// A running callback.
struct callback_frame {
    LIST_ENTRY of_session{};
    const dispatch::detail::processor* on = nullptr;
    std::uint64_t event_number = 0; // 0: the callback of an access
};

struct session : boost::intrusive_ref_counter<session> {
    /// `its_events` without a callback: no events.
    session(port& its_port, ib_smkey_t its_sm_key, uint_t its_flags,
            const ibmf_saa_subnet_event_args_t& its_events = {});
    ~session();

    bool remembers() const { return (flags & IBMF_SAA_SESSION_CACHED_PATHS) != 0; }
    /// Whether the client or the path cache needs events.
    bool listens() const { return events || remembers(); }

    /// Marks an operation or a due callback as in progress. The caller holds the lock.
    void enter();
    /// Ends an operation. Acquires the lock.
    void leave();
    /// Ends an operation. The caller holds the lock.
    void has_left();
    /// Runs a callback. IRQL: <= DISPATCH_LEVEL.
    template <class Call>
    void call(const Call& callback) {
        callback_frame frame;
        {
            const port::guard under(*at);
            begin_call(frame);
        }
        callback();
        const port::guard under(*at);
        end_call(frame);
    }
    /// Runs a callback, and ends its operation. Returns false without effect when the callback must
    /// not run on this thread now.
    template <class Call>
    bool call_at_once_and_leave(const Call& callback) {
        callback_frame frame;
        if (!begin_call_at_once(frame)) return false;
        callback();
        end_call_and_leave(frame);
        return true;
    }
    // Enclose a callback, on its processor. The caller holds the lock.
    void begin_call(callback_frame& frame);
    void end_call(callback_frame& frame);
    /// Returns the number of the event whose callback runs on this processor, or 0. Acquires the
    /// lock.
    std::uint64_t event_here();
    /// Returns false when the session is already being closed.
    bool begin_closing();
    /// Waits until all operations have ended, except callbacks on this processor. IRQL:
    /// PASSIVE_LEVEL.
    void await_quiet();

    const boost::intrusive_ptr<port> at;
    const ib_smkey_t sm_key;
    const uint_t flags;
    ibmf_saa_handle_t handle = nullptr;

    // The port's lock guards these members:
    bool closing = false;
    LIST_ENTRY waiters;
    std::optional<subscriber> events; // empty: the session receives no events

private:
    bool begin_call_at_once(callback_frame& frame);
    void end_call_and_leave(callback_frame& frame);
    unsigned calls_here() const;
    bool is_quiet() const;

    unsigned busy_ = 0;
    bool awaited_ = false; // a thread waits in await_quiet
    LIST_ENTRY frames_;
    KEVENT changed_;
};

using session_ref = boost::intrusive_ptr<session>;

} // namespace irpverbs::saa
