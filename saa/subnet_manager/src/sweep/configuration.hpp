// Programs the computed configuration into the nodes: first tables, then addresses and Armed, then
// Active. It does not write values that a node already has. Source: IBA 14.4.4 (initialisation).
#pragma once

#include <model/subnet.hpp>
#include <smp_batch.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>

namespace irpverbs::subnet_manager {

/// The programmed state of earlier sweeps, which need not be written again.
class programmed_state {
public:
    using block = std::tuple<ib_guid_t, std::uint16_t, std::uint32_t>; // GUID, attribute, modifier

    bool holds(const block& which, const smp_data& data) const {
        const auto found = blocks_.find(which);
        return found != blocks_.end() && found->second == data;
    }
    /// Returns zeros for an unknown block.
    smp_data at(const block& which) const {
        const auto found = blocks_.find(which);
        return found != blocks_.end() ? found->second : smp_data{};
    }
    bool knows(const block& which) const { return blocks_.contains(which); }
    void set(const block& which, const smp_data& data) { blocks_[which] = data; }

    /// Returns the number of blocks for which `wanted(block)` is true.
    template <class Wanted>
    std::size_t count(const Wanted& wanted) const {
        return static_cast<std::size_t>(std::ranges::count_if(
            blocks_, [&](const auto& each) -> bool { return wanted(each.first); }));
    }

    /// Calls `visit(block, data)` for at most `count` wanted blocks from `first` on, and begins
    /// anew after the last one. Returns the block that is next.
    template <class Wanted, class Visit>
    block visit_from(const block& first, std::size_t count, const Wanted& wanted,
                     const Visit& visit) const {
        auto at = blocks_.lower_bound(first);
        for (std::size_t left = blocks_.size(); left != 0 && count != 0; --left, ++at) {
            if (at == blocks_.end()) at = blocks_.begin();
            if (!wanted(at->first)) continue;
            visit(at->first, at->second);
            --count;
        }
        return at != blocks_.end() ? at->first : block{};
    }

    void invalidate(const block& which) { blocks_.erase(which); }

    /// Invalidates the state of a port or switch that may have lost it.
    void invalidate(ib_guid_t whose);
    /// Invalidates the state of all ports and switches except these, which are sorted.
    void invalidate_except(std::span<const ib_guid_t> present);

    /// Ports that this manager has configured.
    std::set<ib_guid_t> known_ports;

private:
    std::map<block, smp_data> blocks_;
};

/// Runs in tasks of the channel's queue. Must live until its end.
class configuration {
public:
    configuration(smp_channel& smps, subnet& of, programmed_state& programmed)
        : batch_(smps), of_(of), programmed_(programmed) {}

    /// Calls `done()` after the last write. PortInfo and SwitchInfo of the subnet are then those of
    /// the nodes' responses.
    void run(std::function<void()> done);

    /// Whether a node has refused a write or not responded.
    bool incomplete() const { return incomplete_; }

private:
    void invalidate_restarted();
    void write_tables();
    void write_switch(node_index at);
    void write_keys(port_ref end);
    void write_enforcement(port_ref at);
    void write_key_table(port_ref at, std::span<const ib_pkey_t> keys, std::size_t capacity);
    bool can_enforce(port_ref at) const;
    bool enforces(port_ref at) const;
    std::vector<ib_pkey_t> permitted_keys(port_ref at) const;
    void set_up_ports();
    void activate_ports();
    void check_states();
    bool can_set_up(port_ref at) const;
    void set_up(port_ref at);
    sm_portinfo_t wanted(port_ref at) const;
    bool was_read_before(port_ref other_end) const;
    bool has_lid(port_ref at) const;
    /// `is_new`: the Set makes the port known.
    void set_port(port_ref at, const sm_portinfo_t& info, bool is_new);
    template <class Host>
    void write_block(const directed_route& route, const programmed_state::block& which,
                     const Host& host);
    template <class Visit>
    void for_each_port(const Visit& visit);

    smp_batch batch_;
    subnet& of_;
    programmed_state& programmed_;
    bool incomplete_ = false;
};

} // namespace irpverbs::subnet_manager
