#include "multicast_groups.hpp"

#include "topology.hpp"

#include <basics.hpp>

#include <algorithm>

namespace irpverbs::subnet_manager {
namespace {

constexpr std::uint8_t all_states = 0xf;
constexpr std::uint8_t full_states = SA_MC_JOIN_FULL | SA_MC_JOIN_SEND_ONLY_FULL;
constexpr std::uint8_t subnet_life_time = 18; // 1.07 s
constexpr std::uint8_t link_local = 2;
constexpr std::uint64_t needed_to_join =
    SA_MC_COMPMASK_MGID | SA_MC_COMPMASK_PORTGID | SA_MC_COMPMASK_JOINSTATE;
constexpr std::uint64_t needed_to_create = needed_to_join | SA_MC_COMPMASK_QKEY |
                                           SA_MC_COMPMASK_TCLASS | SA_MC_COMPMASK_PKEY |
                                           SA_MC_COMPMASK_FLOWLABEL | SA_MC_COMPMASK_SL;
constexpr std::uint64_t must_be_equal = SA_MC_COMPMASK_QKEY | SA_MC_COMPMASK_TCLASS |
                                        SA_MC_COMPMASK_SL | SA_MC_COMPMASK_FLOWLABEL |
                                        SA_MC_COMPMASK_HOPLIMIT;

bool has_components(const multicast_request& request, std::uint64_t bits) {
    return (request.components & bits) == bits;
}

// The scope of an SA-assigned MGID is not link-local; MGIDs of IPoIB carry its signature.
bool is_usable(const ib_gid_t& mgid) {
    const auto first = static_cast<std::uint8_t>(mgid.gid_prefix >> 56);
    const auto flags_scope = static_cast<std::uint8_t>(mgid.gid_prefix >> 48);
    const auto signature = static_cast<std::uint16_t>(mgid.gid_prefix >> 32);
    if (first != 0xff) return false;
    if (signature == 0x401b || signature == 0x601b) return true;
    return (flags_scope & 0xe0) == 0 && (signature != 0xa01b || (flags_scope & 0xf) != 2);
}

struct choice {
    bool asked;
    std::uint8_t selector;
    std::uint8_t value;
};

// Returns the value of a new group: the port's own or the requested one; 0 when neither is
// possible.
template <class Below, class Size>
std::uint8_t resolve(const choice& c, std::uint8_t port, const Below& below, const Size& size_of) {
    if (!c.asked || c.selector == SA_PR_MTU_SEL_LARGEST_AVAIL) return port;
    switch (c.selector) {
    case SA_PR_MTU_SEL_GREATER:
        return size_of(c.value) < size_of(port) ? port : std::uint8_t{0};
    case SA_PR_MTU_SEL_LESS:
        return size_of(c.value) > size_of(port) ? port : below(c.value);
    default:
        return c.value;
    }
}

// Whether a group fulfils the request of a joiner.
template <class Size>
bool suits(const choice& c, std::uint8_t group, const Size& size_of) {
    if (!c.asked) return true;
    switch (c.selector) {
    case SA_PR_MTU_SEL_GREATER:
        return size_of(group) > size_of(c.value);
    case SA_PR_MTU_SEL_LESS:
        return size_of(group) < size_of(c.value);
    case SA_PR_MTU_SEL_EXACTLY:
        return group == c.value;
    default:
        return true;
    }
}

choice mtu_of(const multicast_request& r) {
    return {has_components(r, SA_MC_COMPMASK_MTUSELECTOR | SA_MC_COMPMASK_MTU),
            r.record.MTUSelector, r.record.MTU};
}
choice rate_of_request(const multicast_request& r) {
    return {has_components(r, SA_MC_COMPMASK_RATESELECTOR | SA_MC_COMPMASK_RATE),
            r.record.RateSelector, r.record.Rate};
}
choice life_time_of(const multicast_request& r) {
    return {has_components(r, SA_MC_COMPMASK_PKTLTSELECTOR | SA_MC_COMPMASK_PKTLT),
            r.record.PacketLifeTimeSelector, r.record.PacketLifeTime};
}

std::uint32_t code(std::uint8_t value) { return value; }
std::uint8_t mtu_below(std::uint8_t mtu) {
    return static_cast<std::uint8_t>(mtu == 0 ? 0 : mtu - 1);
}

// Returns the life time of a new group: the subnet's, or the nearest one that fulfils the request;
// none when no code does.
std::optional<std::uint8_t> resolve_life_time(const choice& c) {
    constexpr std::uint8_t longest = 63;
    if (!c.asked || c.selector == SA_PR_LT_SEL_SMALLEST_AVAIL) return subnet_life_time;
    switch (c.selector) {
    case SA_PR_LT_SEL_GREATER:
        if (c.value >= longest) return std::nullopt;
        return std::max(subnet_life_time, static_cast<std::uint8_t>(c.value + 1));
    case SA_PR_LT_SEL_LESS:
        if (c.value == 0) return std::nullopt;
        return std::min(subnet_life_time, static_cast<std::uint8_t>(c.value - 1));
    default:
        return c.value;
    }
}

std::uint8_t scope_of(const ib_gid_t& mgid) {
    return static_cast<std::uint8_t>(mgid.gid_prefix >> 48 & 0xf);
}

bool any_full(const multicast_groups::group& of) {
    return std::ranges::any_of(of.members, [](const multicast_groups::member& m) {
        return (m.join_state & full_states) != 0;
    });
}

multicast_result refused(std::uint16_t status) { return {.status = status}; }

sa_mcmember_record_t record_of(const multicast_groups::group& of,
                               const multicast_groups::member& who) {
    sa_mcmember_record_t record = of.properties;
    record.PortGID = who.port;
    record.JoinState = who.join_state;
    record.ProxyJoin = who.proxy ? 1 : 0;
    return record;
}

} // namespace

std::uint16_t check_group_values(const sa_mcmember_record_t& record, std::uint64_t components) {
    multicast_request r;
    r.record = record;
    r.components = components;
    const choice mtu = mtu_of(r);
    const choice rate = rate_of_request(r);
    const bool valid = (!mtu.asked || is_mtu(mtu.value)) && (!rate.asked || is_rate(rate.value));
    return valid ? SA_STATUS_NO_ERROR : SA_STATUS_ERR_REQ_INVALID;
}

ib_gid_t multicast_groups::with_prefix(ib_gid_t port) const {
    if (port.gid_prefix == 0xfe80000000000000) port.gid_prefix = prefix_;
    return port;
}

const multicast_groups::group* multicast_groups::find_group(const ib_gid_t& mgid) const {
    const auto found = groups_.find({mgid.gid_prefix, mgid.gid_guid});
    return found == groups_.end() ? nullptr : &found->second;
}

const multicast_groups::group* multicast_groups::find_group(ib_lid_t mlid) const {
    const auto found = mgids_.find(mlid);
    return found == mgids_.end() ? nullptr : &groups_.find(found->second)->second;
}

std::uint16_t multicast_groups::check_join(const multicast_request& r) const {
    if (!has_components(r, needed_to_join)) return SA_STATUS_ERR_REQ_INSUFFICIENT_COMPONENTS;
    if (const std::uint16_t status = check_group_values(r.record, r.components)) return status;
    const ib_gid_t port = with_prefix(r.record.PortGID);
    if (port.gid_prefix != prefix_) return SA_STATUS_ERR_REQ_INVALID_GID;
    const bool proxy = port != with_prefix(r.requester);
    if (!r.port_known || (proxy && !shared_key(r.port_keys, r.requester_keys)))
        return SA_STATUS_ERR_REQ_INVALID;
    if (has_components(r, SA_MC_COMPMASK_PKEY) && (r.record.P_Key & 0x7fff) == 0)
        return SA_STATUS_ERR_REQ_INVALID;
    return (r.record.JoinState & all_states) == 0 ? SA_STATUS_ERR_REQ_INVALID : SA_STATUS_NO_ERROR;
}

// Whether this port may be a member of this group, and this requester may join or remove it.
std::uint16_t multicast_groups::check_member(const group& into, const multicast_request& r) const {
    const sa_mcmember_record_t& is = into.properties;
    const bool key_differs =
        has_components(r, SA_MC_COMPMASK_PKEY) && (((r.record.P_Key ^ is.P_Key) & 0x7fff) != 0 ||
                                                   ((r.record.P_Key | is.P_Key) & 0x8000) == 0);
    if (key_differs || !matches(layout_of(&is), r.components & must_be_equal, &r.record, &is) ||
        !suits(mtu_of(r), is.MTU, code) ||
        !suits(rate_of_request(r), is.Rate, tenths_of_gigabits) ||
        !suits(life_time_of(r), is.PacketLifeTime, code))
        return SA_STATUS_ERR_REQ_INVALID;
    if (r.port_mtu < is.MTU || tenths_of_gigabits(r.port_rate) < tenths_of_gigabits(is.Rate))
        return SA_STATUS_ERR_REQ_INVALID;
    if (!holds_key(r.port_keys, is.P_Key)) return SA_STATUS_ERR_REQ_INVALID;

    const ib_gid_t port = with_prefix(r.record.PortGID);
    const auto known =
        std::ranges::find_if(into.members, [&](const member& m) { return m.port == port; });
    if (known == into.members.end()) return SA_STATUS_NO_ERROR;
    const bool may =
        known->proxy ? holds_key(r.requester_keys, is.P_Key) : port == with_prefix(r.requester);
    return may ? SA_STATUS_NO_ERROR : SA_STATUS_ERR_REQ_INVALID;
}

std::optional<ib_lid_t> multicast_groups::new_mlid() const {
    std::uint32_t free = first_mlid;
    for (const auto& [taken, mgid] : mgids_) {
        if (taken != free) break;
        ++free;
    }
    if (free >= std::uint32_t{first_mlid} + mlids_) return std::nullopt;
    return static_cast<ib_lid_t>(free);
}

// 0xFF, transient and scope, 0xA01B, the subnet's prefix, a number.
std::optional<ib_gid_t> multicast_groups::new_mgid(std::uint8_t scope) {
    for (int attempt = 0; attempt < 1000; ++attempt) {
        ib_gid_t mgid;
        mgid.gid_prefix = std::uint64_t{0xff10} << 48 | std::uint64_t{scope} << 48 |
                          std::uint64_t{0xa01b} << 32 | prefix_ >> 32;
        mgid.gid_guid = prefix_ << 32 | created_mgids_++;
        if (find_group(mgid) == nullptr) return mgid;
    }
    return std::nullopt;
}

std::uint16_t multicast_groups::create(const multicast_request& r, group& made) {
    if ((r.record.JoinState & full_states) == 0) return SA_STATUS_ERR_REQ_INVALID;
    if (!has_components(r, needed_to_create)) return SA_STATUS_ERR_REQ_INSUFFICIENT_COMPONENTS;
    sa_mcmember_record_t& is = made.properties;
    is = r.record;
    is.Reserved = is.ProxyJoin = is.JoinState = 0;
    is.PortGID = {};
    if (!has_components(r, SA_MC_COMPMASK_HOPLIMIT)) is.HopLimit = 0;
    is.MTU = resolve(mtu_of(r), r.port_mtu, mtu_below, code);
    is.Rate = resolve(rate_of_request(r), r.port_rate, rate_below, tenths_of_gigabits);
    const auto life_time = resolve_life_time(life_time_of(r));
    if (!life_time) return SA_STATUS_ERR_REQ_INVALID;
    is.PacketLifeTime = *life_time;
    is.MTUSelector = is.RateSelector = is.PacketLifeTimeSelector = SA_PR_MTU_SEL_EXACTLY;
    if (!is_mtu(is.MTU) || !is_rate(is.Rate)) return SA_STATUS_ERR_REQ_INVALID;

    if (is.MGID == ib_gid_t{}) {
        const auto mgid =
            new_mgid(has_components(r, SA_MC_COMPMASK_SCOPE) ? r.record.Scope & 0xf : link_local);
        if (!mgid) return SA_STATUS_ERR_NO_RESOURCES;
        is.MGID = *mgid;
    } else if (!is_usable(is.MGID)) {
        return SA_STATUS_ERR_REQ_INVALID;
    }
    is.Scope = scope_of(is.MGID);
    const auto mlid = new_mlid();
    if (!mlid) return SA_STATUS_ERR_NO_RESOURCES;
    is.MLID = *mlid;
    return SA_STATUS_NO_ERROR;
}

// Returns the stored group.
multicast_groups::group& multicast_groups::add(group made) {
    const ib_gid_t mgid = made.properties.MGID;
    const mgid_key key{mgid.gid_prefix, mgid.gid_guid};
    mgids_.emplace(made.properties.MLID, key);
    return groups_.emplace(key, std::move(made)).first->second;
}

void multicast_groups::plan(const planned_group& wanted) {
    const auto mlid = new_mlid();
    if (!mlid || find_group(wanted.mgid) != nullptr) return;
    group made;
    made.permanent = true;
    sa_mcmember_record_t& is = made.properties;
    is.MGID = wanted.mgid;
    is.MLID = *mlid;
    is.Q_Key = wanted.qkey;
    is.P_Key = wanted.pkey;
    is.MTU = wanted.mtu;
    is.Rate = wanted.rate;
    is.PacketLifeTime = subnet_life_time;
    is.MTUSelector = is.RateSelector = is.PacketLifeTimeSelector = SA_PR_MTU_SEL_EXACTLY;
    is.SL = wanted.sl;
    is.TClass = wanted.tclass;
    is.FlowLabel = wanted.flow_label;
    is.Scope = scope_of(wanted.mgid);
    is.HopLimit = is.Scope == link_local ? std::uint8_t{0} : std::uint8_t{255};
    add(std::move(made));
}

multicast_result multicast_groups::join(const multicast_request& r) {
    if (const std::uint16_t status = check_join(r)) return refused(status);
    const mgid_key key{r.record.MGID.gid_prefix, r.record.MGID.gid_guid};
    const auto at = groups_.find(key);
    group made;
    const bool is_new = at == groups_.end();
    if (is_new) {
        if (const std::uint16_t status = create(r, made)) return refused(status);
    }
    // A new group fulfils the request's selectors and P_Key by construction.
    multicast_request checked = r;
    if (is_new)
        checked.components &=
            ~std::uint64_t{SA_MC_COMPMASK_MTUSELECTOR | SA_MC_COMPMASK_RATESELECTOR |
                           SA_MC_COMPMASK_PKTLTSELECTOR | SA_MC_COMPMASK_PKEY};
    if (const std::uint16_t status = check_member(is_new ? made : at->second, checked))
        return refused(status);
    group& into = is_new ? add(std::move(made)) : at->second;
    const ib_gid_t port = with_prefix(r.record.PortGID);
    auto who = std::ranges::find_if(into.members, [&](const member& m) { return m.port == port; });
    const bool new_member = who == into.members.end();
    if (new_member) {
        into.members.push_back({port, 0, port != with_prefix(r.requester)});
        who = into.members.end() - 1;
    }
    who->join_state =
        static_cast<std::uint8_t>(who->join_state | (r.record.JoinState & all_states));
    multicast_result result{.group_created = is_new, .tree_changed = new_member};
    result.record = record_of(into, *who);
    result.record.PortGID = r.record.PortGID; // the prefix is the request's
    return result;
}

multicast_result multicast_groups::remove(group_map::iterator at, std::size_t member_index,
                                          std::uint8_t bits) {
    group& of = at->second;
    member& who = of.members[member_index];
    const bool was_full = (who.join_state & full_states) != 0;
    who.join_state = static_cast<std::uint8_t>(who.join_state & ~bits);
    const bool all_end = was_full && !any_full(of);
    if (all_end) who.join_state = 0;
    multicast_result result;
    result.record = record_of(of, who);
    result.tree_changed = who.join_state == 0;
    if (all_end)
        of.members.clear();
    else if (who.join_state == 0)
        of.members.erase(of.members.begin() + static_cast<std::ptrdiff_t>(member_index));
    if (all_end && !of.permanent) {
        mgids_.erase(of.properties.MLID);
        groups_.erase(at);
        result.group_deleted = true;
    }
    return result;
}

multicast_result multicast_groups::leave(const multicast_request& r) {
    if (!has_components(r, needed_to_join))
        return refused(SA_STATUS_ERR_REQ_INSUFFICIENT_COMPONENTS);
    const ib_gid_t port = with_prefix(r.record.PortGID);
    if (port.gid_prefix != prefix_) return refused(SA_STATUS_ERR_REQ_INVALID_GID);
    const auto at = groups_.find({r.record.MGID.gid_prefix, r.record.MGID.gid_guid});
    if (at == groups_.end()) return refused(SA_STATUS_ERR_REQ_INVALID);
    const std::vector<member>& members = at->second.members;
    const auto who = std::ranges::find_if(members, [&](const member& m) { return m.port == port; });
    const std::uint8_t bits = r.record.JoinState & all_states;
    if (who == members.end() || bits == 0 || (bits & ~who->join_state) != 0)
        return refused(SA_STATUS_ERR_REQ_INVALID);
    const bool may = who->proxy ? holds_key(r.requester_keys, at->second.properties.P_Key)
                                : port == with_prefix(r.requester);
    if (!may) return refused(SA_STATUS_ERR_REQ_INVALID);
    multicast_result result = remove(at, static_cast<std::size_t>(who - members.begin()), bits);
    result.record.PortGID = r.record.PortGID;
    return result;
}

std::vector<multicast_result> multicast_groups::remove_port(const ib_gid_t& port) {
    std::vector<multicast_result> results;
    for (auto at = groups_.begin(); at != groups_.end();) {
        const auto next = std::next(at);
        const auto& members = at->second.members;
        for (std::size_t i = 0; i < members.size(); ++i)
            if (members[i].port == with_prefix(port)) {
                results.push_back(remove(at, i, all_states));
                break;
            }
        at = next;
    }
    return results;
}

std::vector<sa_mcmember_record_t> multicast_groups::find(const sa_mcmember_record_t& wanted,
                                                         std::uint64_t components,
                                                         bool trusted) const {
    multicast_request wanted_values;
    wanted_values.record = wanted;
    wanted_values.components = components;
    const std::uint64_t selected = SA_MC_COMPMASK_MTUSELECTOR | SA_MC_COMPMASK_MTU |
                                   SA_MC_COMPMASK_RATESELECTOR | SA_MC_COMPMASK_RATE |
                                   SA_MC_COMPMASK_PKTLTSELECTOR | SA_MC_COMPMASK_PKTLT;
    std::vector<sa_mcmember_record_t> found;
    const auto add = [&](const sa_mcmember_record_t& record) {
        if (matches(layout_of(&record), components & ~selected, &wanted, &record))
            found.push_back(record);
    };
    for (const auto& [mgid, of] : groups_) {
        if (!suits(mtu_of(wanted_values), of.properties.MTU, code) ||
            !suits(rate_of_request(wanted_values), of.properties.Rate, tenths_of_gigabits) ||
            !suits(life_time_of(wanted_values), of.properties.PacketLifeTime, code))
            continue;
        if (!trusted) {
            add(of.properties);
            continue;
        }
        for (const member& m : of.members)
            add(record_of(of, m));
    }
    return found;
}

} // namespace irpverbs::subnet_manager
