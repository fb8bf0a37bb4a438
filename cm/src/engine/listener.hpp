// A service that accepts requests.
#pragma once

#include "connection.hpp"

#include <array>

namespace irpverbs::cm::engine {

struct listener {
    static constexpr ULONG default_backlog = 128;

    static listener& of(IB_CM_LISTENER* object) { return *reinterpret_cast<listener*>(object); }
    IB_CM_LISTENER* object() { return reinterpret_cast<IB_CM_LISTENER*>(this); }

    listener(client& its_owner, const ib_cm_listen_t& wanted);

    bool matches(std::span<const std::uint8_t> private_data) const;
    /// Whether a request could match both.
    bool collides_with(const listener& other) const;

    // The caller holds the port's lock.
    bool is_full() const { return requests_.size() >= backlog_; }
    void offer(connection& request, effects& fx);
    NTSTATUS get_request(IRP* irp, ib_cm_request_t* into, effects& fx);
    void withdraw(connection& request);
    connection* remove_oldest();

    client& owner;
    const ib_svc_id_t service_id;
    boost::intrusive::set_member_hook<> by_service;
    parked_irps waits;

private:
    void match(effects& fx);

    const ULONG backlog_;
    const UCHAR compare_offset_;
    const UCHAR compare_length_;
    std::array<std::uint8_t, IB_CM_REQ_PDATA_SIZE> compare_{};
    boost::intrusive::list<
        connection, boost::intrusive::member_hook<connection, boost::intrusive::list_member_hook<>,
                                                  &connection::backlog_entry>>
        requests_; // each has a reference
};

} // namespace irpverbs::cm::engine
