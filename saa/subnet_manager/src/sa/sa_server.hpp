// The subnet administration: queries, registrations, and Reports. Statuses are OpenSM's.
#pragma once

#include "reporter.hpp"
#include "sa_query.hpp"
#include "service_registry.hpp"
#include "subscriptions.hpp"
#include <message_port.hpp>
#include <model/multicast_groups.hpp>
#include <sweep/multicast_router.hpp>

namespace irpverbs::subnet_manager {

/// Runs in tasks of the queue.
class sa_server {
public:
    /// Drops requests with a key other than `key` and 0; requests with `key` are trusted. The
    /// groups of `partitions` exist from the start. `reregister` requests the clients of a port to
    /// register again.
    sa_server(message_port& port, multicast_router& router, std::uint64_t key,
              const partition_table& partitions, std::function<void(ib_guid_t port)> reregister);

    /// Responds to a request from the subnet and its subnet managers. While the subnet is null, the
    /// response asks the requester to repeat the request.
    void respond(message_parts what, const subnet* net, std::span<const sm_sminfo_t> managers);

    /// Sends Reports that wait for the port. The manager calls it periodically.
    void tick() { reporter_.resume(); }

    /// Reports ports that appeared or disappeared in a sweep, and routes multicasts again.
    void subnet_changed(const subnet* before, const subnet& now);

    /// Reports that these end ports have become unreachable, and ends their registrations.
    void on_ports_lost(std::span<const port_ref> lost, const subnet& net);

    /// Routes the groups again.
    void route_groups(const subnet& net);

    /// Reports an event to its subscribers.
    void report(const ib_mad_notice_t& notice, const subnet& net);

private:
    struct sa_request {
        const message_parts& what;
        const subnet& net;
        const pkey_access& access;
        std::span<const sm_sminfo_t> managers;
        ibmf::sa_header sa;
        bool trusted;

        sa_query query(const multicast_groups& groups) const {
            return {net,       access,
                    groups,    sa.component_mask,
                    what.data, what.header.method == SA_SUBN_ADM_GET_TABLE,
                    trusted,   what.header.attribute_modifier};
        }
    };
    /// The group of a request.
    struct rerouting {
        ib_lid_t mlid = 0; // 0: none
        bool tree_changed = false;
        port_ref joined; // a new member
    };
    using handler = std::uint16_t (sa_server::*)(const sa_request&, record_list&);
    struct service_entry;
    static const service_entry* find_service(std::uint16_t attribute, std::uint8_t method);

    std::uint16_t multicast_tables(const sa_request& request, record_list& found);
    std::uint16_t class_port_info(const sa_request& request, record_list& found);
    template <std::uint16_t (*Find)(const sa_query&, record_list&)>
    std::uint16_t run_query(const sa_request& request, record_list& found);
    std::uint16_t sm_info_records(const sa_request& request, record_list& found);
    std::uint16_t services(const sa_request& request, record_list& found);
    std::uint16_t set_service(const sa_request& request, record_list& found);
    std::uint16_t delete_service(const sa_request& request, record_list& found);
    std::uint16_t memberships(const sa_request& request, record_list& found);
    std::uint16_t join(const sa_request& request, record_list& found);
    std::uint16_t leave(const sa_request& request, record_list& found);
    std::uint16_t set_subscription(const sa_request& request, record_list& found);
    std::uint16_t subscriptions(const sa_request& request, record_list& found);

    std::uint16_t find(const service_entry& service, const message_parts& what, const subnet& net,
                       std::span<const sm_sminfo_t> managers, record_list& found);
    static bool may_change(const sa_request& request, const sa_service_record_t& service);
    static bool may_subscribe(const sa_request& request, const ib_mad_informinfo_t& info);
    std::uint16_t change_membership(const sa_request& request, record_list& found, bool joins);
    void group_changed(const multicast_result& done, const subnet& net);
    void respond_when_routed(message_parts what, std::uint16_t status, record_list found,
                             const subnet& net);
    void send(message_parts response, std::uint16_t status, record_list found);
    void remove_port(port_ref port, const subnet& net);
    void on_reports_lost(const subscriber& whose);
    void notify_subscribers(const ib_mad_notice_t& notice, const subnet& net,
                            const std::function<bool(const pkey_access&)>& may_see);

    message_port& port_;
    multicast_router& router_;
    const std::uint64_t key_;
    const std::function<void(ib_guid_t port)> reregister_;
    reporter reporter_;
    service_registry services_;
    multicast_groups groups_;
    subscription_table subscriptions_;
    rerouting rerouted_; // of the current request
};

} // namespace irpverbs::subnet_manager
