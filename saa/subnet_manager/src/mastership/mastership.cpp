#include "mastership.hpp"

#include <dispatch/testing/probe.hpp>

#include <algorithm>

namespace irpverbs::subnet_manager {

namespace {

constexpr machine_time soon = ticks_per_second;
constexpr unsigned enough_accepted_handovers = 2;
constexpr machine_time acknowledge_timeout =
    3 * ticks_per_second; // the time limit of an Acknowledge
constexpr unsigned max_repeats = 1;
constexpr std::size_t return_path = 128; // within an SMP's data

bool is_directed(const message_parts& what) {
    return what.header.mgmt_class == MAD_MGMT_CLASS_SUBN_DIRECT_ROUTE;
}

bool is_active(const sm_sminfo_t& info) { return info.SMState != SM_STATE_NOTACTIVE; }
bool is_master_now(const sm_sminfo_t& info) { return info.SMState == SM_STATE_MASTER; }

// Returns the highest-ranking manager that fits, or null.
template <class Fits>
const remote_sm* best(const sm_discovery& seen, const Fits& fits) {
    const remote_sm* found = nullptr;
    for (const remote_sm& each : seen.remote_managers)
        if (fits(each.info) && (found == nullptr || outranks(each.info, found->info)))
            found = &each;
    return found;
}

} // namespace

sm_sminfo_t mastership::info() const {
    sm_sminfo_t own{};
    own.GUID = guid_;
    own.SM_Key = settings_.key;
    own.ActCount = static_cast<std::uint32_t>(smps_.sent());
    own.Priority = settings_.priority;
    own.SMState = state_;
    return own;
}

void mastership::begin() {
    smps_.send(get_smp({}, sm_node_info), [this](const smp_response& response) {
        const auto node = unpack<sm_nodeinfo_t>(response.data);
        if (!response.success() || !node) return static_cast<void>(recheck_pending_ = true);
        guid_ = node->PortGUID;
        callbacks_.sweep();
    });
}

void mastership::discover() {
    state_ = SM_STATE_DISCOVERING;
    incomplete_discoveries_ = 0;
    callbacks_.sweep();
}

void mastership::tick(machine_time now) {
    const bool polls = state_ == SM_STATE_STANDBY && !polling_;
    if (!polls && !recheck_pending_) return;
    if (next_action_ == 0)
        next_action_ = now + (polls               ? settings_.poll_interval
                              : handover_pending_ ? acknowledge_timeout
                                                  : soon);
    if (now < next_action_) return;
    next_action_ = 0;
    recheck_pending_ = handover_pending_ = false;
    if (polls)
        poll();
    else if (guid_ == 0)
        begin();
    else if (state_ == SM_STATE_DISCOVERING)
        callbacks_.sweep();
    else if (is_master())
        callbacks_.light_sweep();
}

bool mastership::evaluate(const sm_discovery& seen) {
    last_discovery_ = seen;
    if (state_ == SM_STATE_DISCOVERING) return compete(seen);
    if (is_master()) defend(seen);
    return is_master();
}

// A silent manager may be the master: discovery polls twice before it takes over.
bool mastership::compete(const sm_discovery& seen) {
    const remote_sm* above = best(seen, is_master_now);
    if (above == nullptr)
        above =
            best(seen, [&](const auto& each) { return is_active(each) && outranks(each, info()); });
    if (above != nullptr) {
        stand_by(*above);
        return false;
    }
    if (!seen.complete && incomplete_discoveries_ < max_repeats) {
        ++incomplete_discoveries_;
        recheck_pending_ = true;
        next_action_ = 0;
        return false;
    }
    state_ = SM_STATE_MASTER;
    return true;
}

// Hands over to a higher-ranking manager. A lower-ranking master hands over to this one by itself.
// A silent manager may still be a master that writes settings.
void mastership::defend(const sm_discovery& seen) {
    if (best(seen, is_master_now) != nullptr)
        contested_ = true;
    else if (seen.complete && std::exchange(contested_, false))
        callbacks_.invalidate_programmed_state();
    const remote_sm* const higher = best(seen, [&](const sm_sminfo_t& each) {
        return is_active(each) && trusts(each) && outranks(each, info());
    });
    if (higher == nullptr && !contested_) return;
    recheck_pending_ = true; // until one master is left
    const bool ready = higher != nullptr && higher->info.SMState != SM_STATE_DISCOVERING;
    if (ready && !handover_pending_) hand_over(*higher);
}

void mastership::hand_over(const remote_sm& target) {
    if (!handover_target_ || handover_target_->info.GUID != target.info.GUID)
        accepted_handovers_ = 0;
    handover_target_ = target;
    handover_pending_ = true;
    next_action_ = 0;
    smps_.send(set_smp(target.route, sm_info, sm_handover, info()),
               [this, whom = target.info.GUID](const smp_response& response) {
                   if (response.success()) handover_accepted(whom);
               });
}

// OpenSM accepts the mastership, but sends no Acknowledge: it waits until the other manager is not
// the master any longer.
void mastership::handover_accepted(ib_guid_t by) {
    if (!is_master() || !handover_target_ || handover_target_->info.GUID != by) return;
    if (++accepted_handovers_ < enough_accepted_handovers) return;
    IRPVERBS_PROBE("mastership.never_acknowledged");
    acknowledged(sm_sminfo_t(handover_target_->info));
}

void mastership::stand_by(const remote_sm& behind) {
    state_ = SM_STATE_STANDBY;
    master_ = behind;
    master_seen_ = behind.info.SMState == SM_STATE_MASTER;
    misses_ = 0;
    next_action_ = 0;
    recheck_pending_ = handover_pending_ = contested_ = false;
}

void mastership::poll() {
    polling_ = true;
    smp request = get_smp(master_.route, sm_info);
    pack(info(), request.data);
    smps_.send(std::move(request), [this, whom = master_.info.GUID](const smp_response& response) {
        polling_ = false;
        if (state_ == SM_STATE_STANDBY && whom == master_.info.GUID) polled(response);
    });
}

// When two managers are on standby, the higher-ranking one does not wait for the other.
void mastership::polled(const smp_response& response) {
    const auto reported = unpack<sm_sminfo_t>(response.data);
    if (!response.success() || !reported) {
        if (++misses_ <= settings_.poll_retries) return;
        IRPVERBS_PROBE("mastership.master_is_silent");
        return discover();
    }
    misses_ = 0;
    const bool same = reported->GUID == master_.info.GUID;
    const bool will_be = is_active(*reported) && outranks(*reported, info());
    if (!same || !(is_master_now(*reported) || will_be)) return discover();
    if (is_master_now(*reported)) master_seen_ = true;
}

bool mastership::is_legal(std::uint32_t control) const {
    switch (control) {
    case sm_handover:
    case sm_discover:
        return state_ == SM_STATE_STANDBY || is_master();
    case sm_acknowledge:
        return is_master();
    case sm_disable:
        return state_ == SM_STATE_STANDBY;
    case sm_standby:
        return state_ == SM_STATE_NOTACTIVE;
    default:
        return false;
    }
}

// The response has the SM_Key only if the requester's SM_Key is equal.
std::optional<std::uint16_t> mastership::respond(const message_parts& request,
                                                 smp_data& contents) const {
    const auto from = unpack<sm_sminfo_t>(request.data);
    if (guid_ == 0 || !from) return std::nullopt;
    sm_sminfo_t own = info();
    if (!trusts(*from)) own.SM_Key = 0;
    contents = {};
    pack(own, contents);
    if (request.header.method == MAD_METHOD_GET) return std::uint16_t{0};
    const bool valid = trusts(*from) && from->SMState == SM_STATE_MASTER &&
                       is_legal(request.header.attribute_modifier);
    return valid ? std::uint16_t{0} : std::uint16_t{MAD_STATUS_INVALID_FIELD};
}

void mastership::execute(const message_parts& request) {
    const auto from = unpack<sm_sminfo_t>(request.data);
    switch (request.header.attribute_modifier) {
    case sm_handover:
        return take_over(request);
    case sm_acknowledge:
        return acknowledged(*from);
    case sm_disable:
        state_ = SM_STATE_NOTACTIVE;
        return;
    case sm_standby:
        return stand_by({route_to_sender(request).value_or(directed_route()), *from});
    default:
        return is_master() ? lose(SM_STATE_DISCOVERING) : discover();
    }
}

// Returns the reverse of the SMP's route, or else the route of the last discovery.
std::optional<directed_route> mastership::route_to_sender(const message_parts& what) const {
    const std::size_t hops = what.header.class_specific & 0xFF;
    if (is_directed(what) && what.data.size() > return_path + hops) {
        const auto first = what.data.begin() + return_path + 1;
        directed_route back(first, first + static_cast<std::ptrdiff_t>(hops));
        std::ranges::reverse(back);
        return back;
    }
    const auto from = unpack<sm_sminfo_t>(what.data);
    const auto known =
        std::ranges::find_if(last_discovery_.remote_managers, [&](const remote_sm& each) {
            return from && each.info.GUID == from->GUID;
        });
    return known != last_discovery_.remote_managers.end() ? std::optional(known->route)
                                                          : std::nullopt;
}

void mastership::take_over(const message_parts& from) {
    const bool was_master = is_master();
    IRPVERBS_PROBE("mastership.handed_over");
    state_ = SM_STATE_MASTER;
    handover_pending_ = false;
    recheck_pending_ = contested_ = true; // the other writes until it has the Acknowledge
    if (const auto route = route_to_sender(from))
        smps_.send(set_smp(*route, sm_info, sm_acknowledge, info()), [](const smp_response&) {});
    if (was_master)
        callbacks_.invalidate_programmed_state();
    else
        callbacks_.sweep();
}

void mastership::acknowledged(const sm_sminfo_t& by) {
    if (!handover_target_ || handover_target_->info.GUID != by.GUID) return;
    remote_sm target = *std::exchange(handover_target_, std::nullopt);
    target.info = by;
    stand_by(target);
    lose(SM_STATE_STANDBY);
}

void mastership::lose(std::uint8_t next_state) {
    state_ = next_state;
    recheck_pending_ = handover_pending_ = contested_ = false;
    callbacks_.step_down();
}

// The mastership may have been handed back before the parts of the earlier one had ended.
void mastership::stepped_down() {
    if (is_master()) return callbacks_.sweep();
    if (state_ != SM_STATE_DISCOVERING) return;
    if (guid_ == 0)
        begin();
    else
        discover();
}

void mastership::reset() {
    polling_ = recheck_pending_ = handover_pending_ = contested_ = false;
    handover_target_.reset();
    if (state_ != SM_STATE_NOTACTIVE) state_ = SM_STATE_DISCOVERING;
}

} // namespace irpverbs::subnet_manager
