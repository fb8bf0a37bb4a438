#include "lids.hpp"

#include <algorithm>

namespace irpverbs::subnet_manager {

lid_range lid_table::of(ib_guid_t port_guid) const {
    const auto found = ranges_.find(port_guid);
    return found == ranges_.end() ? lid_range{} : found->second;
}

void lid_table::set_unreachable(ib_guid_t port_guid) {
    const lid_range range = of(port_guid);
    if (range.base == 0) return;
    for (std::uint32_t lid = range.base; lid < range.base + range.size(); ++lid)
        if (lid < owners_.size()) owners_[lid] = {};
}

bool lid_table::is_free(lid_range range) const {
    if (range.base == 0 || range.base % range.size() != 0) return false;
    if (range.base + range.size() - 1 > last_unicast) return false;
    for (std::uint32_t i = 0; i < range.size(); ++i)
        if (used_[range.base + i]) return false;
    return true;
}

void lid_table::reserve(lid_range range, ib_guid_t guid) {
    for (std::uint32_t i = 0; i < range.size(); ++i)
        used_[range.base + i] = true;
    ranges_[guid] = range;
}

// Searches from `from` on, and sets `from` to the position where the next search begins.
lid_range lid_table::first_free(std::uint8_t lmc, std::uint32_t& from) const {
    lid_range range{0, lmc};
    for (from = std::max(from, range.size()); from <= last_unicast; from += range.size()) {
        range.base = static_cast<ib_lid_t>(from);
        if (is_free(range)) return range;
    }
    return {};
}

lid_range lid_table::reported(const subnet_port& port, std::uint8_t lmc) const {
    const lid_range range{port.info.LID, lmc};
    return is_free(range) ? range : lid_range{};
}

// `present` is sorted.
void lid_table::drop_absent(const std::vector<ib_guid_t>& present) {
    std::erase_if(ranges_, [&](const auto& known) {
        if (std::ranges::binary_search(present, known.first)) return false;
        for (std::uint32_t i = 0; i < known.second.size(); ++i)
            used_[known.second.base + i] = false;
        return true;
    });
}

std::size_t lid_table::assign(const topology& subnet, std::uint8_t lmc) {
    lmc = std::min<std::uint8_t>(lmc, 7);
    const std::vector<port_ref> ends = subnet.end_ports();
    const auto lmc_of = [&](port_ref end) {
        return subnet[end.node].is_switch() ? std::uint8_t{0} : lmc;
    };
    std::vector<ib_guid_t> present;
    present.reserve(ends.size());
    for (port_ref end : ends)
        present.push_back(subnet.at(end).guid);

    // After a change of the LMC the earlier ranges do not fit.
    const bool other_lmc = std::ranges::any_of(ends, [&](port_ref end) {
        const lid_range had = of(subnet.at(end).guid);
        return had.base != 0 && had.lmc != lmc_of(end);
    });
    if (other_lmc) drop_absent({});
    for (port_ref end : ends) {
        const subnet_port& port = subnet.at(end);
        if (of(port.guid).base != 0) continue;
        if (const lid_range range = reported(port, lmc_of(end)); range.base != 0)
            reserve(range, port.guid);
    }
    std::size_t without = 0;
    bool absent_dropped = false;
    std::uint32_t from[8] = {}; // by LMC: each has its own alignment
    for (port_ref end : ends) {
        const ib_guid_t guid = subnet.at(end).guid;
        if (of(guid).base != 0) continue;
        const std::uint8_t bits = lmc_of(end);
        lid_range range = first_free(bits, from[bits]);
        if (range.base == 0 && !absent_dropped) {
            drop_absent(present);
            absent_dropped = true;
            std::ranges::fill(from, 0);
            range = first_free(bits, from[bits]);
        }
        if (range.base == 0) {
            ++without;
        } else {
            reserve(range, guid);
        }
    }

    top_ = 0;
    owners_.clear();
    for (port_ref end : ends) {
        const lid_range range = of(subnet.at(end).guid);
        if (range.base == 0) continue;
        top_ = std::max(top_, static_cast<ib_lid_t>(range.base + range.size() - 1));
        owners_.resize(std::max<std::size_t>(owners_.size(), top_ + 1u));
        std::fill_n(owners_.begin() + range.base, range.size(), end);
    }
    return without;
}

} // namespace irpverbs::subnet_manager
