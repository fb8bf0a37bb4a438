// Which port has which LIDs. A port keeps its LID over sweeps, also while it is away, as long as
// nobody needs it more. Deterministic: ports are served by GUID.
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

    /// Gives every end port its 2^lmc LIDs, aligned (switches: one). Before all others a port gets
    /// those it had in the last call, then those its PortInfo reports. Returns how many ports got
    /// none because the space is used up.
    std::size_t assign(const topology& subnet, std::uint8_t lmc);

    lid_range of(ib_guid_t port_guid) const;

    /// The port is away: its LIDs, which it keeps, lead to nobody.
    void set_away(ib_guid_t port_guid);

    /// The end port of a LID, or an invalid one.
    port_ref port_of(ib_lid_t lid) const {
        return lid < owners_.size() ? owners_[lid] : port_ref{};
    }

    /// The largest LID in use.
    ib_lid_t top() const { return top_; }

private:
    bool is_free(lid_range range) const;
    void take(lid_range range, ib_guid_t guid);
    void drop_absent(const std::vector<ib_guid_t>& present);
    lid_range first_free(std::uint8_t lmc, std::uint32_t& from) const;
    lid_range reported(const subnet_port& port, std::uint8_t lmc) const;

    std::map<ib_guid_t, lid_range> ranges_; // of ports that are away, too
    std::vector<bool> taken_ = std::vector<bool>(last_unicast + 1u);
    std::vector<port_ref> owners_;
    ib_lid_t top_ = 0;
};

} // namespace irpverbs::subnet_manager
