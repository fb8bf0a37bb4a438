// Reports that came lately. A wire may double one, and the SA repeats one whose answer was lost.
#pragma once

#include <events/subnet_event.hpp>
#include <gid.hpp>

#include <algorithm>
#include <array>

namespace irpverbs::saa {

/// Under the port's lock.
class told_reports {
public:
    /// False: it is one of the last that came.
    bool is_new(std::uint64_t transaction, const subnet_event& event) {
        const report it{true, transaction, event};
        if (std::ranges::any_of(last_, [&](const report& each) { return each.is(it); }))
            return false;
        last_[next_++ % last_.size()] = it;
        return true;
    }
    /// Another SA counts anew.
    void forget() { last_ = {}; }

private:
    struct report {
        bool came = false;
        std::uint64_t transaction = 0;
        subnet_event event{};

        bool is(const report& other) const {
            return came && transaction == other.transaction && event.what == other.event.what &&
                   same_gid(event.details.ie_gid, other.event.details.ie_gid) &&
                   event.details.ie_lid == other.event.details.ie_lid;
        }
    };
    std::array<report, 32> last_{};
    std::size_t next_ = 0;
};

} // namespace irpverbs::saa
