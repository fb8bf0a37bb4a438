// The LIDs of each port. A port keeps its LIDs over sweeps, also while it is unreachable, unless
// the space is used up. Deterministic: ports are served in the order of their GUIDs.
#pragma once

#include "topology.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace irpverbs::subnet_manager {

struct lid_range {
    ib_lid_t base = 0; // 0: none
    std::uint8_t lmc = 0;

    std::uint32_t size() const { return 1u << lmc; }
};

class lid_table {
public:
    static constexpr ib_lid_t last_unicast = 0xbfff;

    /// Assigns 2^lmc aligned LIDs to every end port (one LID to a switch). A port's LIDs of the
    /// last call have precedence, then those that its PortInfo reports. Returns the number of ports
    /// without LIDs because the space is used up.
    std::size_t assign(const topology& subnet, std::uint8_t lmc);

    lid_range of(ib_guid_t port_guid) const;

    /// Marks the port as unreachable: it keeps its LIDs, but port_of does not find it.
    void set_unreachable(ib_guid_t port_guid);

    /// Returns the end port of a LID, or an invalid one.
    port_ref port_of(ib_lid_t lid) const {
        return lid < owners_.size() ? owners_[lid] : port_ref{};
    }

    /// Returns the largest LID in use.
    ib_lid_t top() const { return top_; }

private:
    bool is_free(lid_range range) const;
    void reserve(lid_range range, ib_guid_t guid);
    void drop_absent(const std::vector<ib_guid_t>& present);
    lid_range first_free(std::uint8_t lmc, std::uint32_t& from) const;
    lid_range reported(const subnet_port& port, std::uint8_t lmc) const;

    std::map<ib_guid_t, lid_range> ranges_; // including those of unreachable ports
    std::vector<bool> used_ = std::vector<bool>(last_unicast + 1u);
    std::vector<port_ref> owners_;
    ib_lid_t top_ = 0;
};

} // namespace irpverbs::subnet_manager
