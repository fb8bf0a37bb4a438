// A registration: what a client has, and how its callbacks are called.
#ifndef IRPVERBS_IBMF_ENGINE_CLIENT_HPP
#define IRPVERBS_IBMF_ENGINE_CLIENT_HPP

#include <engine/classes.hpp>
#include <engine/flow.hpp>
#include <engine/message.hpp>
#include <ibmf/ibmf_extras.h>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <algorithm>
#include <array>

namespace irpverbs::ibmf {

class port;
struct registration;

/// A place at the driver: an agent of ci. Datagrams of shared methods belong to more than one
/// client type.
struct agent {
    port* at = nullptr;
    client* owner = nullptr; // null: shared
    IB_MAD_AGENT* mad = nullptr;
    std::uint8_t mgmt_class = 0;
    bool whole = false;      // the driver does RMPP: messages come and go in one piece
    bool sends_only = false; // the driver has no requests for it
};

/// Who hears the messages of a queue pair that answer nothing. Guarded by the port's lock.
struct listener {
    ibmf_msg_cb_t unasked = nullptr;
    void* unasked_argument = nullptr;
    std::uint32_t set_ups = 0; // of it so far
    std::uint32_t unasked_due = 0;
};

/// A callback that runs.
struct callback_frame {
    LIST_ENTRY of_client;
    const dispatch::detail::processor* on;
    const listener* of; // null: of something else
};

/// The ids of the last requests that were sent without waiting for a response and that look like
/// keys of transactions. Responses to those are told from late ones by it.
class unsequenced_ids {
public:
    void insert(std::uint64_t tid) {
        if ((tid & slot_table<transaction>::key_mark) == 0) return;
        ids_[next_++ % ids_.size()] = static_cast<std::uint32_t>(tid);
    }
    bool contains(std::uint32_t id) const {
        return std::find(ids_.begin(), ids_.end(), id) != ids_.end();
    }

private:
    std::array<std::uint32_t, 64> ids_{}; // 0: none
    std::uint32_t next_ = 0;
};

struct alternate_qp;
using qp_ref = boost::intrusive_ptr<alternate_qp>;

/// As a listener: of its class's queue pair.
struct client : boost::intrusive_ref_counter<client>, listener {
    client(port& its_port, const registration& wanted);
    ~client();

    bool has_rmpp() const { return (flags & IBMF_REG_FLAG_RMPP) != 0; }
    bool universal() const { return type == UNIVERSAL_CLASS; }
    agent* agent_of(std::uint8_t mgmt_class);
    /// Without the lock: the queue pair that a call names, null for its class's. False: it has no
    /// such.
    bool find_qp(ibmf_qp_handle_t named, qp_ref& found);
    /// Under the lock. Null: of its class's.
    alternate_qp* qp_of(const transaction& which);
    /// The port's, then the client's.
    template <class Counter>
    void count(Counter counter, std::uint64_t by = 1);

    /// Under the lock: the message's callback is due.
    void deliver(transaction_table::guard& under, message& which);
    /// Under the lock: data of the message have come that nobody was told of.
    void deliver_data(transaction_table::guard& under, message& which);
    /// Whether callbacks come one at a time.
    bool one_by_one() const {
        return (flags & (IBMF_REG_FLAG_NO_OFFLOAD | IBMF_REG_FLAG_SINGLE_OFFLOAD)) != 0;
    }
    /// Without the lock, at PASSIVE_LEVEL: until no callback runs but on this processor.
    void await_callbacks();
    /// Under the lock: messages unasked that wait for their callback are dropped.
    void drop_unasked(listener& of);
    /// Without the lock, at PASSIVE_LEVEL: the same for those that work items have, and until none
    /// runs but on this processor.
    void await_unasked(listener& of);
    void await_sends();
    /// The same: until those that a cancel is ending have ended.
    void await_transactions();
    void await_sends(const alternate_qp& from);
    /// Under the lock: frames or sends have become fewer.
    void changed();
    /// Under the lock.
    void free(message& gone);
    /// The HCA is going: IBMF_CI_OFFLINE. IRQL: PASSIVE_LEVEL, without the lock.
    void tell_offline();

    const boost::intrusive_ptr<port> at;
    const ibmf_client_type_t type;
    const std::uint32_t oui;
    const client_plan plan;
    const uint_t flags;
    ibmf_handle_t handle = nullptr;
    ibmf_async_event_cb_t event_call = nullptr;
    void* event_argument = nullptr;
    std::array<agent, 2> agents;

    // All below: guarded by the port's lock.
    struct port_link {
        LIST_ENTRY entry;
        client* whole;
        static client& of(LIST_ENTRY* entry) {
            return *CONTAINING_RECORD(entry, port_link, entry)->whole;
        }
    } of_port{{}, this};
    bool ready = false;         // registered, and not yet unregistered
    bool knows_offline = false; // that the HCA has failed
    std::uint32_t incoming = 0; // transfers that peers began, and that are under way
    LIST_ENTRY receiving;       // these
    std::uint32_t lingering_count = 0;
    LIST_ENTRY lingering;  // transactions, the oldest first
    bool shows_sm = false; // changed in turn
    client_lines lines;
    unsequenced_ids unsequenced;
    LIST_ENTRY messages;
    LIST_ENTRY qps; // changed in turn
    LIST_ENTRY frames;
    ibmf_stats_t counts{};

private:
    void queue(transaction_table::guard& under, line_place& which);
    static void start_draining(deferred& start);
    static void start_alone(deferred& start);
    static void drain_by_dpc(KDPC*, void* self, void*, void*);
    static void drain(void* self);
    static void call(message& which);
    static void call_for_data(message& which);
    bool runs_elsewhere(const listener* of) const;
    void drop(message& which);
    void called();
    template <class Predicate>
    void await(const Predicate& quiet);

    LIST_ENTRY line_; // of callbacks, when they come one at a time
    bool draining_ = false;
    struct drain_start : deferred {
        client* whole = nullptr;
    } drain_start_;
    KDPC drain_dpc_;
    WORK_QUEUE_ITEM drain_work_;
    struct waiter {
        LIST_ENTRY entry;
        KEVENT woken;
    };
    LIST_ENTRY waiters_; // for a change; guarded by the port's lock
};

using client_ref = boost::intrusive_ptr<client>;

} // namespace irpverbs::ibmf

#endif
