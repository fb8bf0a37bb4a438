// What event_module/irpverbs_events.c does for tests in the guest.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace irpverbs::testing {

/// `type` is of ibv_event_type; `kind` as the module has it.
inline void raise_event(const std::string& device, const std::string& kind, unsigned number,
                        int type) {
    std::ofstream out("/proc/irpverbs_events");
    out << device << ' ' << kind << ' ' << number << ' ' << type << std::flush;
    EXPECT_TRUE(out.good()) << device << ' ' << kind << ' ' << type;
}

} // namespace irpverbs::testing
