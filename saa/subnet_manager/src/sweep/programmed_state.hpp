// The state of the nodes that earlier sweeps have programmed.
#pragma once

#include <smp_channel.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>

namespace irpverbs::subnet_manager {

/// Values that need not be written again.
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

} // namespace irpverbs::subnet_manager
