#include "mastership.hpp"

#include <algorithm>

namespace irpverbs::subnet_manager {

namespace {

constexpr machine_time soon = ticks_a_second;
constexpr machine_time patience = 3 * ticks_a_second; // the time limit of an Acknowledge
constexpr unsigned most_repeats = 1;
constexpr std::size_t return_path = 128; // within an SMP's data

bool is_directed(const message_parts& what) {
    return what.header.mgmt_class == MAD_MGMT_CLASS_SUBN_DIRECT_ROUTE;
}

bool is_active(const sm_sminfo_t& info) { return info.SMState != SM_STATE_NOTACTIVE; }
bool is_master_now(const sm_sminfo_t& info) { return info.SMState == SM_STATE_MASTER; }

// Returns the highest-ranking manager that fits, or null.
template <class Fits>
const rival* best(const survey& seen, const Fits& fits) {
    const rival* found = nullptr;
    for (const rival& each : seen.rivals)
        if (fits(each.info) && (found == nullptr || outranks(each.info, found->info)))
            found = &each;
    return found;
}

} // namespace

sm_sminfo_t mastership::info() const {
    sm_sminfo_t own{};
    own.GUID = guid_;
    own.SM_Key = chosen_.key;
    own.ActCount = static_cast<std::uint32_t>(smps_.asked());
    own.Priority = chosen_.priority;
    own.SMState = state_;
    return own;
}

void mastership::begin() {
    smps_.ask(get_smp({}, sm_node_info), [this](const smp_answer& answer) {
        const auto node = unpack<sm_nodeinfo_t>(answer.data);
        if (!answer.success() || !node) return static_cast<void>(restless_ = true);
        guid_ = node->PortGUID;
        does_.sweep();
    });
}

void mastership::discover() {
    state_ = SM_STATE_DISCOVERING;
    repeats_ = 0;
    does_.sweep();
}

void mastership::tick(machine_time now) {
    const bool polls = state_ == SM_STATE_STANDBY && !polling_;
    if (!polls && !restless_) return;
    if (next_ == 0) next_ = now + (polls ? chosen_.poll_interval : offering_ ? patience : soon);
    if (now < next_) return;
    next_ = 0;
    restless_ = offering_ = false;
    if (polls)
        poll();
    else if (guid_ == 0)
        begin();
    else if (state_ == SM_STATE_DISCOVERING)
        does_.sweep();
    else if (is_master())
        does_.look();
}

bool mastership::surveyed(const survey& seen) {
    seen_ = seen;
    if (state_ == SM_STATE_DISCOVERING) return compete(seen);
    if (is_master()) defend(seen);
    return is_master();
}

// A silent manager may be the master: discovery polls twice before it takes over.
bool mastership::compete(const survey& seen) {
    const rival* above = best(seen, is_master_now);
    if (above == nullptr)
        above =
            best(seen, [&](const auto& each) { return is_active(each) && outranks(each, info()); });
    if (above != nullptr) {
        stand_by(*above);
        return false;
    }
    if (!seen.complete && repeats_ < most_repeats) {
        ++repeats_;
        restless_ = true;
        next_ = 0;
        return false;
    }
    state_ = SM_STATE_MASTER;
    return true;
}

// Hands over to a higher-ranking manager. A lower-ranking master hands over to this one by itself.
void mastership::defend(const survey& seen) {
    const bool other = best(seen, is_master_now) != nullptr;
    if (std::exchange(contested_, other) && !other) does_.distrust();
    const rival* const higher = best(seen, [&](const sm_sminfo_t& each) {
        return is_active(each) && trusts(each) && outranks(each, info());
    });
    if (higher == nullptr && !contested_) return;
    restless_ = true; // until one master is left
    const bool ready = higher != nullptr && higher->info.SMState != SM_STATE_DISCOVERING;
    if (ready && !offering_) hand_over(*higher);
}

void mastership::hand_over(const rival& heir) {
    heir_ = heir;
    offering_ = true;
    next_ = 0;
    smps_.ask(set_smp(heir.way, sm_info, sm_handover, info()), [](const smp_answer&) {});
}

void mastership::stand_by(const rival& behind) {
    state_ = SM_STATE_STANDBY;
    master_ = behind;
    master_seen_ = behind.info.SMState == SM_STATE_MASTER;
    misses_ = 0;
    next_ = 0;
    restless_ = offering_ = contested_ = false;
}

void mastership::poll() {
    polling_ = true;
    smp question = get_smp(master_.way, sm_info);
    pack(info(), question.data);
    smps_.ask(std::move(question), [this, whom = master_.info.GUID](const smp_answer& answer) {
        polling_ = false;
        if (state_ == SM_STATE_STANDBY && whom == master_.info.GUID) polled(answer);
    });
}

// When two managers are on standby, the higher-ranking one does not wait for the other.
void mastership::polled(const smp_answer& answer) {
    const auto told = unpack<sm_sminfo_t>(answer.data);
    if (!answer.success() || !told) {
        if (++misses_ > chosen_.poll_retries) discover();
        return;
    }
    misses_ = 0;
    const bool same = told->GUID == master_.info.GUID;
    const bool will_be = is_active(*told) && outranks(*told, info());
    if (!same || !(is_master_now(*told) || will_be)) return discover();
    if (is_master_now(*told)) master_seen_ = true;
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
std::optional<std::uint16_t> mastership::answer(const message_parts& asked,
                                                smp_data& contents) const {
    const auto from = unpack<sm_sminfo_t>(asked.data);
    if (guid_ == 0 || !from) return std::nullopt;
    sm_sminfo_t own = info();
    if (!trusts(*from)) own.SM_Key = 0;
    contents = {};
    pack(own, contents);
    if (asked.header.method == MAD_METHOD_GET) return std::uint16_t{0};
    const bool valid = trusts(*from) && from->SMState == SM_STATE_MASTER &&
                       is_legal(asked.header.attribute_modifier);
    return valid ? std::uint16_t{0} : std::uint16_t{MAD_STATUS_INVALID_FIELD};
}

void mastership::obey(const message_parts& demand) {
    const auto from = unpack<sm_sminfo_t>(demand.data);
    switch (demand.header.attribute_modifier) {
    case sm_handover:
        return take_over(demand);
    case sm_acknowledge:
        return acknowledged(*from);
    case sm_disable:
        state_ = SM_STATE_NOTACTIVE;
        return;
    case sm_standby:
        return stand_by({way_to_sender(demand).value_or(directed_route()), *from});
    default:
        return is_master() ? lose(SM_STATE_DISCOVERING) : discover();
    }
}

// Returns the reverse of the SMP's route, or else the route of the last discovery.
std::optional<directed_route> mastership::way_to_sender(const message_parts& what) const {
    const std::size_t hops = what.header.class_specific & 0xFF;
    if (is_directed(what) && what.data.size() > return_path + hops) {
        const auto first = what.data.begin() + return_path + 1;
        directed_route back(first, first + static_cast<std::ptrdiff_t>(hops));
        std::ranges::reverse(back);
        return back;
    }
    const auto from = unpack<sm_sminfo_t>(what.data);
    const auto known = std::ranges::find_if(
        seen_.rivals, [&](const rival& each) { return from && each.info.GUID == from->GUID; });
    return known != seen_.rivals.end() ? std::optional(known->way) : std::nullopt;
}

void mastership::take_over(const message_parts& from) {
    const bool was_master = is_master();
    state_ = SM_STATE_MASTER;
    restless_ = offering_ = false;
    if (const auto way = way_to_sender(from))
        smps_.ask(set_smp(*way, sm_info, sm_acknowledge, info()), [](const smp_answer&) {});
    if (was_master)
        does_.distrust();
    else
        does_.sweep();
    contested_ = false;
}

void mastership::acknowledged(const sm_sminfo_t& by) {
    if (!heir_ || heir_->info.GUID != by.GUID) return;
    rival heir = *std::exchange(heir_, std::nullopt);
    heir.info = by;
    stand_by(heir);
    lose(SM_STATE_STANDBY);
}

void mastership::lose(std::uint8_t next_state) {
    state_ = next_state;
    restless_ = offering_ = contested_ = false;
    does_.retire();
}

void mastership::retired() {
    if (state_ != SM_STATE_DISCOVERING) return;
    if (guid_ == 0)
        begin();
    else
        discover();
}

void mastership::forget() {
    polling_ = restless_ = offering_ = contested_ = false;
    heir_.reset();
    if (state_ != SM_STATE_NOTACTIVE) state_ = SM_STATE_DISCOVERING;
}

} // namespace irpverbs::subnet_manager
