#include "sweeper.hpp"

#include <algorithm>

namespace irpverbs::subnet_manager {

namespace {

constexpr unsigned most_doublings = 5;

} // namespace

void sweeper::sweep_now() {
    if (stopped_) return;
    if (now_ != activity::none)
        again_ = true;
    else
        begin();
}

void sweeper::sweep_damped() {
    if (stopped_) return;
    if (now_ != activity::none) return static_cast<void>(again_ = true);
    if (sweeps_left_ == 0) return static_cast<void>(damped_ = true);
    --sweeps_left_;
    begin();
}

void sweeper::refill(machine_time now) {
    if (refill_at_ == 0) refill_at_ = now + ticks_a_second;
    if (now < refill_at_) return;
    refill_at_ = now + ticks_a_second;
    sweeps_left_ = std::min(sweeps_left_ + 1, most_at_once);
}

void sweeper::told_by(ib_lid_t lid) {
    const port_ref at = current_ != nullptr ? current_->lids.port_of(lid) : port_ref{};
    const bool knows = at.valid() && current_->nodes[at.node].is_switch();
    const bool may_glance = now_ == activity::none || now_ == activity::glancing;
    if (stopped_ || !knows || !may_glance) return sweep_damped();
    told_.insert(at.node);
    if (now_ == activity::none) glance_at_next();
}

void sweeper::glance_at_next() {
    const node_index at = *told_.begin();
    told_.erase(told_.begin());
    begin_glance(at);
    glance_->read([this, at](const port_changes& found) {
        const bool sweeps = take_out(found);
        if (!sweeps) unconfirmed_.insert(at);
        glance_done(sweeps);
    });
}

void sweeper::begin_glance(node_index at) {
    now_ = activity::glancing;
    glance_ = std::make_unique<glance>(smps_, *current_, at);
}

// The confirmation waits for a tick, so that the Reports of lost ports are sent first.
void sweeper::confirm_next() {
    const node_index at = *unconfirmed_.begin();
    unconfirmed_.erase(unconfirmed_.begin());
    begin_glance(at);
    glance_->clear([this](bool success) {
        if (!success) return glance_done(true);
        glance_->read([this](const port_changes& since) { glance_done(take_out(since)); });
    });
}

// Removes unreachable ports from the subnet. Returns true when a sweep is needed.
bool sweeper::take_out(const port_changes& found) {
    const topology& nodes = current_->nodes;
    bool sweeps = found.more;
    for (const port_ref each : found.cut) {
        const port_ref far = nodes.at(each).peer;
        const bool has_manager = (nodes.at(far).info.CapabilityMask & IB_PORT_CAP_IS_SM) != 0;
        sweeps = sweeps || nodes[far.node].is_switch() || has_manager;
    }
    const std::vector<port_ref> lost = lost_without(*current_, found.cut);
    if (lost.empty()) return sweeps;
    told_of_.going(lost);
    for (const port_ref end : lost) {
        written_.forget(nodes.at(end).guid);
        current_->remove(end);
    }
    told_of_.gone();
    return sweeps;
}

void sweeper::glance_done(bool sweeps) {
    const std::unique_ptr<glance> done = std::move(glance_);
    now_ = activity::none;
    if (stopped_) return;
    if (sweeps || again_)
        sweep_damped();
    else if (!told_.empty())
        glance_at_next();
}

void sweeper::look_now() {
    if (now_ == activity::none && !stopped_ && sweeps_ != 0) look();
}

void sweeper::repeat() {
    repeats_ = true;
    if (std::exchange(incomplete_, true)) return;
    failures_ = 1;
    next_ = 0;
}

void sweeper::distrust() {
    written_ = {};
    sweep_now();
}

void sweeper::begin() {
    now_ = activity::sweeping;
    again_ = false;
    told_.clear();
    unconfirmed_.clear();
    running_ = std::make_unique<sweep>(smps_, plan_, rules_,
                                       current_ ? current_->lids : lid_table(), written_);
    running_->run(current_ != nullptr, [this] { sweep_done(); });
}

void sweeper::sweep_done() {
    const std::unique_ptr<sweep> done = std::move(running_);
    now_ = activity::none;
    if (stopped_) return;
    if (done->yielded()) return static_cast<void>(again_ = false);
    if (done->cut_off()) return wait_for_port();
    incomplete_ = std::exchange(repeats_, false) || done->incomplete();
    failures_ = incomplete_ ? std::min(failures_ + 1, most_doublings) : 0;
    next_ = 0;
    ++sweeps_;
    const std::unique_ptr<subnet> before =
        std::exchange(current_, std::make_unique<subnet>(done->take_result()));
    told_of_.swept(before.get());
    if (again_) sweep_damped();
}

// Checks the local port every second.
void sweeper::wait_for_port() {
    again_ = false;
    incomplete_ = true;
    failures_ = 1;
    next_ = 0;
}

// Repeats an incomplete sweep after 1, 2, 4 .. seconds.
void sweeper::tick(machine_time now) {
    refill(now);
    if (now_ != activity::none || stopped_ || sweeps_ == 0) return;
    if (std::exchange(damped_, false)) return sweep_damped();
    if (!unconfirmed_.empty()) return confirm_next();
    const machine_time wait = incomplete_ ? ticks_a_second << (failures_ - 1) : light_interval_;
    if (wait == 0) return;
    if (next_ == 0) next_ = now + wait;
    if (now < next_) return;
    next_ = 0;
    if (incomplete_)
        begin();
    else
        look();
}

void sweeper::look() {
    now_ = activity::looking;
    changed_ = false;
    looking_ = std::make_unique<smp_batch>(smps_);
    look_at_switches();
    look_at_master();
    audit_.read_next(*looking_, *current_, [this] { changed_ = true; });
    looking_->begin_one();
    ask_rivals(smps_, *current_, rules_.own(), [this](const survey& seen) {
        rules_.surveyed(seen);
        looking_->end_one();
    });
    looking_->when_done([this] { look_done(); });
}

// Another manager that became the master has written into the local port, too. The ports of a link
// without a switch are its only witnesses.
void sweeper::look_at_master() {
    looking_->ask(
        get_smp({}, sm_port_info, current_->manager.port), [this](const smp_answer& answer) {
            const auto info = unpack<sm_portinfo_t>(answer.data);
            if (!answer.success() || !info) return;
            const sm_portinfo_t& known = current_->nodes.at(current_->manager).info;
            if (info->MasterSMLID != current_->manager_lid() || info->PortState != known.PortState)
                changed_ = true;
        });
}

// Source: IBA 14.2.5.4 (PortStateChange).
void sweeper::look_at_switches() {
    for (node_index node = 0; node < current_->nodes.nodes().size(); ++node) {
        if (!current_->nodes.is_present_switch(node)) continue;
        looking_->ask(get_smp(current_->way_to({node, 0}), sm_switch_info),
                      [this](const smp_answer& answer) {
                          const auto info = unpack<sm_switchinfo_t>(answer.data);
                          if (!answer.success() || !info || info->PortStateChange != 0)
                              changed_ = true;
                      });
    }
}

void sweeper::look_done() {
    const std::unique_ptr<smp_batch> done = std::move(looking_);
    now_ = activity::none;
    if (changed_ || again_) sweep_damped();
}

} // namespace irpverbs::subnet_manager
