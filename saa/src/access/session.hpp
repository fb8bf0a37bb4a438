// A client's session.
#pragma once

#include <access/port.hpp>
#include <events/subscribers.hpp>

#include <dispatch/detail/processor.hpp>

namespace irpverbs::saa {

/// A callback that runs.
struct callback_frame {
    LIST_ENTRY of_session{};
    const dispatch::detail::processor* on = nullptr;
    std::uint64_t event_number = 0; // of an event; 0: of an access
};

struct session : boost::intrusive_ref_counter<session> {
    /// `its_events` without a callback: none.
    session(port& its_port, ib_smkey_t its_sm_key, uint_t its_flags,
            const ibmf_saa_subnet_event_args_t& its_events = {});
    ~session();

    bool remembers() const { return (flags & IBMF_SAA_SESSION_CACHED_PATHS) != 0; }
    /// Events are for its client, or for what it remembers.
    bool listens() const { return events || remembers(); }

    /// Something of the session is under way, or a callback is due. Under the lock.
    void enter();
    /// It has ended. Without the lock.
    void leave();
    /// Under the lock.
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
    /// The same, and leaves. False, and nothing has happened: it is not to be called here and now.
    template <class Call>
    bool call_at_once_and_leave(const Call& callback) {
        callback_frame frame;
        if (!begin_call_at_once(frame)) return false;
        callback();
        end_call_and_leave(frame);
        return true;
    }
    // Around a callback, on its processor. Under the lock.
    void begin_call(callback_frame& frame);
    void end_call(callback_frame& frame);
    /// The number of the event whose callback runs on this processor; 0: none does. Without the
    /// lock.
    std::uint64_t event_here();
    /// False: it is being closed already.
    bool begin_closing();
    /// Until nothing is under way but callbacks on this processor. IRQL: PASSIVE_LEVEL.
    void await_quiet();

    const boost::intrusive_ptr<port> at;
    const ib_smkey_t sm_key;
    const uint_t flags;
    ibmf_saa_handle_t handle = nullptr;

    // Guarded by the port's lock:
    bool closing = false;
    LIST_ENTRY waiters;
    std::optional<subscriber> events; // none: it is not told

private:
    bool begin_call_at_once(callback_frame& frame);
    void end_call_and_leave(callback_frame& frame);
    unsigned calls_here() const;
    bool is_quiet() const;

    unsigned busy_ = 0;
    bool awaited_ = false; // somebody waits until it is quiet
    LIST_ENTRY frames_;
    KEVENT changed_;
};

using session_ref = boost::intrusive_ptr<session>;

} // namespace irpverbs::saa
