// Faults of a run, by chance (swarm) or one after the other (sweep). A fault site asks either of
// them whether its fault happens now. Both choose through a source of choices, so a replay repeats
// the faults.
#ifndef IRPVERBS_DISPATCH_TESTING_SWARM_HPP
#define IRPVERBS_DISPATCH_TESTING_SWARM_HPP

#include <dispatch/testing/choices.hpp>

#include <string_view>

namespace irpverbs::dispatch {

/// Faults by chance. A run has only some kinds of fault and only some sites of each kind, each with
/// a weight of its own, so runs differ much more than if every fault were a little likely. One
/// object serves one run. Source: FoundationDB's buggified sites (active in 25 % of the runs);
/// swarm testing, Groce et al. 2012.
class NT_API swarm {
public:
    struct site {
        std::string name; // "kind.what": "pool.allocate"
        bool active;      // true: may fire in this run
        std::uint32_t weight;
        std::uint64_t visits;
        std::uint64_t fired;
    };

    /// `source` is not owned and must outlive this.
    explicit swarm(choices& source) : source_(source) {}

    /// Returns whether the fault at `site` happens. A site that is not active in this run never
    /// fires; an active one fires about once in `one_in` * weight visits, at most at every second
    /// one. 0: never.
    bool fires(const char* site, std::uint32_t one_in);

    /// Stops all sites of a kind ("pool") from firing from now on, without a draw.
    void disable(std::string_view kind);

    /// All sites seen so far, in order of first use.
    const std::vector<site>& sites() const { return sites_; }

private:
    struct kind {
        std::string name;
        bool on;
    };

    site& site_of(const char* name);
    kind& kind_of(std::string_view site_name);

    choices& source_;
    std::vector<site> sites_;
    std::vector<kind> kinds_;
};

/// Faults one after the other: `do { run(sweep); } while (sweep.next());` makes a run without a
/// fault, then one run for each distinct key (a call stack, a call site) seen in any run so far,
/// then, if requested, one for each pair. A key that is first seen in a run with a fault gets its
/// turn too.
class NT_API sweep {
public:
    enum class visits { first, every }; // visits at which the key of the turn fires
    enum class order { singles, pairs };

    explicit sweep(order depth, visits which = visits::first) : depth_(depth), which_(which) {}

    /// Returns whether the fault happens at this visit of `key`. `what` must outlive the source's
    /// log.
    bool fires(choices& source, const char* what, std::uint64_t key);

    /// Returns whether this visit of `key` has its turn, for callers without a source of choices.
    bool due(std::uint64_t key);

    /// Advances to the next run. Returns false when every turn was taken.
    bool next();

    /// The keys of the present turn: none, one or two.
    std::span<const std::uint64_t> turn() const { return turn_; }

    /// All keys, in the order in which they were first seen.
    std::span<const std::uint64_t> keys() const { return keys_; }

    /// Number of runs ended so far.
    std::uint64_t runs() const { return runs_; }

private:
    void see(std::uint64_t key);

    order depth_;
    visits which_;
    std::vector<std::uint64_t> keys_;
    std::vector<std::uint64_t> sorted_; // keys_ in order, for look-ups
    std::vector<std::uint64_t> turn_;
    std::vector<std::uint64_t> spent_; // keys of the turn that fired in this run
    std::size_t next_single_ = 0;
    std::size_t pair_low_ = 0; // the next pair: keys_[pair_low_], keys_[pair_high_]
    std::size_t pair_high_ = 1;
    std::uint64_t runs_ = 0;
};

} // namespace irpverbs::dispatch

#endif
