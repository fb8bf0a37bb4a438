// The GUIDs that a topology file assigns to the nodes of one type.
#pragma once

#include <ci/ib_types.h>

#include <utility>

namespace irpverbs::hca_software {

/// "caguid=0x5" assigns the GUID of the next node, and following nodes count from there, as in
/// ibsim, unless their name has a GUID.
class guid_base {
public:
    explicit guid_base(ib_guid_t first) : base_(first) {}

    /// "caguid=0x5"
    void assign(ib_guid_t guid) { restart_at(base_ = guid); }
    /// "caguid+8": relative to the last assigned GUID.
    void add(ib_guid_t above) { restart_at(base_ + above); }

    /// Returns the GUID of a node that uses `used` GUIDs, or 0 if there is none. `called`: the GUID
    /// in its name, or 0.
    ib_guid_t allocate(ib_guid_t used, ib_guid_t called) {
        const bool just_assigned = std::exchange(just_assigned_, false);
        if (next_ == 0 || (called != 0 && !just_assigned)) return called;
        return std::exchange(next_, next_ + used);
    }

private:
    void restart_at(ib_guid_t guid) {
        next_ = guid;
        just_assigned_ = true;
    }

    ib_guid_t base_;
    ib_guid_t next_ = 0; // 0: none assigned
    bool just_assigned_ = false;
};

} // namespace irpverbs::hca_software
