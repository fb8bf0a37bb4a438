// The GUIDs that a topology file assigns to the nodes of one type.
#pragma once

#include <ci/ib_types.h>

#include <utility>

namespace irpverbs::hca_software {

/// "caguid=0x5" is for the next node, and those behind it count on from there, as in ibsim, unless
/// they are called by their GUID.
class guid_base {
public:
    explicit guid_base(ib_guid_t first) : base_(first) {}

    /// "caguid=0x5"
    void assign(ib_guid_t guid) { take_next_from(base_ = guid); }
    /// "caguid+8": above the one that was assigned last.
    void add(ib_guid_t above) { take_next_from(base_ + above); }

    /// Of a node that uses so many GUIDs; `called`: the one in its name, or 0. 0: none is known.
    ib_guid_t take(ib_guid_t used, ib_guid_t called) {
        const bool just_assigned = std::exchange(just_assigned_, false);
        if (next_ == 0 || (called != 0 && !just_assigned)) return called;
        return std::exchange(next_, next_ + used);
    }

private:
    void take_next_from(ib_guid_t guid) {
        next_ = guid;
        just_assigned_ = true;
    }

    ib_guid_t base_;
    ib_guid_t next_ = 0; // 0: none was assigned
    bool just_assigned_ = false;
};

} // namespace irpverbs::hca_software
