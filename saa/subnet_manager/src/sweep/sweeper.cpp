#include "sweeper.hpp"

#include <dispatch/testing/probe.hpp>

#include <algorithm>

namespace irpverbs::subnet_manager {

namespace {

constexpr unsigned max_doublings = 5;

} // namespace

void sweeper::begin_heavy_sweep() {
    if (stopped_) return;
    if (activity_ != activity::none)
        sweep_again_ = true;
    else
        begin();
}

void sweeper::request_heavy_sweep() {
    if (stopped_) return;
    if (activity_ != activity::none) return static_cast<void>(sweep_again_ = true);
    if (sweeps_left_ == 0) return static_cast<void>(sweep_deferred_ = true);
    --sweeps_left_;
    begin();
}

void sweeper::refill(machine_time now) {
    if (refill_at_ == 0) refill_at_ = now + ticks_per_second;
    if (now < refill_at_) return;
    refill_at_ = now + ticks_per_second;
    sweeps_left_ = std::min(sweeps_left_ + 1, max_burst);
}

void sweeper::on_link_state_trap(ib_lid_t lid) {
    const port_ref at = current_ != nullptr ? current_->lids.port_of(lid) : port_ref{};
    const bool knows = at.valid() && current_->nodes[at.node].is_switch();
    const bool may_poll = activity_ == activity::none || activity_ == activity::polling_switch;
    if (stopped_ || !knows || !may_poll) return request_heavy_sweep();
    reported_switches_.insert(at.node);
    if (activity_ == activity::none) poll_next_switch();
}

void sweeper::poll_next_switch() {
    const node_index at = *reported_switches_.begin();
    reported_switches_.erase(reported_switches_.begin());
    begin_switch_poll(at);
    switch_poll_->read([this, at](const port_changes& found) {
        const bool sweeps = remove_unreachable(found);
        if (!sweeps) unconfirmed_.insert(at);
        switch_poll_done(sweeps);
    });
}

void sweeper::begin_switch_poll(node_index at) {
    activity_ = activity::polling_switch;
    switch_poll_ = std::make_unique<switch_poll>(smps_, *current_, at);
}

// The confirmation waits for a tick, so that the Reports of lost ports are sent first.
void sweeper::confirm_next() {
    const node_index at = *unconfirmed_.begin();
    unconfirmed_.erase(unconfirmed_.begin());
    begin_switch_poll(at);
    switch_poll_->clear([this](bool success) {
        if (!success) return switch_poll_done(true);
        switch_poll_->read(
            [this](const port_changes& since) { switch_poll_done(remove_unreachable(since)); });
    });
}

// Removes unreachable ports from the subnet. Returns true when a sweep is needed.
bool sweeper::remove_unreachable(const port_changes& found) {
    const topology& nodes = current_->nodes;
    bool sweeps = found.more;
    for (const port_ref each : found.cut) {
        const port_ref far = nodes.at(each).peer;
        const bool has_manager = (nodes.at(far).info.CapabilityMask & IB_PORT_CAP_IS_SM) != 0;
        sweeps = sweeps || nodes[far.node].is_switch() || has_manager;
    }
    const std::vector<port_ref> lost = unreachable_without(*current_, found.cut);
    if (lost.empty()) return sweeps;
    observer_.going(lost);
    for (const port_ref end : lost) {
        programmed_.invalidate(nodes.at(end).guid);
        current_->remove(end);
    }
    observer_.gone();
    return sweeps;
}

void sweeper::switch_poll_done(bool sweeps) {
    const std::unique_ptr<switch_poll> done = std::move(switch_poll_);
    activity_ = activity::none;
    if (stopped_) return;
    if (sweeps || sweep_again_)
        request_heavy_sweep();
    else if (!reported_switches_.empty())
        poll_next_switch();
}

void sweeper::begin_light_sweep() {
    if (activity_ == activity::none && !stopped_ && sweeps_ != 0) light_sweep();
}

void sweeper::reregister(ib_guid_t port) {
    programmed_.known_ports.erase(port);
    request_heavy_sweep();
}

void sweeper::schedule_retry() {
    retry_pending_ = true;
    if (std::exchange(incomplete_, true)) return;
    failures_ = 1;
    next_ = 0;
}

void sweeper::invalidate_programmed_state() {
    programmed_ = {};
    begin_heavy_sweep();
}

void sweeper::begin() {
    activity_ = activity::heavy_sweep;
    sweep_again_ = false;
    reported_switches_.clear();
    unconfirmed_.clear();
    running_ = std::make_unique<heavy_sweep>(smps_, plan_, rules_,
                                             current_ ? current_->lids : lid_table(), programmed_);
    running_->run(current_ != nullptr, [this] { sweep_done(); });
}

void sweeper::sweep_done() {
    const std::unique_ptr<heavy_sweep> done = std::move(running_);
    activity_ = activity::none;
    if (stopped_) return;
    if (done->yielded()) return static_cast<void>(sweep_again_ = false);
    if (done->local_link_down()) return wait_for_port();
    incomplete_ = std::exchange(retry_pending_, false) || done->incomplete();
    failures_ = incomplete_ ? std::min(failures_ + 1, max_doublings) : 0;
    if (incomplete_) next_ = 0; // sweeps that traps cause do not put off the light sweep
    ++sweeps_;
    const std::unique_ptr<subnet> before =
        std::exchange(current_, std::make_unique<subnet>(done->take_result()));
    observer_.swept(before.get());
    if (sweep_again_) request_heavy_sweep();
}

// Checks the local port every second.
void sweeper::wait_for_port() {
    IRPVERBS_PROBE("sweep.own_link_is_down");
    sweep_again_ = false;
    incomplete_ = true;
    failures_ = 1;
    next_ = 0;
}

// Repeats an incomplete sweep after 1, 2, 4 .. seconds.
void sweeper::tick(machine_time now) {
    refill(now);
    if (activity_ != activity::none || stopped_ || sweeps_ == 0) return;
    if (std::exchange(sweep_deferred_, false)) return request_heavy_sweep();
    if (!unconfirmed_.empty()) return confirm_next();
    const machine_time wait = incomplete_ ? ticks_per_second << (failures_ - 1) : light_interval_;
    if (wait == 0) return;
    if (next_ == 0) next_ = now + wait;
    if (now < next_) return;
    next_ = 0;
    if (incomplete_)
        begin();
    else
        light_sweep();
}

void sweeper::light_sweep() {
    activity_ = activity::light_sweep;
    change_seen_ = false;
    light_batch_ = std::make_unique<smp_batch>(smps_);
    poll_switches();
    poll_master();
    const auto differs = [this] { change_seen_ = true; };
    table_audit_.read_next(*light_batch_, *current_, differs);
    port_audit_.read_next(*light_batch_, *current_, differs);
    light_batch_->begin_one();
    query_remote_managers(smps_, *current_, rules_.own(), [this](const sm_discovery& seen) {
        rules_.evaluate(seen);
        light_batch_->end_one();
    });
    light_batch_->when_done([this] { light_sweep_done(); });
}

// Another manager that became the master has written into the local port, too. The ports of a link
// without a switch are its only witnesses.
void sweeper::poll_master() {
    light_batch_->send(
        get_smp({}, sm_port_info, current_->manager.port), [this](const smp_response& response) {
            const auto info = unpack<sm_portinfo_t>(response.data);
            if (!response.success() || !info) return;
            // A sweep that failed leaves a subnet without ports.
            if (!current_->manager.valid()) return static_cast<void>(change_seen_ = true);
            const sm_portinfo_t& known = current_->nodes.at(current_->manager).info;
            if (info->MasterSMLID != current_->manager_lid() || info->PortState != known.PortState)
                change_seen_ = true;
        });
}

// Source: IBA 14.2.5.4 (PortStateChange).
void sweeper::poll_switches() {
    for (node_index node = 0; node < current_->nodes.nodes().size(); ++node) {
        if (!current_->nodes.is_present_switch(node)) continue;
        light_batch_->send(get_smp(current_->route_to({node, 0}), sm_switch_info),
                           [this](const smp_response& response) {
                               const auto info = unpack<sm_switchinfo_t>(response.data);
                               if (!response.success() || !info || info->PortStateChange != 0)
                                   change_seen_ = true;
                           });
    }
}

void sweeper::light_sweep_done() {
    const std::unique_ptr<smp_batch> done = std::move(light_batch_);
    activity_ = activity::none;
    if (change_seen_ || sweep_again_) request_heavy_sweep();
}

} // namespace irpverbs::subnet_manager
