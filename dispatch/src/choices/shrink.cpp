#include <dispatch/testing/shrink.hpp>

#include <algorithm>
#include <utility>

namespace irpverbs::dispatch {
namespace {

using trace_t = std::vector<std::uint32_t>;

class shrinker {
public:
    shrinker(std::span<const std::uint32_t> trace, const fails_predicate& fails, std::size_t budget)
        : fails_(fails), budget_(budget) {
        result_.trace.assign(trace.begin(), trace.end());
    }

    shrunk run() {
        if (budget_ == 0) return std::move(result_);
        ++result_.reruns;
        result_.reproduced = fails_(result_.trace);
        if (!result_.reproduced) return std::move(result_);
        for (bool smaller = true; smaller;) {
            smaller = cut_tail();
            smaller |= by_blocks(&shrinker::zero);
            smaller |= by_blocks(&shrinker::erase);
            smaller |= lower_choices();
        }
        result_.finished = !out_of_budget_;
        return std::move(result_);
    }

private:
    // Keeps the candidate when it still fails.
    bool keep(trace_t candidate) {
        if (result_.reruns == budget_) {
            out_of_budget_ = true;
            return false;
        }
        ++result_.reruns;
        if (!fails_(candidate)) return false;
        result_.trace = std::move(candidate);
        return true;
    }

    trace_t prefix(std::size_t length) const {
        return {result_.trace.begin(), result_.trace.begin() + static_cast<std::ptrdiff_t>(length)};
    }

    // Halves the length of the cut until only the last choice is cut.
    bool cut_tail() {
        bool smaller = false;
        for (std::size_t cut = result_.trace.size(); cut > 0 && !out_of_budget_;) {
            cut = std::min(cut, result_.trace.size());
            if (cut > 0 && keep(prefix(result_.trace.size() - cut))) {
                smaller = true;
            } else {
                cut /= 2;
            }
        }
        return smaller;
    }

    using block_change = bool (shrinker::*)(std::size_t from, std::size_t to);

    bool by_blocks(block_change change) {
        bool smaller = false;
        for (std::size_t size = result_.trace.size(); size > 0; size /= 2) {
            // From the back, since later choices depend on earlier ones.
            for (std::size_t end = result_.trace.size(); end > 0 && !out_of_budget_;) {
                end = std::min(end, result_.trace.size());
                const std::size_t from = end > size ? end - size : 0;
                smaller |= end > 0 && (this->*change)(from, end);
                end = from;
            }
        }
        return smaller;
    }

    bool zero(std::size_t from, std::size_t to) {
        const std::span<const std::uint32_t> block(result_.trace.data() + from, to - from);
        if (std::count(block.begin(), block.end(), 0u) == std::ssize(block)) return false;
        trace_t candidate = result_.trace;
        std::fill_n(candidate.begin() + static_cast<std::ptrdiff_t>(from), to - from, 0u);
        return keep(std::move(candidate));
    }

    bool erase(std::size_t from, std::size_t to) {
        trace_t candidate = result_.trace;
        candidate.erase(candidate.begin() + static_cast<std::ptrdiff_t>(from),
                        candidate.begin() + static_cast<std::ptrdiff_t>(to));
        return keep(std::move(candidate));
    }

    // Zero was tried, so the least choice that may work is 1. Tries 1, then halves the remaining
    // distance.
    bool lower_choices() {
        bool smaller = false;
        for (std::size_t i = 0; i < result_.trace.size(); ++i) {
            std::uint32_t low = 1;
            while (low < result_.trace[i] && !out_of_budget_) {
                const std::uint32_t choice = low == 1 ? 1 : low + (result_.trace[i] - low) / 2;
                trace_t candidate = result_.trace;
                candidate[i] = choice;
                if (keep(std::move(candidate))) {
                    smaller = true;
                } else {
                    low = choice + 1;
                }
            }
        }
        return smaller;
    }

    const fails_predicate& fails_;
    std::size_t budget_;
    bool out_of_budget_ = false;
    shrunk result_;
};

} // namespace

shrunk shrink(std::span<const std::uint32_t> trace, const fails_predicate& fails,
              std::size_t budget) {
    return shrinker(trace, fails, budget).run();
}

} // namespace irpverbs::dispatch
