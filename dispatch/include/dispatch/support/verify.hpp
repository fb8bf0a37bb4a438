// The verifier's core for all packages: the set of enabled checks, call stacks as evidence,
// findings, and records of each machine. The rules themselves are beside the code that they check.
#pragma once

#include <dispatch/support/processor.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace irpverbs::dispatch::detail {

/// The rules that the verifier checks: bits of `enabled_checks`. Bits from `first_package_check` on
/// belong to the packages above.
enum class check : std::uint32_t {
    irql = 1u << 0,          // preconditions of functions, pairing of raise and lower
    locks = 1u << 1,         // acquire and release pair up
    deadlocks = 1u << 2,     // the graph of lock orders
    pool = 1u << 3,          // tags, leaks, memory freed with something active in it
    low_resources = 1u << 4, // operations that may fail, fail now and then
    delays = 1u << 5,        // locks and waits are delayed by chance
    watchdog = 1u << 6,      // DPCs that run too long
    // These rules are off unless requested, since much correct code breaks them.
    lock_initialisation = 1u << 7, // a spin lock that is only zeroed
    release_order = 1u << 8,       // locks released in another order than the reverse
};
inline constexpr std::uint32_t first_package_check = 1u << 16;

NT_API extern std::atomic<std::uint32_t> enabled_checks;

inline bool enabled(std::uint32_t bits) noexcept {
    return verifying() && (enabled_checks.load(std::memory_order_relaxed) & bits) != 0;
}
inline bool enabled(check what) noexcept { return enabled(static_cast<std::uint32_t>(what)); }

/// Replaces the set of enabled checks. 0: the verifier is off.
NT_API void set_enabled_checks(std::uint32_t bits);

/// Parameters of rules. A program sets them before it turns on the rules that use them.
struct verifier_settings {
    std::atomic<std::uint32_t> fault_one_in{17};                  // low resources: 6 %
    std::atomic<std::uint32_t> delay_one_in{64};                  // delays
    std::atomic<std::uint64_t> dpc_limit{20ull * 10'000'000};     // one DPC, in 100 ns: 20 s
    std::atomic<std::uint64_t> raised_limit{120ull * 10'000'000}; // at DISPATCH_LEVEL: 2 min
    /// True: uses SDV's level where the function's own page allows a higher one.
    std::atomic<bool> strict_sdv_irql{false};
};
NT_API extern verifier_settings settings;

struct call_stack {
    static constexpr std::uint32_t max_frames = 24;
    void* frames[max_frames] = {};
    std::uint32_t count = 0;
};

/// The calling thread's stack, without the innermost `skip` frames.
NT_API call_stack capture_stack(std::uint32_t skip = 1,
                                std::uint32_t limit = call_stack::max_frames);

/// The stack as text, one frame a line, with symbol names where the program has them.
NT_API std::string describe(const call_stack& stack);

/// A broken rule, with the evidence.
struct finding {
    ULONG code = 0;             // DRIVER_VERIFIER_DETECTED_VIOLATION, ...
    const char* rule = nullptr; // "DoubleCompletion"
    ULONG_PTR parameters[4] = {};
    std::string text;
    std::string history; // one event a line

    struct evidence {
        const char* label = nullptr; // "first completed at"
        const call_stack* stack = nullptr;
    };
    evidence stacks[3] = {};

    /// Adds a copy of the stack as the next evidence. The fourth and later copies are dropped.
    NT_API void add_stack(const char* label, const call_stack& stack);
    std::vector<std::shared_ptr<const call_stack>> copies;
};

/// One row of a package's table of rules: src/verify/rules.def.
struct rule {
    const char* name; // Windows' name where Windows has the rule: "SpinLock"
    ULONG code;       // bug-check code
    ULONG_PTR id;     // the code's first parameter; from 0x49520000 on: irpverbs' own
};

/// Makes a finding; the caller adds the stacks.
NT_API finding make_finding(const rule& which, std::string text, ULONG_PTR p2 = 0, ULONG_PTR p3 = 0,
                            ULONG_PTR p4 = 0);

/// Counts the finding and reports it to the bug-check handler; returns when the handler returns.
NT_API void report(const finding& found);

/// Reports the objects that are still alive in memory (timers, DPCs, work items, held locks). The
/// memory does not come from the pool, and its owner is about to free it.
NT_API void check_freed_memory(const void* memory, std::size_t size);

/// Frees memory of malloc that does not come from the pool; while the pool is checked, it is kept
/// back as freed pool blocks are. `name`: "device object".
NT_API void free_to_special_pool(void* memory, std::size_t size, const char* name);

/// Reports `what` ("a lock is acquired") if the object lies in freed memory that is kept back.
NT_API void check_freed_use(const void* object, const char* what);

/// Reports freed memory of `owner`'s threads that was written to, and the pool blocks that they
/// allocated and did not free, by tag.
NT_API void check_pool_leaks(machine& owner);

/// Findings reported since the process began.
NT_API std::uint64_t findings_reported();

} // namespace irpverbs::dispatch::detail
