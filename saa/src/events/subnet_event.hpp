// The event that a Notice reports to a subscriber.
#pragma once

#include <saa/ibmf_saa.h>

#include <optional>

namespace irpverbs::saa {

struct subnet_event {
    ibmf_saa_subnet_event_t what{};
    ibmf_saa_event_details_t details{};
};

/// Returns nothing for a Notice without an event.
std::optional<subnet_event> event_of(const ib_mad_notice_t& notice);

} // namespace irpverbs::saa
