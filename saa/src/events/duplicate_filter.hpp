// A filter for repeated Reports. The fabric may duplicate one, and the SA repeats one whose
// response was lost.
#pragma once

#include <events/subnet_event.hpp>

#include <algorithm>
#include <array>

namespace irpverbs::saa {

/// The port's lock guards it.
class duplicate_filter {
public:
    /// Returns false for one of the last Reports.
    bool is_new(std::uint64_t transaction, const subnet_event& event) {
        const report it{true, transaction, event};
        if (std::ranges::any_of(last_, [&](const report& each) { return each.equals(it); }))
            return false;
        last_[next_++ % last_.size()] = it;
        return true;
    }
    /// Clears the filter, since a new SA restarts its transaction ids.
    void clear() { last_ = {}; }

private:
    struct report {
        bool valid = false;
        std::uint64_t transaction = 0;
        subnet_event event{};

        bool equals(const report& other) const {
            return valid && transaction == other.transaction && event.what == other.event.what &&
                   event.details.ie_gid == other.event.details.ie_gid &&
                   event.details.ie_lid == other.event.details.ie_lid;
        }
    };
    std::array<report, 32> last_{};
    std::size_t next_ = 0;
};

} // namespace irpverbs::saa
