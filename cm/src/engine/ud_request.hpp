// A peer's request for the queue pair of a datagram service of this end.
#pragma once

#include "effects.hpp"
#include "offered.hpp"

#include <cm/cm.h>

#include <compare>

namespace irpverbs::cm::engine {

/// The values by which a repeated request is recognized. Source: IBA 12.11.3.
struct ud_request_key {
    std::uint32_t request_id = 0;
    ib_lid_t lid = 0; // of the peer
    ib_svc_id_t service_id = 0;
    std::uint64_t gid[2]{}; // of a peer in another subnet

    auto operator<=>(const ud_request_key&) const = default;
};

struct ud_request final : offered {
    /// Null without memory.
    static boost::intrusive_ptr<ud_request> make(cm_port& its_port, const sidr_req_message& from,
                                                 const datagram_address& source) noexcept;
    static ud_request_key key_of(const sidr_req_message& from, const datagram_address& source);

    static ud_request& of(IB_CM_UD_REQUEST* object) {
        return *reinterpret_cast<ud_request*>(object);
    }
    IB_CM_UD_REQUEST* object() { return reinterpret_cast<IB_CM_UD_REQUEST*>(this); }

    // The caller of the functions below holds the port's lock.

    ULONG_PTR give_to(client& its_owner, void* into) override;
    void reject_unserved(unserved why, effects& fx) override;
    peer_port source() const override { return peer_.sender(); }
    NTSTATUS respond(const ib_cm_ud_response_t& wanted, effects& fx);
    void close(effects& fx);
    /// The peer has sent the request again.
    void repeat_response(effects& fx);

    void on_time(effects& fx) override;
    /// No IRP of it is parked.
    void cancelled(IRP*, verb, effects&) override {}

    const boost::intrusive_ptr<cm_port> at;
    const ud_request_key key;
    boost::intrusive::set_member_hook<> by_key;

private:
    ud_request(cm_port& its_port, const sidr_req_message& from, const datagram_address& source);

    ib_cm_ud_request_t describe() const;
    void send_response(const sidr_rep_message& response, effects& fx);
    sidr_rep_message response_with(std::uint8_t status) const;

    const ib_pkey_t p_key_;
    const bytes<IB_CM_SIDR_REQ_PDATA_SIZE> private_data_;
    const datagram_address peer_;
    client* owner_ = nullptr; // has the request open
    bool has_response_ = false;
    datagram response_{};
};

} // namespace irpverbs::cm::engine
