#include "fabric.hpp"

#include "adapter.hpp"
#include "link.hpp"

#include "roce/ethernet_port.hpp"

#include <dispatch/machine.hpp>
#include <dispatch/support/faults.hpp>

#include <algorithm>
#include <bit>
#include <new>

namespace irpverbs::hca_software {

namespace {

constexpr ULONG capabilities =
    IB_PORT_CAP_NOTICE_SUP | IB_PORT_CAP_TRAP_SUP | IB_PORT_CAP_SL_MAP_SUP |
    IB_PORT_CAP_LED_INFO_SUP | IB_PORT_CAP_SYS_IMAGE_GUID_SUP | IB_PORT_CAP_EXTENDED_SPEEDS_SUP |
    IB_PORT_CAP_CLIENT_REREGISTER_SUP | IB_PORT_CAP_CAP_MASK_NOTICE_SUP | IB_PORT_CAP_DR_NOTICE_SUP;

// Sizes of P_Key tables.
constexpr std::size_t ca_pkeys = 16;
constexpr std::size_t switch_pkeys = port::max_pkeys;

port make_port(node& owner, UCHAR number, const port_plan& plan) {
    port made;
    made.owner = &owner;
    made.number = number;
    made.guid = plan.guid;
    made.width = plan.width;
    made.speed = plan.speed;
    made.capabilities = capabilities;
    made.capabilities |= owner.switches() ? IB_PORT_CAP_PKEY_SW_EXT_TRAP_SUP : IB_PORT_CAP_APM_SUP;
    made.gids = {{made.prefix, made.guid}};
    made.enabled_widths = supported_widths(made);
    made.enabled_speeds = supported_speeds(made);
    made.pkeys.resize(owner.switches() ? switch_pkeys : ca_pkeys);
    if (owner.switches() && number == 0) { // port 0 has no link
        made.state = IB_PORT_ACTIVE;
        made.physical = IB_PORT_PHYS_LINK_UP;
        made.active_width = plan.width;
        made.active_speed = plan.speed;
    }
    return made;
}

} // namespace

bool port::linked() const {
    return peer != nullptr && plugged && peer->plugged && enabled && peer->enabled;
}

fabric::fabric(const topology& plan) : simulated_(dispatch::machine::current().simulated()) {
    for (const node_plan& each : plan.nodes)
        add_node(each);
    connect(plan);
    scheduler_.initialize(run_scheduler, this);
    traps_.initialize(resend_traps, this);
}

fabric::~fabric() {
    for (node& each : nodes_)
        for (port& end : each.ports)
            if (end.ethernet != nullptr) end.ethernet->close();
    with_lock([this] {
        scheduler_.close();
        traps_.close();
        return true;
    });
    scheduler_.run_down();
    traps_.run_down();
}

void fabric::run_scheduler(KDPC*, void* context, void*, void*) {
    auto& self = *static_cast<fabric*>(context);
    self.change([&] {
        self.run_due_events();
        return true;
    });
}

void fabric::resend_traps(KDPC*, void* context, void*, void*) {
    auto& self = *static_cast<fabric*>(context);
    self.change([&] {
        self.traps_.resend_due(self);
        return true;
    });
}

void fabric::run_due_events() {
    event_scheduler::event due{};
    for (unsigned turn = 0; scheduler_.next_due(turn, due); ++turn)
        if (due.what != nullptr)
            arrive(due.what);
        else if (due.woken != 0)
            wake(due);
        else if (due.at != nullptr)
            plug(*due.at, true);
        else
            traps_.resend_due(*this);
}

bool fabric::chooses_straight() {
    return dispatch::machine::current().fires("hca.software.straight", 2);
}

void fabric::count_straight() {
    for (straight_path& each : straight_paths_)
        each.count();
}

node* fabric::find_node(ib_guid_t guid) {
    const auto place = std::ranges::find(nodes_, guid, &node::guid);
    return place == nodes_.end() ? nullptr : &*place;
}

namespace {

// A vendor's id is the first part of the GUIDs that it gives its nodes. Source: IBA 14.2.5.3.
ULONG vendor_of(const node_plan& plan) {
    constexpr unsigned own_bits = 40;
    return plan.vendor_id != 0 ? plan.vendor_id : static_cast<ULONG>(plan.guid >> own_bits);
}

} // namespace

void fabric::add_node(const node_plan& plan) {
    node& made = nodes_.emplace_back();
    made.type = plan.type;
    made.id = plan.id;
    made.description = plan.description;
    made.guid = plan.guid;
    made.system_image_guid = plan.system_image_guid;
    made.vendor_id = vendor_of(plan);
    made.device_id = plan.device_id;
    for (std::size_t i = 0; i < plan.ports.size(); ++i)
        made.ports.emplace_back(make_port(made, static_cast<UCHAR>(i), plan.ports[i]));
}

void fabric::connect(const topology& plan) {
    for (std::size_t i = 0; i < plan.nodes.size(); ++i)
        for (std::size_t p = 1; p < plan.nodes[i].ports.size(); ++p)
            if (const auto peer = plan.nodes[i].ports[p].peer)
                nodes_[i].ports[p].peer = &nodes_[peer->node].ports[peer->port];
    for (node& each : nodes_)
        for (port& end : each.ports)
            if (end.linked()) train(end);
}

void fabric::set_faults(HCA_SOFTWARE_FAULTS of_a_cable) {
    for (node& each : nodes_)
        for (port& end : each.ports) {
            if (end.peer == nullptr || end.faults != nullptr) continue;
            ++of_a_cable.Seed;
            end.faults = end.peer->faults = std::make_shared<link_faults>(of_a_cable);
        }
}

// The physical layer has found a partner. The port waits for the subnet manager.
void fabric::train(port& end) {
    routes_changed();
    end.physical = IB_PORT_PHYS_LINK_UP;
    end.state = IB_PORT_INIT;
    end.active_width = common_width(end);
    end.active_speed = common_speed(end);
    if (end.owner->switches()) raise_link_state(*end.owner);
}

void fabric::drop(port& end) {
    routes_changed();
    const bool was_active = end.state == IB_PORT_ACTIVE;
    if (end.physical == IB_PORT_PHYS_LINK_UP) ++end.counters.LinkDowned;
    end.physical = end.enabled ? IB_PORT_PHYS_POLLING : IB_PORT_PHYS_DISABLED;
    end.state = IB_PORT_DOWN;
    if (was_active) raise(end, IB_AE_PORT_ERROR);
    if (end.owner->switches()) raise_link_state(*end.owner);
}

// Takes the place of a subnet manager on ports that bring_up() has configured.
void fabric::configure(port& end) {
    if (!end.in_subnet) return;
    set_state(end, IB_PORT_ARMED);
    set_state(end, IB_PORT_ACTIVE);
}

// Leaves the given end in the state that training ends in.
void fabric::retrain_link(port& end) {
    const bool linked = end.linked();
    drop(end);
    if (!linked) return;
    drop(*end.peer);
    train(end);
    train(*end.peer);
    configure(*end.peer);
}

// A port goes down with its link, and up from Init one step at a time. Source: IBA 7.2.7.
bool fabric::set_state(port& end, IB_PORT_STATE state) {
    const bool step = (end.state == IB_PORT_INIT && state == IB_PORT_ARMED) ||
                      (end.state == IB_PORT_ARMED && state == IB_PORT_ACTIVE);
    const bool retrain = state == IB_PORT_DOWN && end.state != IB_PORT_DOWN;
    if (!step && !retrain) return false;
    if (retrain) {
        retrain_link(end);
        return true;
    }
    routes_changed();
    end.state = state;
    if (state == IB_PORT_ACTIVE) raise(end, IB_AE_PORT_ACTIVE);
    return true;
}

// No event is lost; without memory the order of events is.
void fabric::raise(port& end, IB_ASYNC_EVENT event) try {
    const adapter* attached = end.owner->attached.get();
    if (attached == nullptr) return;
    has_events_ = true;
    if (dispatch::detail::fault_point("hca.software.port_event")) throw std::bad_alloc();
    events_.push_back({attached->device(), end.number, event});
} catch (const std::bad_alloc&) {
    end.unqueued_events |= static_cast<UCHAR>(1u << (event - IB_AE_PORT_ACTIVE));
    has_unqueued_events_ = true;
}

// Both ends take the state of the cable between them.
void fabric::follow_cable(port& end) {
    for (port* each : {&end, end.peer}) {
        if (end.linked())
            train(*each);
        else
            drop(*each);
    }
    if (!end.linked()) return;
    configure(end);
    configure(*end.peer);
}

void fabric::plug(port& end, bool connected) {
    if (end.peer == nullptr || end.plugged == connected) return;
    end.plugged = end.peer->plugged = connected;
    follow_cable(end);
}

void fabric::enable(port& end, bool on) {
    if (end.enabled == on) return;
    end.enabled = on;
    if (end.peer == nullptr || !end.plugged) {
        end.physical = on ? IB_PORT_PHYS_POLLING : IB_PORT_PHYS_DISABLED;
        return;
    }
    follow_cable(end);
}

// Injects errors from which the link recovers by training.
void fabric::fail(port& end) {
    if (!end.linked()) return;
    ++end.counters.SymbolErrors;
    ++end.counters.LinkIntegrityErrors;
    raise_link_error(end, trap_link_integrity);
    for (port* each : {&end, end.peer}) {
        ++each->counters.LinkErrorRecoveries;
        drop(*each);
        train(*each);
    }
    configure(end);
    configure(*end.peer);
}

bool fabric::next_event(pending_event& next) {
    const dispatch::detail::spin_guard guard(lock_);
    if (!events_.empty()) {
        next = events_.front();
        events_.pop_front();
        return true;
    }
    reporting_ = has_events_ = has_unqueued_events_ && take_unqueued_event(next);
    return reporting_;
}

bool fabric::take_unqueued_event(pending_event& next) {
    for (node& each : nodes_)
        for (port& end : each.ports) {
            if (end.unqueued_events == 0) continue;
            const int event = IB_AE_PORT_ACTIVE + std::countr_zero(end.unqueued_events);
            end.unqueued_events &= static_cast<UCHAR>(end.unqueued_events - 1);
            next = {each.attached->device(), end.number, static_cast<IB_ASYNC_EVENT>(event)};
            return true;
        }
    has_unqueued_events_ = false;
    return false;
}

void fabric::wake_at(machine_time due, port& at, ib_qpn_t qp) {
    if (!scheduler_.post_wake(due, at, qp)) at.owner->attached->traffic().wake(qp, due);
}

void fabric::report_events() {
    pending_event next{};
    while (next_event(next))
        HcaReportPortEvent(next.device, next.port, next.event);
}

} // namespace irpverbs::hca_software
