// The options of the IRP verifier.
#pragma once

#include "hooks.hpp"

#include <dispatch/support/verify.hpp>

#include <atomic>
#include <string>
#include <string_view>

namespace irpverbs::irp::verify {

namespace core = dispatch::detail;

/// The bits of core::enabled_checks that belong to this package.
enum class check : std::uint32_t {
    io = core::first_package_check << 0,            // the life of IRPs, return values of routines
    lifetime = core::first_package_check << 1,      // leftovers at the end
    cancel = core::first_package_check << 2,        // cancel routines, latency
    remove_locks = core::first_package_check << 3,  // tags
    log = core::first_package_check << 4,           // a ring per device
    trace = core::first_package_check << 5,         // all events
    force_pending = core::first_package_check << 6, // inline completions are deferred
    sweep = core::first_package_check << 7,         // force_pending_sweep selects them
    recording = core::first_package_check << 8,     // a trace_recorder exists
};

constexpr std::uint32_t bit(check what) { return static_cast<std::uint32_t>(what); }
inline bool enabled(check what) noexcept { return core::enabled(bit(what)); }

enum class policy : std::uint8_t { allow, warn, fail };

/// The settings with values. Each is read alone; no two of them have to change together.
struct verifier_settings {
    std::atomic<policy> pended_completed{policy::warn};
    std::atomic<policy> two_remove_locks{policy::warn};
    std::atomic<bool> cancel_lock_required{false};
    std::atomic<bool> lax_device_queue_irql{false};
    std::atomic<std::uint32_t> cancel_limit_ms{300'000};
    std::atomic<std::uint32_t> force_pending_percent{10};
    std::atomic<std::uint32_t> trace_limit{100'000};
};
extern verifier_settings settings;

/// Runs before main. This declaration refers to it so that no linker omits it from a program that
/// uses IRPs.
bool register_with_machines();

/// Counts how often tracking began: records of an earlier configuration are invalid.
std::uint32_t configuration();

/// Begin and end a trace_recorder's recording, independent of the options.
void begin_recording();
void end_recording();

/// Begin and end a sweep of force_pending; options that are configured during the sweep stay in
/// force.
void begin_sweep();
void end_sweep();

/// Applies the options and returns "", or changes nothing and returns the reason.
std::string configure(std::string_view options);

} // namespace irpverbs::irp::verify
