// A quick test for drivers' data paths: usually no device of the process is captured.
#ifndef IRPVERBS_CI_SUPPORT_CAPTURES_HPP
#define IRPVERBS_CI_SUPPORT_CAPTURES_HPP

#include <ci/driver.h>

#include <atomic>

namespace irpverbs::ci {

/// The captured devices of the process.
NT_API extern std::atomic<ULONG> captured_devices;

/// False: HcaIsCaptured of each device is. IRQL: any.
inline bool is_any_captured() { return captured_devices.load(std::memory_order_relaxed) != 0; }

} // namespace irpverbs::ci

#endif
