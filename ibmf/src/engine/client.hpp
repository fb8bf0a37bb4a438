// A registered client: its objects, and the calls of its callbacks.
#ifndef IRPVERBS_IBMF_ENGINE_CLIENT_HPP
#define IRPVERBS_IBMF_ENGINE_CLIENT_HPP

#include <engine/class_mapping.hpp>
#include <engine/message.hpp>
#include <engine/send_window.hpp>
#include <ibmf/ibmf_extras.h>

#include <boost/intrusive/list.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <algorithm>
#include <array>

namespace irpverbs::ibmf {

class port_context;
struct registration;

/// An agent of ci. Datagrams of shared methods belong to more than one client type.
struct agent {
    port_context* at = nullptr;
    client* owner = nullptr; // null: shared
    IB_MAD_AGENT* mad = nullptr;
    std::uint8_t mgmt_class = 0;
    bool driver_rmpp = false; // the driver does RMPP: sends and receives whole messages
    bool sends_only = false;  // the driver delivers no requests to it
};

/// The receive handler for the unsolicited messages of a queue pair. Guarded by the port's lock.
struct receive_handler {
    ibmf_msg_cb_t receive_callback = nullptr;
    void* receive_argument = nullptr;
    std::uint32_t receive_generation = 0; // number of installed callbacks so far
    std::uint32_t unsolicited_queued = 0;
};

/// A running callback.
struct callback_frame {
    LIST_ENTRY client_entry;
    const dispatch::detail::processor* on;
    const receive_handler* handler; // null: another kind of callback
};

/// A running callback of a message, or none.
struct running_call {
    ibmf_msg_cb_t routine = nullptr; // null: none
    ibmf_msg_t* public_part = nullptr;
    void* argument = nullptr;
    callback_frame frame{};
};

/// The TransactionIDs of the last unsequenced requests that look like keys of transactions. They
/// distinguish responses to those requests from late responses.
class unsequenced_ids {
public:
    void insert(std::uint64_t tid) {
        if ((tid & transaction_slots::key_mark) == 0) return;
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
using qp_hook = boost::intrusive::list_base_hook<boost::intrusive::tag<struct qp_tag>>;
using qp_list = boost::intrusive::list<alternate_qp, boost::intrusive::base_hook<qp_hook>,
                                       boost::intrusive::constant_time_size<false>>;
using client_hook = boost::intrusive::list_base_hook<boost::intrusive::tag<struct client_tag>>;

/// As a receive handler, it serves the default QP of its class.
struct client : boost::intrusive_ref_counter<client>, receive_handler, client_hook {
    client(port_context& its_port, const registration& wanted);
    ~client();

    bool has_rmpp() const { return (flags & IBMF_REG_FLAG_RMPP) != 0; }
    bool universal() const { return type == UNIVERSAL_CLASS; }
    agent* agent_of(std::uint8_t mgmt_class);
    /// Called without the lock. Finds the queue pair that a call names; null for the default QP.
    /// Returns false if the client does not have it.
    bool find_qp(ibmf_qp_handle_t named, qp_ref& found);
    /// Called under the lock. Null: the default QP.
    alternate_qp* qp_of(const transaction& which);
    /// Counts for the port and for the client.
    template <class Counter>
    void count(Counter counter, std::uint64_t by = 1);

    /// Called under the lock: queues the callback of the message.
    void deliver(transaction_table::guard& locked, message& which);
    /// Called under the lock: queues the callback for data of which the client has not been
    /// notified.
    void deliver_data(transaction_table::guard& locked, message& which);
    /// True if callbacks run one at a time.
    bool serializes_callbacks() const {
        return (flags & (IBMF_REG_FLAG_NO_OFFLOAD | IBMF_REG_FLAG_SINGLE_OFFLOAD)) != 0;
    }
    /// Called without the lock, at PASSIVE_LEVEL. Waits until no callback runs, except on this
    /// processor.
    void await_callbacks();
    /// Called under the lock: drops the unsolicited messages in the callback queue.
    void drop_unsolicited(receive_handler& handler);
    /// Called without the lock, at PASSIVE_LEVEL. Waits until work items have dropped their
    /// unsolicited messages, and no callback of `handler` runs, except on this processor.
    void await_unsolicited(receive_handler& handler);
    void await_sends();
    /// Called without the lock, at PASSIVE_LEVEL. Waits until the cancelled transactions have
    /// ended.
    void await_transactions();
    void await_sends(const alternate_qp& from);
    /// Called under the lock, after the number of frames or sends has decreased.
    void wake_waiters();
    /// Called under the lock.
    void free(message& gone);
    /// Notifies the client of the removal of the HCA by IBMF_CI_OFFLINE. IRQL: PASSIVE_LEVEL,
    /// without the lock.
    void notify_offline();

    const boost::intrusive_ptr<port_context> at;
    const ibmf_client_type_t type;
    const std::uint32_t oui;
    const client_mapping mapping;
    const uint_t flags;
    ibmf_handle_t handle = nullptr;
    ibmf_async_event_cb_t event_call = nullptr;
    void* event_argument = nullptr;
    std::array<agent, 2> agents;

    // Members guarded by the port's lock:
    bool ready = false;            // registered and not yet unregistered
    bool offline_notified = false; // notified of the HCA's failure
    std::uint32_t incoming = 0;    // transfers in progress that peers began
    LIST_ENTRY receiving;          // list of these
    std::uint32_t time_wait_count = 0;
    LIST_ENTRY time_wait; // transactions in time-wait, the oldest first
    bool is_sm = false;   // changed under client_table::lifecycle_lock
    client_queues queues;
    unsequenced_ids unsequenced;
    LIST_ENTRY messages;
    qp_list qps; // changed under client_table::lifecycle_lock
    LIST_ENTRY frames;
    ibmf_stats_t counts{};

private:
    void enqueue(transaction_table::guard& locked, callback_entry& which);
    static void start_draining(deferred& start);
    static void start_concurrent(deferred& start);
    static void drain_by_dpc(KDPC*, void* self, void*, void*);
    static void drain(void* self);
    bool next_call(running_call& call);
    bool begin_call(message& which, running_call& call);
    void begin_data_call(message& which, running_call& call);
    void end_call(running_call& call);
    void add_frame(callback_frame& frame, const receive_handler* handler);
    static void call_alone(message& which);
    bool runs_on_other_processor(const receive_handler* handler) const;
    void drop(message& which);
    void callback_returned();
    template <class Predicate>
    void await(const Predicate& quiet);

    LIST_ENTRY callback_queue_; // used if callbacks run one at a time
    bool draining_ = false;
    struct drain_start : deferred {
        client* container = nullptr;
    } drain_start_;
    KDPC drain_dpc_;
    WORK_QUEUE_ITEM drain_work_;
    struct waiter {
        LIST_ENTRY entry;
        KEVENT woken;
    };
    LIST_ENTRY waiters_; // threads that wait for a change; guarded by the port's lock
};

using client_ref = boost::intrusive_ptr<client>;
using client_list = boost::intrusive::list<client, boost::intrusive::base_hook<client_hook>,
                                           boost::intrusive::constant_time_size<false>>;

} // namespace irpverbs::ibmf

#endif
