// A connection, or a request for one, of either end.
#pragma once

#include "effects.hpp"
#include "offered.hpp"
#include "parked_irps.hpp"
#include "path_exchange.hpp"
#include "path_query.hpp"
#include "paths.hpp"
#include "qp_changer.hpp"

#include <ci/qp_changes.hpp>
#include <cm/cm.h>
#include <state/transitions.hpp>

#include <algorithm>
#include <memory>
#include <span>

namespace irpverbs::cm::engine {

class cm_port;
/// The numbers of a connection that its messages carry, from the side of this end.
struct connection_terms {
    ib_svc_id_t service_id = 0;
    ib_qp_type_t type = IB_QPT_RELIABLE_CONN;
    sa_path_record_t primary{};
    alternate_path alternate; // path.DLID 0: none
    bool fails_over = false;  // the alternate path is loaded in RTS
    // This end's queue pair:
    std::uint8_t resp_res = 0;
    std::uint8_t init_depth = 0;
    std::uint8_t rnr_nak_timeout = 0;
    std::uint8_t retry_count = 0;
    std::uint8_t rnr_retry_count = 0;
    std::uint8_t ack_timeout = 0;
    ib_access_t access = 0;
    std::uint32_t rq_psn = 0;
    std::uint32_t sq_psn = 0;
    path_location location; // of the primary path
    // The messages:
    std::uint8_t offered_rnr_retry_count = 0; // for the peer's queue pair
    std::uint8_t max_retries = 0;
    std::uint8_t remote_response_timeout = 0;
    std::uint8_t local_response_timeout = 0;
};

struct peer_state {
    std::uint32_t id = 0; // 0: not known
    ib_guid_t ca_guid = 0;
    ib_qpn_t qpn = 0;
    bool srq = false;
    datagram_address address;
};

/// `peer`: CmConnect with IB_CM_PEER_TO_PEER that has become the passive end.
enum class role : std::uint8_t { active, passive, peer };

/// An event with its parameters.
struct cause {
    event what;
    effects& fx;
    NTSTATUS status = STATUS_SUCCESS;                // of a failure
    const any_message* message = nullptr;            // that is the event
    const datagram_address* source = nullptr;        // of the message
    const ib_cm_reject_t* rejection = nullptr;       // the client's
    const ib_cm_path_response_t* response = nullptr; // the client's, to a LAP; null: it is loaded
};

struct connection final : offered {
    /// Null without memory.
    static connection_ref make(cm_port& at, role its_role) noexcept;

    static connection& of(IB_CM_CONNECTION* object) {
        return *reinterpret_cast<connection*>(object);
    }
    IB_CM_CONNECTION* object() { return reinterpret_cast<IB_CM_CONNECTION*>(this); }

    // The caller of the functions below holds the port's lock.

    /// Makes the transition of the event. False: there is none, and nothing has happened.
    bool raise(const cause& why);
    state now() const { return state_; }
    bool has_ended() const { return state_ >= state::dreq_sent; }
    /// Also while an alternate path is exchanged.
    bool is_established() const { return state_ >= state::established && !has_ended(); }

    // client_calls.cpp. STATUS_PENDING: the IRP is parked. Otherwise the caller completes it.
    NTSTATUS connect(IRP* irp, const ib_cm_connect_t& wanted, ib_cm_reply_t* reply, effects& fx);
    NTSTATUS complete_connect(IRP* irp, std::span<const std::uint8_t> data, effects& fx);
    NTSTATUS accept(IRP* irp, const ib_cm_accept_t& wanted, effects& fx);
    NTSTATUS reject(const ib_cm_reject_t& wanted, effects& fx);
    NTSTATUS disconnect(IRP* irp, std::span<const std::uint8_t> data, effects& fx);
    NTSTATUS get_event(IRP* irp, ib_cm_event_t* into, effects& fx);
    void close(IRP* irp, effects& fx);
    NTSTATUS query_qp_change(ib_qp_state_t to, ib_qp_mod_t& into);
    NTSTATUS load_path(IRP* irp, const sa_path_record_t& path, std::span<const std::uint8_t> data,
                       ib_cm_path_response_t* response, effects& fx);
    NTSTATUS respond_path(IRP* irp, const ib_cm_path_response_t* response, effects& fx);

    // loading_paths.cpp
    /// The status of an APR that refuses the path; IB_CM_AP_LOADED: it may be loaded.
    std::uint8_t check(const lap_message& lap) const;
    /// Whether it is the last LAP, sent again.
    bool knows(const lap_message& lap) const;
    /// False: no memory for the exchange of a path.
    bool reserve_exchange();

    // requests.cpp
    /// Reads the request that begins a passive connection.
    /// False: no memory.
    bool take_request(const req_message& from, const datagram_address& source);
    bool is_request(const req_message& other) const;
    ULONG_PTR give_to(client& its_owner, void* into) override;
    void reject_unserved(unserved why, effects& fx) override;
    peer_port source() const override { return peer.address.sender(); }

    /// Ends at once, since the port is being closed. No client has the connection.
    void drop(effects& fx);

    void verb_ended(NTSTATUS status, effects& fx);

    // qp_parameters.cpp
    ci::init_attributes init_attributes() const;
    ci::rtr_attributes rtr_attributes() const;
    ci::rts_attributes rts_attributes() const;
    /// The change to RTS, with the alternate path that both ends have accepted.
    ib_qp_mod_t rts_change() const;
    /// The change that loads the path of the exchange.
    ib_qp_mod_t path_change(ib_apm_state_t now) const;

    void on_time(effects& fx) override;
    void cancelled(IRP* irp, verb which, effects& fx) override;

    const boost::intrusive_ptr<cm_port> at;
    const std::uint32_t local_id;
    role as;
    bool is_peer_to_peer = false;
    client* owner = nullptr; // has the connection open, or has called CmConnect
    peer_state peer;
    connection_terms terms;
    qp_changer qp{*this};

    boost::intrusive::set_member_hook<> by_local_id;
    boost::intrusive::set_member_hook<> by_remote_id;
    boost::intrusive::set_member_hook<> by_remote_qp;

private:
    connection(cm_port& its_port, role its_role);

    void act(action what, const cause& why);
    // connecting.cpp
    void query_qp(const cause& why);
    void send_req(const cause& why);
    void end_unsent(const cause& why);
    void take_reply(const cause& why);
    void refuse_reply(const cause& why);
    void take_peer_request(const cause& why);
    void reply_is_ready(const cause& why);
    void start_sending(const cause& why);
    void send_rtu(const cause& why);
    // accepting.cpp
    void start_receiving(const cause& why);
    void send_rep(const cause& why);
    void fail_accept(const cause& why);
    void finish_establishment(const cause& why);
    // waiting.cpp
    void extend_wait(const cause& why);
    void resend(const cause& why);
    void repeat(const cause& why);
    void repeat_rejection(const cause& why);
    void request_time(const cause& why);
    // rejecting.cpp
    void give_up(const cause& why);
    void take_rejection(const cause& why);
    void reject_for_qp(const cause& why);
    void reject_by_client(const cause& why);
    void reject_abandoned(const cause& why);
    // disconnecting.cpp
    void begin_disconnect(const cause& why);
    void send_dreq(const cause& why);
    void begin_stop(const cause& why);
    void send_drep(const cause& why);
    void confirm(const cause& why);
    void confirm_again(const cause& why);
    void disconnected(const cause& why);
    void unconfirmed(const cause& why);
    void end(const cause& why);
    // loading_paths.cpp
    void send_lap(const cause& why);
    void resend_path_message(const cause& why);
    void path_timed_out(const cause& why);
    void take_path_rejection(const cause& why);
    void load_own_path(const cause& why);
    void finish_path(const cause& why);
    void take_lap(const cause& why);
    void yield_to_lap(const cause& why);
    void request_time_for_path(const cause& why);
    void load_peers_path(const cause& why);
    void refuse_path(const cause& why);
    void send_apr(const cause& why);
    void fail_path(const cause& why);
    void forget_path(const cause& why);
    void repeat_path_message(const cause& why);

    /// Sends the message and keeps it for `resend` and `repeat`.
    template <class Message>
    void send(const Message& message, effects& fx) {
        encode(message, transaction_id_, last_);
        fx.send(peer.address, last_);
    }
    /// The same, of the exchange of a path.
    template <class Message>
    void send_of_path(const Message& message, effects& fx) {
        encode(message, transaction_id_, exchange_->last);
        fx.send(peer.address, exchange_->last);
    }
    void take_response(const ib_cm_path_response_t* from);
    static ib_cm_path_response_t response_in(const apr_message& apr);
    /// Ends the verb that waits for the exchange of a path.
    void finish_path_verb(NTSTATUS status, effects& fx);
    rej_message rejection(std::uint16_t reason) const;
    void fail_with_rejection(std::uint16_t reason, NTSTATUS status, effects& fx);
    void give_object(effects& fx);
    void fill_reply(const rej_message& from);
    void fill_reply(const rep_message& from);

    void change_qp(qp_goal goal, effects& fx);
    void qp_changed(const qp_outcome& outcome, effects& fx);
    event event_of(const qp_outcome& outcome) const;
    /// Ends the verb that waits, when the queue pair is the client's again.
    void finish_verb(NTSTATUS status, ULONG_PTR information, effects& fx);
    void finish(IRP* irp, NTSTATUS status, ULONG_PTR information, effects& fx);
    void finish_closing(effects& fx);
    void emit(ib_cm_event_type_t type, effects& fx);
    void deliver_events(effects& fx);
    ib_cm_event_t next_event();
    /// Stops the queue pair and waits until no packet is on its way.
    void enter_timewait(effects& fx);
    void wait_for(ticks time);
    ticks response_wait() const;
    /// The time in which the peer repeats a message that this end has rejected.
    ticks peers_retries_wait() const;
    bool has_rejected() const; // by its last message
    /// Half of the time after which the peer sends its last message again.
    ticks half_of_peers_wait() const;
    bool has_retries() const;
    NTSTATUS state_failure() const;
    /// Moves the private data for the next message into its field.
    void take_data(std::span<std::uint8_t> field) {
        std::ranges::copy_n(data_.begin(), static_cast<std::ptrdiff_t>(field.size()),
                            field.begin());
        data_ = {};
    }
    bool keep_data(const void* data, std::size_t size, std::size_t limit);
    bool has_valid(const ib_cm_connect_t& wanted) const;
    void take_wanted(const ib_cm_connect_t& wanted);
    /// `Wanted`: ib_cm_connect_t or ib_cm_accept_t.
    template <class Wanted>
    void take_qp(const Wanted& wanted) {
        if (wanted.h_qp != nullptr)
            qp.set_qp(wanted.h_qp);
        else
            qp.set_numbers(wanted.qpn, wanted.qp_type, wanted.srq != FALSE);
    }
    /// The package loads an alternate path, so it changes the queue pair.
    bool migrates() const;
    /// Decides whether the alternate path of the request is loaded.
    std::uint8_t failover_of(std::uint8_t wanted);
    /// Finds the path's keys in the port's tables. False: the port has no such key or GID.
    bool locate_path();
    bool locate_alternate(alternate_path& which) const;
    static void add_alternate(ib_qp_mod_t& to, const alternate_path& which);
    void release_owner();
    ib_cm_request_t describe_request() const;
    static void path_ended(port_object& self, NTSTATUS status, const sa_path_record_t* found,
                           effects& fx);
    static std::uint32_t random_psn();

    state state_;
    bool is_open_ = false; // the client has the object
    bool is_closing_ = false;
    bool establishes_ = false;   // CmConnect ends with the established connection
    bool was_connected_ = false; // has been established
    std::uint8_t failover_ = 0;  // of REP
    std::uint8_t retries_left_ = 0;
    std::uint64_t transaction_id_ = 0;
    datagram last_{};
    std::unique_ptr<req_message> request_; // that the passive end received
    bytes<IB_CM_RTU_PDATA_SIZE> data_{};   // private data of the next message

    parked_irps waits_;                       // at most one
    std::unique_ptr<path_exchange> exchange_; // null: there was none
    parked_irps path_waits_;                  // at most one
    ib_cm_reply_t* reply_ = nullptr;
    IRP* finishing_ = nullptr; // ended verbs, until the queue pair is the client's again
    IRP* closing_ = nullptr;

    ib_gid_t dest_gid_{};
    path_query path_;

    unsigned pending_events_ = 0; // bits by type
    bytes<IB_CM_DREQ_PDATA_SIZE> event_data_{};
    parked_irps event_waits_;
};

} // namespace irpverbs::cm::engine
