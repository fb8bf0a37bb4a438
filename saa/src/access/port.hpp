// A port with sessions: its connection to the HCA and to IBMF, and the queries of all its sessions.
#pragma once

#include <access/answer.hpp>
#include <access/query.hpp>
#include <access/query_lines.hpp>
#include <events/subscribers.hpp>
#include <events/told_reports.hpp>
#include <lookaside.hpp>
#include <saa/ibmf_saa_extras.h>

#include <ci/ci.h>
#include <dispatch/detail/spin_lock.hpp>

#include <atomic>
#include <memory>

namespace irpverbs::saa {

class event_subscriptions;
class own_access;
class registry;

/// The attributes of the port that SA access uses.
struct port_facts {
    UCHAR state = IB_PORT_DOWN;
    UCHAR sm_sl = 0;
    UCHAR subnet_timeout = 0; // 4.096 us * 2^n
    ib_lid_t lid = 0;
    ib_lid_t sm_lid = 0;
};

class port : public boost::intrusive_ref_counter<port> {
public:
    port(std::shared_ptr<registry> its_home, ib_guid_t its_guid);
    ~port();

    /// Holds the port's lock. Its release first performs the actions that were decided under the
    /// lock: it sends or cancels queries. IRQL: <= DISPATCH_LEVEL.
    class guard {
    public:
        explicit guard(port& of)
            : of_(of), self_(dispatch::detail::this_processor()),
              level_(dispatch::detail::acquire_raising(self_, of.lock_)) {}
        ~guard() { of_.let_go(self_, level_); }
        guard(const guard&) = delete;
        guard& operator=(const guard&) = delete;

    private:
        port& of_;
        dispatch::detail::processor& self_;
        const KIRQL level_;
    };

    // Open and close run at PASSIVE_LEVEL, in the registry's turn.
    /// Returns an IBMF_ status; after a failure nothing is open.
    int open();
    void close();

    /// Returns an IBMF_ status; after a failure the IRP is still the caller's.
    int ask(IRP* irp, detail::access_request& request, session& who, question&& what, bool bulk);
    /// Looks up cached paths, as ibmf_saa_recall_paths. IRQL: <= DISPATCH_LEVEL.
    int recall(const session& who, const path_key& path, std::span<sa_path_record_t> places,
               uint_t& count);
    void cancel_all(session& who);
    /// Resumes a stopped stream: reads the received bytes. IRQL: <= DISPATCH_LEVEL.
    void resume(const query& which);
    void limit(uint_t in_flight);
    void limit_answers(std::size_t bytes);
    ibmf_saa_stats_t statistics();
    ibmf_handle_t ibmf() const { return ibmf_; }
    registry& home() const { return *home_; }
    lookaside& query_memory() { return query_memory_; }
    void end_use();

    /// Whether the SA can be queried. The caller holds the lock.
    bool usable() const { return ready_ && facts_.state == IB_PORT_ACTIVE; }
    /// Returns an IBMF_ status.
    int enlist(session& fresh);
    void begin_listening(session& fresh);
    void dismiss(session& gone);
    bool has_sessions();
    /// Reports an event to all sessions that listen. The caller holds the lock.
    void tell(const subnet_event& event) { subscribers_.tell(event); }
    /// Sets whether the SA reports which ports appear and disappear. The caller holds the lock.
    void hear_of_ports(bool reported) { paths_.hear(reported); }
    /// Creates the path cache, in the registry's turn. Returns false without memory.
    bool remember_paths();
    ibmf_saa_path_cache_stats_t path_statistics();

    const ib_guid_t guid;

private:
    // accesses.cpp
    struct waiting_accesses {
        IO_CSQ csq;
        port* of;
    };
    struct arrival;
    struct wanted;
    static NTSTATUS insert(IO_CSQ* csq, IRP* irp, void* context);
    static void remove(IO_CSQ* csq, IRP* irp);
    static IRP* peek_next(IO_CSQ* csq, IRP* irp, void* context);
    static void acquire(IO_CSQ* csq, KIRQL* level);
    static void release(IO_CSQ* csq, KIRQL level);
    static void complete_cancelled(IO_CSQ* csq, IRP* irp);
    static port& of(IO_CSQ* csq) { return *CONTAINING_RECORD(csq, waiting_accesses, csq)->of; }
    int admit(const arrival& here);
    bool recall(IRP* irp, detail::access_request& request, session& who, const path_key& path);
    query& join_or_begin(const arrival& here);

    // queries.cpp
    void let_go(dispatch::detail::processor& self, KIRQL level);
    void act_on_due(dispatch::detail::processor& self, KIRQL level);
    void start_queued();
    void make_due(query& which);
    struct deed;
    deed decide(query& which);
    deed addressed(query& which);
    void act(query& which, const deed& what);
    void send(query& which, const deed& how);
    int transport(query& which, const deed& how);
    static void data_came(ibmf_handle_t handle, ibmf_msg_t* msg, void* context);
    static void answered(ibmf_handle_t, ibmf_msg_t* msg, void* context);
    static void read_in_work_item(void* context);
    bool send_again(query& which);
    void settle(query& which, answer&& told);

    // link.cpp
    struct place {
        ib_guid_t hca = 0;
        UCHAR number = 0;
        UCHAR state = IB_PORT_DOWN;
    };
    int find(place& found) const;
    int open_hca(const place& where);
    int join_ibmf(const place& where);
    bool make_parts();
    NTSTATUS refresh();
    void ask_answer_time();
    static void answer_time_told(port& of, own_access& which, const detail::access_request& told);

    // reports.cpp
    static void reported(ibmf_handle_t handle, ibmf_msg_t* msg, void* self);
    static void report_answered(ibmf_handle_t handle, ibmf_msg_t* msg, void* self);
    void heed(const subnet_event& event);
    void forget_all_paths(invalidation reason);
    void answer_report(ibmf_msg_t* msg);
    void begin_use();
    void shut();
    static void port_event(IB_CA*, void* self, UCHAR number, IB_ASYNC_EVENT event);
    static void refresh_work(void* self);
    static void ibmf_event(ibmf_handle_t, void* self, ibmf_async_event_t event);

    const std::shared_ptr<registry> home_;
    UCHAR number_ = 0;
    IB_CA* ca_ = nullptr;
    ibmf_handle_t ibmf_ = nullptr;
    KSPIN_LOCK lock_ = 0;
    waiting_accesses waiting_;
    KEVENT unused_;  // set while IBMF holds no message of the port
    KEVENT closing_; // set when a thread closes the port, within its turn
    WORK_QUEUE_ITEM refresh_item_;
    std::unique_ptr<own_access> class_port_info_;
    std::unique_ptr<event_subscriptions> subscriptions_;
    boost::intrusive_ptr<session> own_; // the session of internal accesses, while the port is open

    lookaside query_memory_{sizeof(query), 0x75516153}; // "SaQu"
    std::atomic<std::size_t> uses_{0};                  // queries, and responses to Reports

    // The port's lock guards all members below.
    bool ready_ = false;
    bool refreshing_ = false;
    bool moved_ = false; // the SM may have lost the subscriptions
    bool acting_ = false;
    port_facts facts_;
    ibmf_retrans_t times_;
    std::size_t most_answered_ = IBMF_SAA_MAX_ANSWER; // bytes
    subscribers subscribers_{*this};
    std::size_t session_count_ = 0;
    std::size_t listeners_ = 0;
    query_lines lines_;
    path_memory paths_;
    told_reports told_;
    LIST_ENTRY due_; // queries to send or to cancel
    std::uint32_t last_id_ = 0;
    ibmf_saa_stats_t counts_{};
};

} // namespace irpverbs::saa
