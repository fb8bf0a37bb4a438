// Probes: marks in library code that count rare events, so that a campaign of simulated runs shows
// whether it reached them.
#ifndef IRPVERBS_DISPATCH_TESTING_PROBE_HPP
#define IRPVERBS_DISPATCH_TESTING_PROBE_HPP

#include <dispatch/ntdef.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace irpverbs::dispatch {

/// One mark in the code. The program lists it from its start, also when it is never hit.
class NT_API probe {
public:
    struct state {
        const char* name; // "csq.cancelled_before_pend"
        const char* file;
        unsigned line;
        std::uint64_t hits;
    };

    /// Called by IRPVERBS_PROBE. The texts are not copied.
    probe(const char* name, const char* file, unsigned line) noexcept;
    ~probe();
    probe(const probe&) = delete;
    probe& operator=(const probe&) = delete;

    /// Counts a hit. Any thread, any IRQL. There is no locked instruction, so hits of several
    /// threads at the same moment may count as one; the count is never 0 after a hit.
    void hit() noexcept {
        hits_.store(hits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }

    /// Returns every probe of the program, sorted by name, then file and line. IRQL: PASSIVE_LEVEL.
    static std::vector<state> all();

    /// Returns the sum of the hits of all probes of that name. IRQL: PASSIVE_LEVEL.
    static std::uint64_t hits(std::string_view name);

    /// Returns the names in `required` that were not hit, or that no probe has. IRQL:
    /// PASSIVE_LEVEL.
    static std::vector<std::string_view> never_hit(std::span<const std::string_view> required);

    /// Sets all counters to 0. IRQL: PASSIVE_LEVEL.
    static void reset();

private:
    const char* name_;
    const char* file_;
    unsigned line_;
    std::atomic<std::uint64_t> hits_{0};
    probe* next_;

    friend struct probe_list;
};

namespace detail {

// When any code names a static member of a template, it is constructed at program start, without
// the guard that a static variable in a function has.
template <class Place>
struct probe_site {
    static inline probe mark{Place::name(), Place::file(), Place::line()};
};

} // namespace detail
} // namespace irpverbs::dispatch

/// Marks the place with a name, a string literal of the form "package_or_part.what_happened".
#define IRPVERBS_PROBE(probe_name)                                                                 \
    do {                                                                                           \
        struct irpverbs_probe_place {                                                              \
            static const char* name() { return probe_name; }                                       \
            static const char* file() { return __FILE__; }                                         \
            static unsigned line() { return __LINE__; }                                            \
        };                                                                                         \
        ::irpverbs::dispatch::detail::probe_site<irpverbs_probe_place>::mark.hit();                \
    } while (false)

#endif
