// Faults of a run, by chance (swarm) and one after the other (sweep). Both are asked at a fault
// site, "does it happen here, now?", and both answer through a source of choices, so a replay
// repeats them.
#ifndef IRPVERBS_DISPATCH_SWARM_HPP
#define IRPVERBS_DISPATCH_SWARM_HPP

#include <dispatch/choices.hpp>

#include <string_view>

namespace irpverbs::dispatch {

/// Faults by chance. A run has some kinds of fault only, of those some sites, each with a weight of
/// its own: runs differ much more than with every fault a little likely. One object a run. Source:
/// FoundationDB's buggified sites (active in 25 % of the runs); swarm testing, Groce et al. 2012.
class NT_API swarm {
public:
    struct site {
        std::string name; // "kind.what": "pool.allocate"
        bool active;      // in this run
        std::uint32_t weight;
        std::uint64_t visits;
        std::uint64_t fired;
    };

    /// `source` is not owned and must outlive this.
    explicit swarm(choices& source) : source_(source) {}

    /// Says whether the fault at `site` happens: never when it is not active in this run, otherwise
    /// about once in `one_in` * weight visits, and at most every second one. 0: never.
    bool fires(const char* site, std::uint32_t one_in);

    /// Keeps sites of a kind ("pool") from firing, without a draw, from now on.
    void switch_off(std::string_view kind);

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
/// fault, then one for each distinct key (a call stack, a call site) seen in any run so far, then,
/// when asked, one for each pair. A key that is seen first in a run with a fault gets its turn too.
class NT_API sweep {
public:
    enum class visits { first, every }; // of the key whose turn it is
    enum class order { singles, pairs };

    explicit sweep(order depth, visits which = visits::first) : depth_(depth), which_(which) {}

    /// Says whether the fault happens at this visit of `key`. `what` must outlive the source's log.
    bool fires(choices& source, const char* what, std::uint64_t key);

    /// The same, for who has no source of choices: whether it is the turn of this visit of `key`.
    bool due(std::uint64_t key);

    /// Goes on to the next run; false when every turn was taken.
    bool next();

    /// The keys whose turn it is: none, one or two.
    std::span<const std::uint64_t> turn() const { return turn_; }

    /// All keys, in order of first sight.
    std::span<const std::uint64_t> keys() const { return keys_; }

    /// Runs ended so far.
    std::uint64_t runs() const { return runs_; }

private:
    void see(std::uint64_t key);

    order depth_;
    visits which_;
    std::vector<std::uint64_t> keys_;
    std::vector<std::uint64_t> sorted_; // keys_, to look one up
    std::vector<std::uint64_t> turn_;
    std::vector<std::uint64_t> spent_; // keys of the turn that fired in this run
    std::size_t next_single_ = 0;
    std::size_t pair_low_ = 0; // the next pair: keys_[pair_low_], keys_[pair_high_]
    std::size_t pair_high_ = 1;
    std::uint64_t runs_ = 0;
};

} // namespace irpverbs::dispatch

#endif
