#include "verifier_rules.hpp"

#include <dispatch/support/fetched_words.hpp>

#include <vector>

namespace irpverbs::dispatch::detail {

struct fetched_words::range {
    const std::byte* begin;
    const std::byte* end;
    call_stack where;

    bool overlaps(const range& other) const { return begin < other.end && other.begin < end; }
};

struct fetched_words::records {
    std::vector<range> loaded;
};

fetched_words::fetched_words() noexcept = default;
fetched_words::~fetched_words() = default;

void fetched_words::begin_slow() { records_.reset(); }

void fetched_words::load_slow(const void* first, std::size_t size) {
    if (!enabled(check::pool)) return;
    if (records_ == nullptr) records_ = std::make_unique<records>();
    const auto* const begin = static_cast<const std::byte*>(first);
    const range now{begin, begin + size, capture_stack(1, 16)};
    for (const range& before : records_->loaded) {
        if (!before.overlaps(now)) continue;
        finding found = make_finding(verifier_rules::DoubleFetch,
                                     "a word of another process is loaded for a second time",
                                     as_parameter(first), size);
        found.add_stack("first loaded at", before.where);
        report(found);
        return;
    }
    records_->loaded.push_back(now);
}

} // namespace irpverbs::dispatch::detail
