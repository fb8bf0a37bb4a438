// Multicast groups and their members: the SA's side of MCMemberRecord. Rules and statuses are
// OpenSM's. The request carries the facts about ports.
#pragma once

#include "partitions.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace irpverbs::subnet_manager {

inline constexpr ib_lid_t first_mlid = 0xc000;

/// Returns REQ_INVALID for an invalid code of an MTU or a rate whose selector is set.
std::uint16_t check_group_values(const sa_mcmember_record_t& record, std::uint64_t components);

/// A Set or Delete of an MCMemberRecord, with the subnet manager's facts about the two ports.
struct multicast_request {
    sa_mcmember_record_t record{};
    std::uint64_t components = 0;
    ib_gid_t requester{}; // the port that sent the request
    std::span<const ib_pkey_t> requester_keys;
    bool port_known = false; // whether the port of record.PortGID exists
    std::span<const ib_pkey_t> port_keys;
    std::uint8_t port_mtu = 0; // codes
    std::uint8_t port_rate = 0;
};

struct multicast_result {
    std::uint16_t status = SA_STATUS_NO_ERROR;
    sa_mcmember_record_t record{}; // for the response, if there is no error
    bool group_created = false;    // trap 66 is due
    bool group_deleted = false;    // trap 67 is due
    bool tree_changed = false;     // MLID record.MLID must be routed again
};

class multicast_groups {
public:
    struct member {
        ib_gid_t port{};
        std::uint8_t join_state = 0;
        bool proxy = false;
    };
    struct group {
        sa_mcmember_record_t properties{}; // without PortGID and JoinState
        std::vector<member> members;       // in order of joining
        bool permanent = false;            // the group exists also without members
    };

    /// `mlids`: the number of multicast LIDs that the switches' tables hold, from 0xC000 on.
    explicit multicast_groups(ib_sn_prefix_t prefix = 0xfe80000000000000,
                              std::uint16_t mlids = max_planned_groups)
        : prefix_(prefix), mlids_(mlids) {}

    /// Creates a group that exists without members. Has no effect if its MGID exists, or no MLID is
    /// free.
    void plan(const planned_group& wanted);

    /// Joins a group, and creates it if it does not exist. INSUF_COMPONENTS: MGID, PortGID or
    /// JoinState is missing; for a creation also Q_Key, TClass, P_Key, FlowLabel, SL. INVALID_GID:
    /// PortGID is of another subnet. REQ_INVALID: the port is unknown or shares no P_Key with the
    /// requester or the group; a new group would have no full member; the group or the port does
    /// not have the requested values; the membership is another requester's. NO_RESOURCES: no MLID
    /// is free.
    multicast_result join(const multicast_request& request);

    /// Removes the JoinState bits of the record. When the last full member leaves, all memberships
    /// end (the response has JoinState 0), and the group, unless it is permanent. INSUF_COMPONENTS,
    /// INVALID_GID as above. REQ_INVALID: no such group or membership, bits that the member does
    /// not have, another requester's membership.
    multicast_result leave(const multicast_request& request);

    /// Removes an unreachable port from all its groups. Returns one result per group.
    std::vector<multicast_result> remove_port(const ib_gid_t& port);

    /// Untrusted: one record per group, without PortGID and ProxyJoin. Trusted: one record per
    /// member.
    std::vector<sa_mcmember_record_t> find(const sa_mcmember_record_t& wanted,
                                           std::uint64_t components, bool trusted) const;

    /// Returns nullptr for an unknown group.
    const group* find_group(const ib_gid_t& mgid) const;
    const group* find_group(ib_lid_t mlid) const;

    /// Calls `visit(mlid, group)` for each group.
    template <class Visit>
    void for_each(const Visit& visit) const {
        for (const auto& [key, each] : groups_)
            visit(each.properties.MLID, each);
    }

    /// Restricts new groups to the first `mlids` multicast LIDs.
    void limit(std::uint16_t mlids) { mlids_ = mlids; }
    std::size_t size() const { return groups_.size(); }

private:
    using mgid_key = std::pair<std::uint64_t, std::uint64_t>;
    using group_map = std::map<mgid_key, group>;

    std::uint16_t check_join(const multicast_request& request) const;
    std::uint16_t check_member(const group& into, const multicast_request& request) const;
    std::uint16_t create(const multicast_request& request, group& made);
    std::optional<ib_gid_t> new_mgid(std::uint8_t scope);
    std::optional<ib_lid_t> new_mlid() const;
    group& add(group made);
    multicast_result remove(group_map::iterator at, std::size_t member_index, std::uint8_t bits);
    ib_gid_t with_prefix(ib_gid_t port) const;

    ib_sn_prefix_t prefix_;
    std::uint16_t mlids_;
    std::uint32_t created_mgids_ = 0; // the number of created MGIDs
    group_map groups_;
    std::map<ib_lid_t, mgid_key> mgids_; // by MLID
};

} // namespace irpverbs::subnet_manager
