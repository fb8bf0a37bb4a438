// A port with communication management: its client of IBMF, its connections and listeners.
#pragma once

#include "connection.hpp"
#include "deadlines.hpp"
#include "ethernet_paths.hpp"
#include "listener.hpp"
#include "resolution.hpp"
#include "ud_request.hpp"

#include <ci/support/port_watcher.hpp>
#include <dispatch/rundown.h>
#include <dispatch/support/spin_lock.hpp>
#include <ibmf/ibmf.h>
#include <saa/ibmf_saa_extras.h>

#include <optional>
#include <vector>

namespace irpverbs::cm::engine {

class port_table;

/// Serializes the opens and closes of ports of a machine. IRQL: PASSIVE_LEVEL.
class table_lock {
public:
    explicit table_lock(KEVENT& free) : free_(free) {
        KeWaitForSingleObject(&free_, Executive, KernelMode, FALSE, nullptr);
    }
    ~table_lock() { KeSetEvent(&free_, IO_NO_INCREMENT, FALSE); }
    table_lock(const table_lock&) = delete;
    table_lock& operator=(const table_lock&) = delete;

private:
    KEVENT& free_; // set while no thread holds the lock
};

/// The attributes of a port that connections use.
struct port_attributes {
    UCHAR number = 0;
    ib_guid_t port_guid = 0;
    ib_lid_t lid = 0;
    std::uint8_t lmc = 0;
    std::uint8_t mtu = 0;
    bool active = false;
    bool is_ethernet = false; // without LIDs, and without an SA
    std::vector<ib_gid_t> gids;
    std::vector<ib_pkey_t> pkeys;

    std::optional<USHORT> pkey_index(ib_pkey_t key) const;
    std::optional<USHORT> gid_index(const ib_gid_t& gid) const;
    bool has_lid(ib_lid_t which) const { return (which & ~((1u << lmc) - 1)) == lid; }
    /// No value: the port has no such P_Key or GID.
    std::optional<path_location> locate(const sa_path_record_t& path) const;
    /// Whether a client may name the path.
    bool takes(const sa_path_record_t& path) const;
    /// Makes the path of a client or a peer one of the port's link.
    void adapt(sa_path_record_t& path) const {
        if (is_ethernet) remove_lids(path);
    }
    /// The path over Ethernet. No value: none of the port's addresses reaches that one.
    std::optional<sa_path_record_t> path_to(const ib_gid_t& address) const;
};

class cm_port final : public boost::intrusive_ref_counter<cm_port> {
public:
    cm_port(port_table& table, const IB_CA_ATTR& hca, UCHAR its_number);
    ~cm_port();

    /// Holds the port's lock, and carries out the effects after its release. IRQL: <=
    /// DISPATCH_LEVEL.
    class guard {
    public:
        explicit guard(cm_port& at)
            : at_(&at), self_(dispatch::detail::this_processor()),
              level_(dispatch::detail::acquire_raising(self_, at.lock_)) {}
        ~guard() noexcept(false) {
            dispatch::detail::release_lowering(self_, at_->lock_, level_);
            fx.perform(*at_);
        }
        guard(const guard&) = delete;
        guard& operator=(const guard&) = delete;

        effects fx;

    private:
        const boost::intrusive_ptr<cm_port> at_;
        dispatch::detail::processor& self_;
        const KIRQL level_;
    };

    // PASSIVE_LEVEL, under the table's lifecycle lock.
    NTSTATUS open();
    NTSTATUS open_paths();
    void close();

    // For the port's watcher:
    class lifecycle {
    public:
        explicit lifecycle(cm_port& of);

    private:
        table_lock lock_;
    };
    static constexpr bool watches_all_ports = true; // alternate paths may start at another one
    void port_event(IB_ASYNC_EVENT) {}
    void port_changed() { refresh(); }

    /// Sends a message, or drops it without memory. IRQL: <= DISPATCH_LEVEL, without the lock.
    void send(const outgoing& what);

    // The caller of the functions below holds the lock.
    std::uint32_t new_id() { return ++last_id_; }
    std::uint64_t new_transaction_id() { return ca_guid << 32 | ++last_transaction_; }
    const port_attributes& attributes() const { return ports_[number - 1u]; }
    /// Null: the path starts at no port of the HCA.
    const port_attributes* start_of(const sa_path_record_t& path) const;
    bool is_closing() const { return closing_; }
    ibmf_saa_handle_t paths() const { return paths_; }
    bool finds_paths() const { return paths_ != nullptr || attributes().is_ethernet; }
    /// Whether queue pairs can load alternate paths.
    bool migrates() const { return hca_migrates_ && !attributes().is_ethernet; }

    void add(connection& fresh);
    void remove(connection& gone, effects& fx);
    /// False: another connection has the same.
    bool add_remote_id(connection& of);
    bool add_remote_qp(connection& of);
    void remove_remote_qp(connection& of);
    // receive_resolutions.cpp
    void add(resolution& fresh);
    void remove(resolution& gone, effects& fx);
    void add(ud_request& fresh);
    void remove(ud_request& gone, effects& fx);

    /// Keeps an object that has no connection any more, and repeats its last message for duplicates
    /// of the peer's: for that time, or until there are too many.
    void remember(offered& of, ticks time, effects& fx);

    void set_deadline(port_object& of, ticks after);
    void clear_deadline(port_object& of) { deadlines_.clear(of); }

    NTSTATUS listen(listener& fresh);
    void remove(listener& gone);

    const ib_guid_t ca_guid;
    const UCHAR number;
    const std::uint8_t ack_delay;
    std::size_t clients = 0;       // under the lifecycle lock
    std::size_t peer_connects = 0; // connections with is_peer_to_peer
    ib_cm_counters_t counters{};

private:
    struct local_id_of {
        using type = std::uint32_t;
        type operator()(const connection& of) const { return of.local_id; }
    };
    struct remote_id_of {
        using type = std::pair<ib_guid_t, std::uint32_t>;
        type operator()(const connection& of) const { return {of.peer.ca_guid, of.peer.id}; }
    };
    struct remote_qp_of {
        using type = std::pair<ib_guid_t, ib_qpn_t>;
        type operator()(const connection& of) const { return {of.peer.ca_guid, of.peer.qpn}; }
    };
    struct resolution_id_of {
        using type = std::uint32_t;
        type operator()(const resolution& of) const { return of.id; }
    };
    struct ud_request_key_of {
        using type = ud_request_key;
        const type& operator()(const ud_request& of) const { return of.key; }
    };
    struct service_of {
        using type = ib_svc_id_t;
        type operator()(const listener& of) const { return of.service_id; }
    };
    template <class Key, boost::intrusive::set_member_hook<> connection::*Hook>
    using connection_index = boost::intrusive::set<
        connection,
        boost::intrusive::member_hook<connection, boost::intrusive::set_member_hook<>, Hook>,
        boost::intrusive::key_of_value<Key>>;

    // link.cpp
    NTSTATUS open_hca();
    NTSTATUS register_with_ibmf();
    NTSTATUS refresh();
    void forget(offered& gone);
    bool drop_one();
    void drop_connections();
    // send.cpp
    struct datagram_in_flight;
    static void sent(ibmf_handle_t, ibmf_msg_t*, void* context);
    int transport(datagram_in_flight& what);
    // receive.cpp
    static void received(ibmf_handle_t handle, ibmf_msg_t* msg, void* self);
    void receive(const any_message& message, const datagram_address& source, effects& fx);
    void receive_request(const req_message& req, const any_message& message,
                         const datagram_address& source, effects& fx);
    bool receive_duplicate(const req_message& req, const any_message& message,
                           const datagram_address& source, effects& fx);
    void offer(const req_message& req, const datagram_address& source, effects& fx);
    connection* find_peer_of(const req_message& req);
    listener* find_listener(ib_svc_id_t service, service_kind kind,
                            std::span<const std::uint8_t> private_data);
    void reject(const req_message& req, std::uint16_t reason, const datagram_address& to,
                effects& fx);
    void receive_resolution(const sidr_req_message& req, const datagram_address& source,
                            effects& fx);
    void refuse(const sidr_req_message& req, std::uint8_t status, const datagram_address& to,
                effects& fx);
    void receive_response(const sidr_rep_message& rep, effects& fx);
    void receive_path_request(const any_message& message, const datagram_address& source,
                              effects& fx);
    void receive_path_response(const any_message& message, effects& fx);
    template <class Message>
    connection* addressee(const Message& message);
    connection* addressee(const rej_message& message);
    static bool is_early_rejection(const any_message& message, const connection& to);
    static event event_of(const any_message& message, const connection& to);
    void respond_to_stranger(const any_message& message, const datagram_address& to, effects& fx);
    // deadlines
    static void timer_expired(KDPC*, void* self, void*, void*);
    bool expire_one();
    void set_timer();

    port_table& table_;
    const bool hca_migrates_; // it has alternate paths
    ci::detail::port_watcher<cm_port> hca_;
    ibmf_handle_t ibmf_ = nullptr;
    bool any_p_key_ = false;
    ibmf_saa_handle_t paths_ = nullptr;
    EX_RUNDOWN_REF sends_; // acquired by each datagram that is being sent

    // The lock guards all members below.
    KSPIN_LOCK lock_ = 0;
    bool closing_ = false;
    std::vector<port_attributes> ports_; // of the HCA
    std::uint32_t last_id_;
    std::uint32_t last_transaction_ = 0;
    connection_index<local_id_of, &connection::by_local_id> connections_; // each is referenced
    connection_index<remote_id_of, &connection::by_remote_id> by_remote_id_;
    connection_index<remote_qp_of, &connection::by_remote_qp> by_remote_qp_;
    boost::intrusive::multiset<
        listener,
        boost::intrusive::member_hook<listener, boost::intrusive::set_member_hook<>,
                                      &listener::by_service>,
        boost::intrusive::key_of_value<service_of>>
        listeners_;
    boost::intrusive::set<resolution,
                          boost::intrusive::member_hook<
                              resolution, boost::intrusive::set_member_hook<>, &resolution::by_id>,
                          boost::intrusive::key_of_value<resolution_id_of>>
        resolutions_; // each is referenced, like the next
    boost::intrusive::set<ud_request,
                          boost::intrusive::member_hook<
                              ud_request, boost::intrusive::set_member_hook<>, &ud_request::by_key>,
                          boost::intrusive::key_of_value<ud_request_key_of>>
        ud_requests_;
    boost::intrusive::list<
        offered, boost::intrusive::member_hook<offered, boost::intrusive::list_member_hook<>,
                                               &offered::backlog_entry>>
        remembered_; // the oldest first
    deadlines deadlines_;
    ticks timer_due_ = 0; // 0: not set
    KTIMER timer_;
    KDPC timer_dpc_;
};

} // namespace irpverbs::cm::engine
