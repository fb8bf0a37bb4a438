// The last events of a port, kept for the subscribers who have yet to hear them.
#pragma once

#include <events/subnet_event.hpp>
#include <saa/ibmf_saa_extras.h>

#include <array>
#include <cstdint>

namespace irpverbs::saa {

/// Under the port's lock.
class event_log {
public:
    static constexpr std::size_t capacity = 256;
    /// Counts the events that come before it.
    using position = std::uint64_t;

    void add(const subnet_event& event) { kept_[end_++ % capacity] = event; }
    position end() const { return end_; }

    /// What whoever has heard all before `at` hears next; there is something. Of what is kept no
    /// more the gap, where it is.
    subnet_event next(position& at) const {
        const position oldest = end_ > capacity ? end_ - capacity : 0;
        if (at >= oldest) return kept_[at++ % capacity];
        at = oldest;
        return {IBMF_SAA_EVENT_LOST, {}};
    }

private:
    std::array<subnet_event, capacity> kept_{};
    position end_ = 0;
};

} // namespace irpverbs::saa
