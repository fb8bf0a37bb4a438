#include <dispatch/testing/choices.hpp>

#include <algorithm>
#include <string_view>

namespace irpverbs::dispatch {

// Most runs make fewer decisions; the memory is kept from run to run.
constexpr std::size_t typical_length = 256;

choices::choices() { trace_.reserve(typical_length); }

choices::~choices() = default;

void choices::clear_trace() {
    trace_.clear();
    actor_decisions_ = 0;
    preemptions_ = 0;
}

std::uint64_t choices::value64() {
    const std::uint64_t bits = choose_bits();
    record("value", 0, static_cast<std::uint32_t>(bits >> 32), 0);
    record("value", 0, static_cast<std::uint32_t>(bits), 0);
    return bits;
}

std::uint64_t choices::next_draw_fingerprint() const {
    std::uint64_t digest = trace_.size();
    for (const std::uint32_t chosen : trace_)
        digest = detail::generator::mixed(digest ^ chosen) + 1;
    return detail::generator::mixed(digest ^ peek());
}

std::string describe(std::span<const decision> log) {
    std::string text;
    for (std::size_t i = 0; i < log.size(); ++i) {
        const decision& d = log[i];
        if (d.chosen == 0 || d.count == 0) continue;
        text += '#' + std::to_string(i) + ' ' + d.what + ": " + std::to_string(d.chosen) +
                " of 0.." + std::to_string(d.count - 1);
        if (std::string_view(d.what) == "actor") text += ", actor " + std::to_string(d.actor);
        text += '\n';
    }
    if (text.empty()) text = "all " + std::to_string(log.size()) + " decisions are plain\n";
    return text;
}

namespace detail {

std::uint32_t fair_order::next(std::span<const actor_id> runnable, bool current_runnable,
                               bool yielded) const {
    if (current_runnable && !yielded) return 0;
    const auto when = [this](actor_id actor) {
        return actor < last_ran_.size() ? last_ran_[actor] : 0;
    };
    const auto first = runnable.begin() + (current_runnable ? 1 : 0);
    const auto oldest = std::min_element(first, runnable.end(),
                                         [&](actor_id a, actor_id b) { return when(a) < when(b); });
    return static_cast<std::uint32_t>(oldest - runnable.begin());
}

void fair_order::ran(actor_id actor) {
    if (actor >= last_ran_.size()) last_ran_.resize(actor + std::size_t{1});
    last_ran_[actor] = ++step_;
}

} // namespace detail
} // namespace irpverbs::dispatch
