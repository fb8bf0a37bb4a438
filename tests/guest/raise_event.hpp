// Raises events in the guest through event_module/irpverbs_events.c.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace irpverbs::testing {

/// `type` is an ibv_event_type; `kind` is one of the module's kinds.
inline void raise_event(const std::string& device, const std::string& kind, unsigned number,
                        int type) {
    std::ofstream out("/proc/irpverbs_events");
    out << device << ' ' << kind << ' ' << number << ' ' << type << std::flush;
    EXPECT_TRUE(out.good()) << device << ' ' << kind << ' ' << type;
}

} // namespace irpverbs::testing
