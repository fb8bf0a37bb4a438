// A port with management clients: its connection to the driver, and the transactions of its
// clients.
#ifndef IRPVERBS_IBMF_ENGINE_PORT_CONTEXT_HPP
#define IRPVERBS_IBMF_ENGINE_PORT_CONTEXT_HPP

#include <engine/alternate_qp.hpp>
#include <engine/datagram.hpp>
#include <engine/port_attributes.hpp>
#include <engine/tid_index.hpp>

#include <ci/support/port_watcher.hpp>

#include <list>

namespace irpverbs::ibmf {

/// The arguments of ibmf_msg_transport, after the checks that need no lock.
struct transport {
    client* who;
    message* msg;
    ibmf_retrans_t retrans;
    uint_t flags;
    completion_style completion;
    ibmf_msg_cb_t call = nullptr;
    void* argument = nullptr;
    alternate_qp* qp = nullptr; // null: the default QP of the class
    int refused = IBMF_SUCCESS; // result
};

class client_table;

class port_context final : public transaction_table,
                           public boost::intrusive_ref_counter<port_context> {
public:
    /// `its_messages` belong to `its_client_table`.
    port_context(std::shared_ptr<client_table> its_client_table, message_pool& its_messages,
                 ib_guid_t its_guid, UCHAR its_number);

    // Life cycle; at PASSIVE_LEVEL, one caller at a time.
    /// Returns an IBMF_ status.
    int open();
    void close();
    int attach(client& fresh);
    void detach(client& gone);
    int set_is_sm(client& whose, bool is_sm);
    int open_qp(alternate_qp& fresh);
    int modify_qp(alternate_qp& which, const IB_MAD_KEYS& keys);
    int close_qp(alternate_qp& gone);
    /// The HCA has failed: releases the clients' objects at the driver, so that the HCA can be
    /// removed. The clients stay registered.
    void release_hca();

    // Transactions. An IBMF_ status other than success means that no transaction has begun.
    int begin(IRP* irp, const transport& wanted);
    /// Called under the lock: moves out data of a response that is arriving.
    std::size_t read(guard& locked, const message& from, std::span<std::uint8_t> to);
    /// Called under the lock: notifies the client again if data are unread.
    void resume(guard& locked, const message& what);
    /// Called under the lock. False: the message has no transaction.
    bool cancel(guard& locked, const message& what);
    void end_all(guard& locked, const client& of, int code);
    /// Called under the lock: removes transactions in time-wait.
    void free_time_wait(const client& of);
    void free_time_wait(const alternate_qp& of);
    bool has_transactions(const client& of);
    bool has_transactions(const alternate_qp& of);
    client* find_client(ibmf_client_type_t type, std::uint32_t oui = 0);
    void limit(guard& locked, std::uint32_t in_flight);

    message_pool& messages;
    const ib_guid_t guid;
    const UCHAR number;

    // Called by the port's watcher:
    struct lifecycle;
    void port_event(IB_ASYNC_EVENT event);
    void port_changed();
    void hca_failed();

    // Members guarded by the lock:
    client_list clients;
    bool offline = false;
    port_attributes attributes;
    send_window window;
    ibmf_stats_t counts{};

private:
    // port.cpp
    struct shared_agent {
        agent slot;
        method_set methods;
        unsigned users = 0;
    };
    int register_agent(agent& slot, const class_mapping& mapping, const method_set& methods);
    NTSTATUS register_agent(agent& slot, IB_MAD_AGENT_ATTR attr);
    void deregister_agent(agent& slot);
    int acquire_shared_agent(const class_mapping& mapping);
    void release_shared_agent(const class_mapping& mapping);
    NTSTATUS refresh();
    static void offline_work(void* self);
    boost::intrusive_ptr<client> next_to_notify();
    static void received(IB_MAD_AGENT* mad, void* slot, const IB_MAD_RECEIVED* what);

    // alternate_qps.cpp
    bool attach_qp(alternate_qp& fresh);

    // exchange.cpp
    int check(const transport& wanted, const mad_header& header) const;
    std::optional<IB_MAD_ADDRESS> address_of(const transport& wanted,
                                             const mad_header& header) const;
    template <class Owns>
    void free_idle(const Owns& owns);
    bool tid_in_use(const transport& wanted, const mad_header& header,
                    const IB_MAD_ADDRESS& to) const;
    void fill(transaction& fresh, const transport& wanted, const mad_header& header);
    static std::unique_ptr<transfer> transfer_of(const transaction& fresh);
    bool restart(guard& locked, transaction& which);
    datagram* compose(const transaction& of);
    void start_transaction(guard& locked, transaction& which, ticks now);
    void resend(guard& locked, transaction& which, ticks now);
    static bool write(datagram& to, const transaction& from);
    void start_queued(guard& locked);
    void end(guard& locked, transaction& which, int code);
    void complete_transaction(guard& locked, transaction& which, IRP* irp, int code,
                              NTSTATUS status);
    void free_transaction(transaction& which);
    void expired(guard& locked, transaction& which, ticks now) override;
    void cancelled(guard& locked, transaction& which, IRP* irp) override;
    void complete_with_response(guard& locked, transaction& which, const mad_view& response,
                                mad_bytes data);
    void back_off(guard& locked, transaction& which);
    bool redirect(guard& locked, transaction& which, const mad_view& response);

    // transfers.cpp
    void progress(guard& locked, transaction& which, ticks now);
    bool transmit(guard& locked, transaction& which, ticks now);
    void end_transfer(guard& locked, transaction& which);
    void enter_time_wait(transaction& which);
    void notify_data(guard& locked, transaction& which);
    void begin_response(transaction& which);
    struct received_mad {
        const mad_view& view;
        mad_bytes data; // data behind the headers; all data of a whole message
        const IB_MAD_ADDRESS& from;
        client* who;
        alternate_qp* qp; // null: the default QP of the class
        bool driver_rmpp; // the driver has assembled it, if it was a transfer
    };
    void begin_incoming(guard& locked, const received_mad& here);

    // arrivals.cpp
    static void received_at_qp(IB_MAD_AGENT* mad, void* qp, const IB_MAD_RECEIVED* what);
    bool parse(mad_bytes datagram, std::size_t length, mad_view& view);
    void receive(guard& locked, agent& through, const IB_MAD_RECEIVED& what);
    void response_received(guard& locked, const received_mad& here);
    void handle_response(guard& locked, transaction& which, const received_mad& here);
    void request_received(guard& locked, const received_mad& here);
    transaction* find_transfer(const received_mad& here) const;
    void receive_raw(guard& locked, alternate_qp& through, const IB_MAD_RECEIVED& what);
    void deliver(guard& locked, const received_mad& single);
    void deliver(guard& locked, client& who, alternate_qp* qp, rmpp::message_buffer& whole,
                 const IB_MAD_ADDRESS& from, const rmpp::outcome& how);
    message* make_unsolicited(client& who, alternate_qp* qp, const IB_MAD_ADDRESS& from,
                              std::uint8_t mgmt_class);

    // sending.cpp
    void send(guard& locked, datagram& what, const transaction& of, ticks response_timeout);
    static void start_send(deferred& start);
    static void start_segment(deferred& start);
    static NTSTATUS sent(DEVICE_OBJECT*, IRP* irp, void* what);
    static NTSTATUS segment_sent(DEVICE_OBJECT*, IRP* irp, void* what);
    void sent(guard& locked, datagram& what, NTSTATUS status);

    tid_index by_tid_;
    datagram_pool datagrams_;
    std::list<shared_agent> shared_; // changed by one caller at a time
    // A work item that is queued at the end of the machine still finds its client table.
    const std::shared_ptr<client_table> client_table_;
    WORK_QUEUE_ITEM offline_item_;
    ci::detail::port_watcher<port_context> hca_; // changed under the lifecycle lock
};

/// The receive handler of a queue pair; null: of the default QP.
inline receive_handler& receive_handler_of(client& who, alternate_qp* qp) {
    if (qp != nullptr) return *qp;
    return who;
}
inline bool has_rmpp(const client& who, const alternate_qp* qp) {
    return qp != nullptr ? qp->has_rmpp() : who.has_rmpp();
}

/// Increments the counter of the client and of its port.
template <class Counter>
void client::count(Counter counter, std::uint64_t by) {
    counts.*counter += by;
    at->counts.*counter += by;
}

} // namespace irpverbs::ibmf

#endif
