// A service that accepts requests.
#pragma once

#include "offered.hpp"
#include "parked_irps.hpp"

#include <cm/cm.h>

#include <array>
#include <span>

namespace irpverbs::cm::engine {

/// The transport of a service, which decides on the message of its requests: REQ or SIDR_REQ.
enum class service_kind : std::uint8_t { connections, datagrams };

struct listener {
    static constexpr ULONG default_backlog = 128;

    static listener& of(IB_CM_LISTENER* object) { return *reinterpret_cast<listener*>(object); }
    IB_CM_LISTENER* object() { return reinterpret_cast<IB_CM_LISTENER*>(this); }

    listener(client& its_owner, const ib_cm_listen_t& wanted);

    bool matches(std::span<const std::uint8_t> private_data) const;
    /// Whether a request could match both.
    bool collides_with(const listener& other) const;

    // The caller holds the port's lock.
    /// Whether the backlog has room for a request of that port. In a full backlog the newest
    /// request of another port, of which more wait, is rejected in its favour.
    bool make_room_for(const peer_port& source, effects& fx);
    void offer(offered& request, effects& fx);
    /// `into` is what the kind of the service has: ib_cm_request_t, or ib_cm_ud_request_t.
    NTSTATUS get_request(IRP* irp, void* into, effects& fx);
    void withdraw(offered& request);
    offered* remove_oldest();

    client& owner;
    const ib_svc_id_t service_id;
    const service_kind kind;
    boost::intrusive::set_member_hook<> by_service;
    parked_irps waits;

private:
    void match(effects& fx);
    offered& next_request();
    std::size_t waiting_of(const peer_port& source) const;
    void unlink_request(offered& request);

    const ULONG backlog_;
    const UCHAR compare_offset_;
    const UCHAR compare_length_;
    std::array<std::uint8_t, IB_CM_REQ_PDATA_SIZE> compare_{};
    boost::intrusive::list<
        offered, boost::intrusive::member_hook<offered, boost::intrusive::list_member_hook<>,
                                               &offered::backlog_entry>>
        requests_; // each has a reference
    peer_port last_served_{};
};

} // namespace irpverbs::cm::engine
