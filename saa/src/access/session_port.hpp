// A port with sessions: its connection to the HCA and to IBMF, and the queries of all its sessions.
#pragma once

#include <access/query.hpp>
#include <access/query_queues.hpp>
#include <access/sa_response.hpp>
#include <events/duplicate_filter.hpp>
#include <events/subscribers.hpp>
#include <saa/ibmf_saa_extras.h>

#include <ci/support/port_watcher.hpp>
#include <dispatch/support/spin.hpp>
#include <dispatch/support/spin_lock.hpp>

#include <array>
#include <atomic>
#include <memory>

namespace irpverbs::saa {

class event_subscriptions;
class internal_access;
class session_table;

/// The attributes of the port that SA access uses.
struct port_attributes {
    UCHAR state = IB_PORT_DOWN;
    UCHAR sm_sl = 0;
    UCHAR subnet_timeout = 0; // 4.096 us * 2^n
    ib_lid_t lid = 0;
    ib_lid_t sm_lid = 0;
    UCHAR lmc = 0; // of all end ports of the subnet
};

class session_port : public boost::intrusive_ref_counter<session_port> {
public:
    session_port(std::shared_ptr<session_table> its_session_table, ib_guid_t its_guid);
    ~session_port();

    /// Holds the port's lock. Its release first performs the actions that were decided under the
    /// lock: it sends or cancels queries. IRQL: <= DISPATCH_LEVEL.
    class guard {
    public:
        explicit guard(session_port& of)
            : of_(of), self_(dispatch::detail::this_processor()),
              level_(dispatch::detail::acquire_raising(self_, of.lock_)) {}
        ~guard() { of_.release_lock(self_, level_); }
        guard(const guard&) = delete;
        guard& operator=(const guard&) = delete;

    private:
        session_port& of_;
        dispatch::detail::processor& self_;
        const KIRQL level_;
    };

    // Open and close run at PASSIVE_LEVEL, under the lifecycle lock.
    /// Returns an IBMF_ status; after a failure nothing is open.
    int open();
    void close();

    // Called by the port's watcher:
    struct lifecycle;
    void port_event(IB_ASYNC_EVENT event);
    void port_changed();

    /// Returns an IBMF_ status; after a failure the IRP is still the caller's.
    int begin_access(IRP* irp, detail::access_request& request, session& who, wire_query&& what,
                     bool bulk);
    /// Looks up cached paths, as ibmf_saa_lookup_cached_paths. IRQL: <= DISPATCH_LEVEL.
    int look_up(const session& who, const path_key& path, std::span<sa_path_record_t> places,
                uint_t& count);
    void cancel_all(session& who);
    /// Resumes a stopped stream: reads the received bytes. IRQL: <= DISPATCH_LEVEL.
    void resume(const query& which);
    void limit(uint_t in_flight);
    void limit_responses(std::size_t bytes);
    ibmf_saa_stats_t statistics();
    ibmf_handle_t ibmf() const { return ibmf_; }
    session_table& sessions() const { return *session_table_; }
    void end_use();
    /// Allocates the message of a query, or takes that of an earlier one. Returns an IBMF_ status.
    int allocate_message(ibmf_msg_t*& taken);
    /// Keeps the message for another query, or frees it: if its response was long, or a stream.
    void release_message(ibmf_msg_t* given, bool streamed);

    /// Whether the SA can be queried. The caller holds the lock.
    bool usable() const { return ready_ && attributes_.state == IB_PORT_ACTIVE; }
    /// Returns an IBMF_ status.
    int attach(session& fresh);
    void start_events(session& fresh);
    void detach(session& gone);
    bool has_sessions();
    /// Reports an event to all sessions that listen. The caller holds the lock.
    void emit(const subnet_event& event) { subscribers_.emit(event); }
    /// Sets whether the SA reports which ports appear and disappear. The caller holds the lock.
    void set_port_reports(bool reported) { paths_.set_subscribed(reported); }
    /// Creates the path cache, under the lifecycle lock. Returns false without memory.
    bool enable_path_cache();
    ibmf_saa_path_cache_stats_t path_statistics();

    const ib_guid_t guid;

private:
    // accesses.cpp
    struct waiting_accesses {
        IO_CSQ csq;
        session_port* of;
    };
    struct new_access;
    struct irp_search;
    static NTSTATUS insert(IO_CSQ* csq, IRP* irp, void* context);
    static void remove(IO_CSQ* csq, IRP* irp);
    static IRP* peek_next(IO_CSQ* csq, IRP* irp, void* context);
    static void acquire(IO_CSQ* csq, KIRQL* level);
    static void release(IO_CSQ* csq, KIRQL level);
    static void complete_cancelled(IO_CSQ* csq, IRP* irp);
    static session_port& of(IO_CSQ* csq) {
        return *CONTAINING_RECORD(csq, waiting_accesses, csq)->of;
    }
    int admit(const new_access& here);
    bool look_up(IRP* irp, detail::access_request& request, session& who, const path_key& path);
    query& join_or_begin(new_access& here);

    /// Inline, since most releases find nothing to do.
    void release_lock(dispatch::detail::processor& self, KIRQL level) {
        if (queues_.has_next() || !due_.empty()) return release_and_perform(self, level);
        dispatch::detail::release_lowering(self, lock_, level);
    }

    // queries.cpp
    void release_and_perform(dispatch::detail::processor& self, KIRQL level);
    void perform_due(dispatch::detail::processor& self, KIRQL level);
    void start_queued();
    void make_due(query& which);
    struct action;
    action decide(query& which);
    action send_action(query& which);
    void perform(query_ref which, const action& what);
    void send(query_ref which, const action& how);
    int transport(query& which, const action& how);
    static void data_received(ibmf_handle_t handle, ibmf_msg_t* msg, void* context);
    static void transport_completed(ibmf_handle_t, ibmf_msg_t* msg, void* context);
    static void read_in_work_item(void* context);
    bool resend(query& which);
    void complete_query(query& which, sa_response&& response);

    // link.cpp
    struct place {
        ib_guid_t hca = 0;
        UCHAR number = 0;
        UCHAR state = IB_PORT_DOWN;
    };
    int find(place& found) const;
    int open_hca(const place& where);
    int register_with_ibmf(const place& where);
    bool make_parts();
    NTSTATUS refresh();
    void query_response_time();
    static void response_time_received(session_port& of, internal_access& which,
                                       const detail::access_request& ended);

    // reports.cpp
    bool is_of_sa(const ibmf_msg_t& msg);
    static void report_received(ibmf_handle_t handle, ibmf_msg_t* msg, void* self);
    static void report_response_sent(ibmf_handle_t handle, ibmf_msg_t* msg, void* self);
    void invalidate_paths(const subnet_event& event);
    void invalidate_all_paths(invalidation reason);
    void respond_to_report(ibmf_msg_t* msg);
    void begin_use();
    void free_messages();
    void disconnect();
    static void ibmf_event(ibmf_handle_t, void* self, ibmf_async_event_t event);

    const std::shared_ptr<session_table> session_table_;
    ci::detail::port_watcher<session_port> hca_;
    ibmf_handle_t ibmf_ = nullptr;
    KSPIN_LOCK lock_ = 0;
    waiting_accesses waiting_;
    KEVENT unused_;  // set while IBMF holds no message of the port
    KEVENT closing_; // set when a thread closes the port, under the lifecycle lock
    std::unique_ptr<internal_access> class_port_info_;
    std::unique_ptr<event_subscriptions> subscriptions_;
    boost::intrusive_ptr<session>
        internal_session_; // the session of internal accesses, while the port is open

    // The messages of ended queries. They spare the next queries the allocation.
    static constexpr std::size_t most_messages_kept = query_queues::default_limit;
    dispatch::detail::raw_spin_lock messages_lock_;
    std::array<ibmf_msg_t*, most_messages_kept> messages_{};
    std::size_t messages_kept_ = 0;

    std::atomic<std::size_t> uses_{0}; // queries, and responses to Reports

    // The port's lock guards all members below.
    bool ready_ = false;
    bool sm_changed_ = false; // the SM may have lost the subscriptions
    bool performing_ = false;
    port_attributes attributes_;
    ibmf_retrans_t times_;
    std::size_t max_response_size_ = IBMF_SAA_MAX_RESPONSE; // bytes
    subscribers subscribers_{*this};
    std::size_t session_count_ = 0;
    std::size_t event_session_count_ = 0;
    query_queues queues_;
    path_cache_policy paths_;
    duplicate_filter duplicates_;
    query_list<&query::due_entry> due_; // queries to send or to cancel
    std::uint32_t last_id_ = 0;
    ibmf_saa_stats_t counts_{};
};

} // namespace irpverbs::saa
