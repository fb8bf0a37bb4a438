// Messages to a subnet manager, and its status.
#include "manager_core.hpp"

#include <algorithm>
#include <set>

namespace irpverbs::subnet_manager {

namespace {

manager_state reported_state(std::uint8_t sm_state, bool configured) {
    switch (sm_state) {
    case SM_STATE_MASTER:
        return configured ? manager_state::master : manager_state::discovering;
    case SM_STATE_STANDBY:
        return manager_state::standby;
    case SM_STATE_NOTACTIVE:
        return manager_state::not_active;
    default:
        return manager_state::discovering;
    }
}

manager_status describe(const subnet& what) {
    manager_status status;
    status.lid = what.manager_lid();
    std::set<node_index> nodes{what.manager.node};
    for (const port_ref end : what.nodes.end_ports()) {
        nodes.insert(end.node);
        status.switches += what.nodes[end.node].is_switch() ? 1 : 0;
        ++status.end_ports;
    }
    status.nodes = static_cast<std::uint32_t>(nodes.size());
    return status;
}

} // namespace

void manager_core::update_subnet_status() { subnet_status_ = describe(*sweeper_->current()); }

void manager_core::publish_status() {
    manager_status now;
    const subnet* const current = sweeper_ != nullptr ? sweeper_->current() : nullptr;
    if (current != nullptr) now = subnet_status_;
    constexpr manager_state states[] = {manager_state::idle, manager_state::discovering,
                                        manager_state::stopping, manager_state::stopped};
    now.state = states[static_cast<int>(phase_)];
    if (phase_ == phase::running)
        now.state = reported_state(mastership_->state(), current != nullptr);
    if (sweeper_ != nullptr) {
        now.incomplete = sweeper_->incomplete();
        now.sweeps = sweeper_->sweeps();
        now.smps = smps_->sent();
        now.missing_responses = smps_->missing_responses();
    }
    const std::lock_guard guard(status_lock_);
    status_ = now;
}

// Ignores requests while another manager is the master: the requester finds the master by itself.
void manager_core::on_sa_message(message_parts what) {
    const std::uint8_t state = mastership_->state();
    if (stepping_down_ || state == SM_STATE_STANDBY || state == SM_STATE_NOTACTIVE) return;
    sa_->respond(std::move(what), sweeper_->current(), managers());
}

std::vector<sm_sminfo_t> manager_core::managers() const {
    std::vector<sm_sminfo_t> all{mastership_->info()};
    for (const remote_sm& each : mastership_->remote_managers())
        all.push_back(each.info);
    return all;
}

void manager_core::on_subnet_message(message_parts what) {
    const std::uint8_t method = what.header.method;
    if (method == MAD_METHOD_TRAP && what.header.attribute_id == sm_notice)
        on_trap(std::move(what));
    else if (what.header.attribute_id == sm_info)
        on_sm_info_request(what);
}

// Represses the trap first, since its issuer repeats it until then. Source: IBA 13.4.9.
void manager_core::on_trap(message_parts what) {
    if (!mastership_->is_master() || stepping_down_) return;
    const auto notice = unpack<ib_mad_notice_t>(what.data);
    message_parts repress = std::move(what);
    repress.header.method = MAD_METHOD_TRAP_REPRESS;
    repress.header.status = 0;
    subnet_port_->send(std::move(repress), 0);
    if (!notice || notice->IsGeneric == 0) return;
    handle_notice(*notice);
    const auto later = [this, what = *notice] { forward(what); };
    if (!queue_->post_call(later)) later();
}

void manager_core::handle_notice(const ib_mad_notice_t& notice) {
    switch (notice.TrapNumber_DeviceID) {
    case SM_LINK_STATE_CHANGED_TRAP:
        return sweeper_->on_link_state_trap(notice.IssuerLID);
    case SM_CAP_MASK_CHANGED_TRAP:
    case SM_SYS_IMG_GUID_CHANGED_TRAP:
        return sweeper_->request_heavy_sweep();
    default:
        return;
    }
}

// Forwards the trap after the switch poll has begun: subscribers need the loss of ports before the
// link state change that caused it.
void manager_core::forward(const ib_mad_notice_t& notice) {
    if (phase_ != phase::running || stepping_down_ || !mastership_->is_master()) return;
    if (sweeper_->current() != nullptr) sa_->report(notice, *sweeper_->current());
}

void manager_core::on_sm_info_request(const message_parts& what) {
    const bool sets = what.header.method == MAD_METHOD_SET;
    if (!sets && what.header.method != MAD_METHOD_GET) return;
    smp_data contents;
    const std::optional<std::uint16_t> status = mastership_->respond(what, contents);
    if (!status) return;
    constexpr std::uint16_t returns = 0x8000;
    message_parts response = what;
    response.header.method = MAD_METHOD_GET_RESPONSE;
    response.header.status = *status;
    if (response.header.mgmt_class == MAD_MGMT_CLASS_SUBN_DIRECT_ROUTE)
        response.header.status |= returns;
    std::ranges::copy(contents, response.data.begin());
    subnet_port_->send(std::move(response), 0);
    if (!sets || *status != 0 || stepping_down_) return;
    mastership_->execute(what);
    wake();
}

} // namespace irpverbs::subnet_manager
