#include <dispatch/testing/swarm.hpp>

#include <algorithm>
#include <limits>

namespace irpverbs::dispatch {

// Choice 0 of every draw is "no fault", so a shrunk or exhausted trace has none.
constexpr std::uint32_t kind_one_in_off = 4; // a kind is off in a quarter of the runs
constexpr std::uint32_t site_one_in = 4;     // a site of a kind that is on is active in a quarter
constexpr std::uint32_t weights[] = {16, 4, 1};

bool swarm::fires(const char* name, std::uint32_t one_in) {
    site& here = site_of(name);
    ++here.visits;
    if (!here.active || one_in == 0 || !kind_of(name).on) return false;
    const std::uint64_t odds = std::uint64_t{one_in} * here.weight;
    // A site that always fires when active would end most runs at its first visit.
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    const bool fired =
        source_.fires(name, static_cast<std::uint32_t>(std::clamp<std::uint64_t>(odds, 2, most)));
    here.fired += fired;
    return fired;
}

swarm::site& swarm::site_of(const char* name) {
    const std::string_view wanted = name;
    const auto found =
        std::find_if(sites_.begin(), sites_.end(), [&](const site& s) { return s.name == wanted; });
    if (found != sites_.end()) return *found;
    const bool active = kind_of(name).on && source_.fires("swarm.site", site_one_in);
    const std::uint32_t weight =
        active ? weights[source_.pick(std::size(weights), "swarm.weight")] : 0;
    return sites_.emplace_back(site{name, active, weight, 0, 0});
}

static std::string_view kind_name(std::string_view site_name) {
    return site_name.substr(0, site_name.find('.'));
}

swarm::kind& swarm::kind_of(std::string_view site_name) {
    const std::string_view wanted = kind_name(site_name);
    const auto found =
        std::find_if(kinds_.begin(), kinds_.end(), [&](const kind& k) { return k.name == wanted; });
    if (found != kinds_.end()) return *found;
    const bool on = source_.pick(kind_one_in_off, "swarm.kind") != 0;
    return kinds_.emplace_back(kind{std::string(wanted), on});
}

void swarm::disable(std::string_view name) {
    const auto found =
        std::find_if(kinds_.begin(), kinds_.end(), [&](const kind& k) { return k.name == name; });
    if (found != kinds_.end()) {
        found->on = false;
    } else {
        kinds_.push_back({std::string(name), false});
    }
}

bool sweep::fires(choices& source, const char* what, std::uint64_t key) {
    return source.record_choice(what, due(key));
}

bool sweep::due(std::uint64_t key) {
    see(key);
    if (std::find(turn_.begin(), turn_.end(), key) == turn_.end()) return false;
    const bool spent = std::find(spent_.begin(), spent_.end(), key) != spent_.end();
    if (!spent) spent_.push_back(key);
    return which_ == visits::every || !spent;
}

void sweep::see(std::uint64_t key) {
    const auto place = std::lower_bound(sorted_.begin(), sorted_.end(), key);
    if (place != sorted_.end() && *place == key) return;
    sorted_.insert(place, key);
    keys_.push_back(key);
}

// Keys are added as faults open new paths. All singles are finished before each pair, and pairs are
// ordered by their later key, so the pairs of a new key come last.
bool sweep::next() {
    ++runs_;
    spent_.clear();
    turn_.clear();
    if (next_single_ < keys_.size()) {
        turn_.push_back(keys_[next_single_++]);
        return true;
    }
    if (depth_ == order::singles || pair_high_ >= keys_.size()) return false;
    turn_.push_back(keys_[pair_low_]);
    turn_.push_back(keys_[pair_high_]);
    if (++pair_low_ == pair_high_) pair_low_ = 0, ++pair_high_;
    return true;
}

} // namespace irpverbs::dispatch
