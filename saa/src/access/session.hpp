// A client's session.
#pragma once

#include <access/session_port.hpp>
#include <events/subscribers.hpp>

#include <dispatch/support/processor.hpp>

namespace irpverbs::saa {

/// A running callback.
struct callback_frame {
    LIST_ENTRY of_session{};
    const dispatch::detail::processor* on = nullptr;
    std::uint64_t event_number = 0; // 0: the callback of an access
};

struct session : boost::intrusive_ref_counter<session> {
    /// `its_events` without a callback: no events.
    session(session_port& its_port, ib_smkey_t its_sm_key, uint_t its_flags,
            const ibmf_saa_subnet_event_args_t& its_events = {});
    ~session();

    bool caches_paths() const { return (flags & IBMF_SAA_SESSION_CACHED_PATHS) != 0; }
    /// Whether the client or the path cache needs events.
    bool needs_events() const { return events || caches_paths(); }

    /// Marks an operation or a due callback as in progress. The caller holds the lock.
    void begin_operation();
    /// Ends an operation. Acquires the lock.
    void end_operation();
    /// Ends an operation. The caller holds the lock.
    void end_operation_locked();
    /// Runs a callback. IRQL: <= DISPATCH_LEVEL.
    template <class Call>
    void call(const Call& callback) {
        callback_frame frame;
        {
            const session_port::guard locked(*at);
            begin_call(frame);
        }
        callback();
        const session_port::guard locked(*at);
        end_call(frame);
    }
    /// Runs a callback, and ends its operation. Returns false without effect when the callback must
    /// not run on this thread now.
    template <class Call>
    bool call_inline_and_end(const Call& callback) {
        callback_frame frame;
        if (!begin_inline_call(frame)) return false;
        callback();
        end_inline_call(frame);
        return true;
    }
    // Enclose a callback, on its processor. The caller holds the lock.
    void begin_call(callback_frame& frame);
    void end_call(callback_frame& frame);
    /// Returns the number of the event whose callback runs on this processor, or 0. Acquires the
    /// lock.
    std::uint64_t current_event_number();
    /// Returns false when the session is already being closed.
    bool begin_closing();
    /// Waits until all operations have ended, except callbacks on this processor. IRQL:
    /// PASSIVE_LEVEL.
    void await_idle();

    const boost::intrusive_ptr<session_port> at;
    const ib_smkey_t sm_key;
    const uint_t flags;
    ibmf_saa_handle_t handle = nullptr;

    // The port's lock guards these members:
    bool closing = false;
    LIST_ENTRY waiters;
    std::optional<subscriber> events; // empty: the session receives no events

private:
    bool begin_inline_call(callback_frame& frame);
    void end_inline_call(callback_frame& frame);
    unsigned calls_on_this_processor() const;
    bool is_idle() const;

    unsigned operations_ = 0;
    bool awaited_ = false; // a thread waits in await_idle
    LIST_ENTRY frames_;
    KEVENT changed_;
};

using session_ref = boost::intrusive_ptr<session>;

} // namespace irpverbs::saa
