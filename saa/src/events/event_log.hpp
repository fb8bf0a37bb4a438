// The last events of a port, kept for subscribers that have not received them yet.
#pragma once

#include <events/subnet_event.hpp>
#include <saa/ibmf_saa_extras.h>

#include <array>
#include <cstdint>

namespace irpverbs::saa {

/// The port's lock guards it.
class event_log {
public:
    static constexpr std::size_t capacity = 256;
    /// The number of events before it.
    using position = std::uint64_t;

    void add(const subnet_event& event) { kept_[end_++ % capacity] = event; }
    position end() const { return end_; }

    /// Returns the event after position `at`, which must not be the end, and advances `at`. Returns
    /// IBMF_SAA_EVENT_LOST when later events have overwritten it.
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
