// What the verifier of IRPs is asked to do.
#pragma once

#include <dispatch/detail/verify.hpp>

#include <atomic>
#include <string>
#include <string_view>

namespace irpverbs::irp::verify {

namespace core = dispatch::detail;

/// Bits of core::watched that are this package's.
enum class watch : std::uint32_t {
    io = core::first_outer_watch << 0,            // the life of IRPs, what routines return
    lifetime = core::first_outer_watch << 1,      // what is left at the end
    cancel = core::first_outer_watch << 2,        // cancel routines, latency
    remove_locks = core::first_outer_watch << 3,  // tags
    log = core::first_outer_watch << 4,           // a ring a device
    trace = core::first_outer_watch << 5,         // all events
    force_pending = core::first_outer_watch << 6, // inline completions are held back
    sweep = core::first_outer_watch << 7,         // force_pending_sweep decides which
    recording = core::first_outer_watch << 8,     // a trace_recorder is there
};

constexpr std::uint32_t bit(watch what) { return static_cast<std::uint32_t>(what); }
inline bool watching(watch what) noexcept { return core::watching(bit(what)); }
/// Anything at all about IRPs: then they have records.
inline bool tracking() noexcept { return core::watching(~(core::first_outer_watch - 1)); }

enum class answer : std::uint8_t { allow, warn, fail };

/// The settings that are no switches. Each is read alone: nobody changes two of them at once.
struct knobs {
    std::atomic<answer> pended_completed{answer::warn};
    std::atomic<bool> cancel_lock_required{false};
    std::atomic<bool> lax_device_queue_irql{false};
    std::atomic<std::uint32_t> cancel_limit_ms{300'000};
    std::atomic<std::uint32_t> force_pending_percent{10};
    std::atomic<std::uint32_t> trace_limit{100'000};
};
extern knobs settings;

/// Before main. Referred to from here, so that no linker leaves it out of a program that uses IRPs.
bool register_with_machines();

/// Counts the times that tracking began: records from before are of no use.
std::uint32_t configuration();

/// A trace_recorder begins and ends, whatever the options.
void begin_recording();
void end_recording();

/// A sweep of force_pending begins and ends; options that are configured meanwhile stay in force.
void begin_sweep();
void end_sweep();

/// Puts the options into force, or says why not, and changes nothing.
std::string configure(std::string_view options);

} // namespace irpverbs::irp::verify
