// The subnet administration: what is asked of it, registered with it, and told by it. Statuses are
// OpenSM's.
#pragma once

#include "reporter.hpp"
#include "sa_query.hpp"
#include "service_registry.hpp"
#include "subscriptions.hpp"
#include <message_port.hpp>
#include <model/multicast_groups.hpp>
#include <sweep/multicast_router.hpp>

namespace irpverbs::subnet_manager {

/// For tasks of the queue.
class sa_server {
public:
    /// A request with another key than `key` or 0 is dropped; with it, it is trusted. The groups of
    /// `partitions` are there from the start.
    sa_server(message_port& port, multicast_router& router, std::uint64_t key,
              const partition_table& partitions);

    /// A request, and what it is answered from: the subnet (null: not yet, ask again), and the
    /// subnet managers in it.
    void answer(message_parts what, const subnet* net, std::span<const sm_sminfo_t> managers);

    /// Now and then: Reports that the port held up are sent.
    void tick() { reporter_.resume(); }

    /// A sweep has ended: who came and who went is told, and multicasts are routed anew.
    void subnet_changed(const subnet* before, const subnet& now);

    /// These end ports can't be reached any more: that is told, and what they registered ends.
    void ports_go(std::span<const port_ref> lost, const subnet& net);

    /// Routes the groups anew.
    void route_groups(const subnet& net);

    /// An event is told to those who asked for it.
    void report(const ib_mad_notice_t& notice, const subnet& net);

private:
    struct request {
        const message_parts& what;
        const subnet& net;
        const onlooker& by;
        std::span<const sm_sminfo_t> managers;
        ibmf::sa_header sa;
        bool trusted;

        sa_query query(const multicast_groups& groups) const {
            return {net,       by,
                    groups,    sa.component_mask,
                    what.data, what.header.method == SA_SUBN_ADM_GET_TABLE,
                    trusted};
        }
    };
    /// The group that a request was about.
    struct rerouting {
        ib_lid_t mlid = 0; // 0: none
        bool tree_changed = false;
        port_ref joined; // a new member
    };
    using handler = std::uint16_t (sa_server::*)(const request&, record_list&);
    struct service_entry;
    static const service_entry* find_service(std::uint16_t attribute, std::uint8_t method);

    std::uint16_t multicast_tables(const request& asked, record_list& found);
    std::uint16_t class_port_info(const request& asked, record_list& found);
    template <std::uint16_t (*Find)(const sa_query&, record_list&)>
    std::uint16_t look_up(const request& asked, record_list& found);
    std::uint16_t sm_info_records(const request& asked, record_list& found);
    std::uint16_t services(const request& asked, record_list& found);
    std::uint16_t set_service(const request& asked, record_list& found);
    std::uint16_t delete_service(const request& asked, record_list& found);
    std::uint16_t memberships(const request& asked, record_list& found);
    std::uint16_t join(const request& asked, record_list& found);
    std::uint16_t leave(const request& asked, record_list& found);
    std::uint16_t set_subscription(const request& asked, record_list& found);
    std::uint16_t subscriptions(const request& asked, record_list& found);

    std::uint16_t find(const service_entry& service, const message_parts& what, const subnet& net,
                       std::span<const sm_sminfo_t> managers, record_list& found);
    static bool may_change(const request& asked, const sa_service_record_t& service);
    static bool may_subscribe(const request& asked, const ib_mad_informinfo_t& info);
    std::uint16_t change_membership(const request& asked, record_list& found, bool joins);
    void group_changed(const multicast_answer& done, const subnet& net);
    void answer_when_routed(message_parts what, std::uint16_t status, record_list found,
                            const subnet& net);
    void send(message_parts answer, std::uint16_t status, record_list found);
    void port_goes(port_ref port, const subnet& net);
    void tell(const ib_mad_notice_t& notice, const subnet& net,
              const std::function<bool(const onlooker&)>& may_know);

    message_port& port_;
    multicast_router& router_;
    const std::uint64_t key_;
    reporter reporter_;
    service_registry services_;
    multicast_groups groups_;
    subscription_table subscriptions_;
    rerouting rerouted_; // by the request that is being answered
};

} // namespace irpverbs::subnet_manager
