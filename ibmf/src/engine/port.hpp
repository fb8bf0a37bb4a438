// A port with management clients: its place at the driver, and the exchanges of all its clients.
#ifndef IRPVERBS_IBMF_ENGINE_PORT_HPP
#define IRPVERBS_IBMF_ENGINE_PORT_HPP

#include <engine/alternate_qp.hpp>
#include <engine/datagram.hpp>
#include <engine/port_attributes.hpp>
#include <engine/tid_index.hpp>

#include <list>

namespace irpverbs::ibmf {

/// What ibmf_msg_transport asks for, after the checks that need no lock.
struct transport {
    client* who;
    message* msg;
    ibmf_retrans_t retrans;
    uint_t flags;
    told_by how;
    ibmf_msg_cb_t call = nullptr;
    void* argument = nullptr;
    alternate_qp* qp = nullptr; // null: its class's
    int refused = IBMF_SUCCESS; // out
};

class registry;

class port final : public transaction_table, public boost::intrusive_ref_counter<port> {
public:
    /// `its_messages` are the home's.
    port(std::shared_ptr<registry> its_home, message_pool& its_messages, ib_guid_t its_guid,
         UCHAR its_number)
        : messages(its_messages), guid(its_guid), number(its_number), home_(std::move(its_home)) {
        InitializeListHead(&clients);
    }

    // Life, at PASSIVE_LEVEL; one caller at a time.
    /// An IBMF_ status.
    int open();
    void close();
    int enlist(client& fresh);
    void dismiss(client& gone);
    int show_sm(client& whose, bool is_sm);
    int open_qp(alternate_qp& fresh);
    int modify_qp(alternate_qp& which, const IB_MAD_KEYS& keys);
    int close_qp(alternate_qp& gone);
    /// The HCA has failed: what clients still have of it at the driver is given back, so that it
    /// can go; they stay registered.
    void withdraw();

    // The exchange. Of an IBMF_ status other than success nothing has begun.
    int begin(IRP* irp, const transport& wanted);
    /// Under the lock: data that have come of a response that is still coming.
    std::size_t read(guard& under, const message& from, std::span<std::uint8_t> to);
    /// Under the lock: tells of the data again, if any are unread.
    void resume(guard& under, const message& what);
    /// Under the lock. False: it carries no transaction.
    bool cancel(guard& under, const message& what);
    void end_all(guard& under, const client& of, int code);
    /// Under the lock: forgets what nobody waits for any more.
    void forget_lingering(const client& of);
    void forget_lingering(const alternate_qp& of);
    bool has_transactions(const client& of);
    bool has_transactions(const alternate_qp& of);
    client* find_client(ibmf_client_type_t type, std::uint32_t oui = 0);
    void limit(guard& under, std::uint32_t in_flight);

    message_pool& messages;
    const ib_guid_t guid;
    const UCHAR number;
    IB_CA* ca = nullptr; // null: closed; changed in turn

    // All below: guarded by the lock.
    LIST_ENTRY clients;
    bool offline = false;
    port_attributes attributes;
    flow turns;
    ibmf_stats_t counts{};

private:
    // port.cpp
    struct shared_agent {
        agent place;
        method_set methods;
        unsigned users = 0;
    };
    int register_agent(agent& place, const class_plan& plan, const method_set& methods);
    NTSTATUS register_agent(agent& place, IB_MAD_AGENT_ATTR attr);
    void deregister_agent(agent& place);
    int join_shared(const class_plan& plan);
    void leave_shared(const class_plan& plan);
    NTSTATUS refresh();
    static void fatal(IB_CA*, void* self);
    static void port_event(IB_CA*, void* self, UCHAR number, IB_ASYNC_EVENT event);
    static void refresh_work(void* self);
    static void offline_work(void* self);
    boost::intrusive_ptr<client> next_to_notify();
    static void received(IB_MAD_AGENT* mad, void* place, const IB_MAD_RECEIVED* what);

    // alternate_qps.cpp
    bool enlist_qp(alternate_qp& fresh);

    // exchange.cpp
    int check(const transport& wanted, const mad_header& header) const;
    std::optional<IB_MAD_ADDRESS> address_of(const transport& wanted,
                                             const mad_header& header) const;
    template <class Owns>
    void forget_idle(const Owns& owns);
    bool tid_in_use(const transport& wanted, const mad_header& header,
                    const IB_MAD_ADDRESS& to) const;
    void fill(transaction& fresh, const transport& wanted, const mad_header& header);
    static std::unique_ptr<transfer> transfer_of(const transaction& fresh);
    bool start_over(guard& under, transaction& which);
    datagram* compose(const transaction& of);
    void launch(guard& under, transaction& which, ticks now);
    void resend(guard& under, transaction& which, ticks now);
    static bool write(datagram& to, const transaction& from);
    void launch_waiting(guard& under);
    void end(guard& under, transaction& which, int code);
    void settle(guard& under, transaction& which, IRP* irp, int code, NTSTATUS status);
    void forget(transaction& which);
    void expired(guard& under, transaction& which, ticks now) override;
    void cancelled(guard& under, transaction& which, IRP* irp) override;
    void finish(guard& under, transaction& which, const mad_view& answer, mad_bytes data);
    void back_off(guard& under, transaction& which);
    bool redirect(guard& under, transaction& which, const mad_view& answer);

    // transfers.cpp
    void progress(guard& under, transaction& which, ticks now);
    bool transmit(guard& under, transaction& which, ticks now);
    void end_transfer(guard& under, transaction& which);
    void linger(transaction& which);
    void tell_of_data(guard& under, transaction& which);
    void begin_response(transaction& which);
    struct arrival {
        const mad_view& view;
        mad_bytes data; // behind the headers: of a whole message all of it
        const IB_MAD_ADDRESS& from;
        client* who;
        alternate_qp* qp; // null: its class's
        bool whole;       // as the driver put it together, if it was a transfer
    };
    void begin_incoming(guard& under, const arrival& here);

    // arrivals.cpp
    static void received_at_qp(IB_MAD_AGENT* mad, void* qp, const IB_MAD_RECEIVED* what);
    bool parse(mad_bytes datagram, std::size_t length, mad_view& view);
    void receive(guard& under, agent& through, const IB_MAD_RECEIVED& what);
    void answer_came(guard& under, const arrival& here);
    void answered(guard& under, transaction& which, const arrival& here);
    void request_came(guard& under, const arrival& here);
    transaction* transfer_with(const arrival& here) const;
    void receive_raw(guard& under, alternate_qp& through, const IB_MAD_RECEIVED& what);
    void hand_up(guard& under, const arrival& single);
    void hand_up(guard& under, client& who, alternate_qp* qp, rmpp::message_buffer& whole,
                 const IB_MAD_ADDRESS& from, const rmpp::outcome& how);
    message* message_unasked(client& who, alternate_qp* qp, const IB_MAD_ADDRESS& from,
                             std::uint8_t mgmt_class);

    // sending.cpp
    void send(guard& under, datagram& what, const transaction& of, ticks answer_within);
    static void start_send(deferred& start);
    static void start_segment(deferred& start);
    static NTSTATUS sent(DEVICE_OBJECT*, IRP* irp, void* what);
    static NTSTATUS segment_sent(DEVICE_OBJECT*, IRP* irp, void* what);
    void sent(guard& under, datagram& what, NTSTATUS status);

    tid_index by_tid_;
    datagram_pool datagrams_;
    std::list<shared_agent> shared_; // changed by one caller at a time
    // Work that is queued when the machine ends still finds its registry.
    const std::shared_ptr<registry> home_;
    WORK_QUEUE_ITEM refresh_item_;
    WORK_QUEUE_ITEM offline_item_;
    bool refreshing_ = false; // guarded by the lock
};

/// By a queue pair; null: its class's.
inline listener& listener_of(client& who, alternate_qp* qp) {
    if (qp != nullptr) return *qp;
    return who;
}
inline bool has_rmpp(const client& who, const alternate_qp* qp) {
    return qp != nullptr ? qp->has_rmpp() : who.has_rmpp();
}

/// The counter of the client and of its port.
template <class Counter>
void client::count(Counter counter, std::uint64_t by) {
    counts.*counter += by;
    at->counts.*counter += by;
}

} // namespace irpverbs::ibmf

#endif
