#include "neighbors.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <algorithm>
#include <utility>

namespace irpverbs::hca_software::roce {

namespace {

using dispatch::detail::spin_guard;

constexpr ULONGLONG confirmed_for = 30 * neighbors::request_interval;
constexpr unsigned most_requests = 3;

} // namespace

neighbors::resolution neighbors::resolve(const ib_gid_t& address, const_bytes headers,
                                         const_bytes payload) {
    const spin_guard guard(lock_);
    const ULONGLONG now = KeQueryInterruptTime();
    const auto found = entries_.find(address);
    entry& its = found != entries_.end() ? found->second : add(address, now);
    resolution made{its.hardware};
    const bool is_old = !its.hardware || now - its.confirmed >= confirmed_for;
    made.is_request_due =
        is_old && (!its.requested || (its.hardware && now - *its.requested >= request_interval));
    if (made.is_request_due) count_request(its, now);
    if (its.hardware) return made;
    if (its.waiting.size() == most_waiting) its.waiting.erase(its.waiting.begin());
    packet& copy = its.waiting.emplace_back(headers.begin(), headers.end());
    copy.insert(copy.end(), payload.begin(), payload.end());
    return made;
}

std::vector<ib_gid_t> neighbors::due_requests() {
    const spin_guard guard(lock_);
    const ULONGLONG now = KeQueryInterruptTime();
    std::erase_if(entries_, [&](const auto& each) {
        const entry& its = each.second;
        return !its.hardware && its.requests == most_requests &&
               now - *its.requested >= request_interval;
    });
    std::vector<ib_gid_t> made;
    for (auto& [address, its] : entries_)
        if (!its.hardware && now - *its.requested >= request_interval) {
            made.push_back(address);
            count_request(its, now);
        }
    return made;
}

bool neighbors::is_any_unknown() {
    const spin_guard guard(lock_);
    return std::ranges::any_of(entries_, [](const auto& each) { return !each.second.hardware; });
}

void neighbors::count_request(entry& of, ULONGLONG now) {
    of.requested = now;
    ++of.requests;
}

std::vector<neighbors::packet> neighbors::learn(const ib_gid_t& address,
                                                const hardware_address& hardware, bool overrides,
                                                bool is_new) {
    const spin_guard guard(lock_);
    const ULONGLONG now = KeQueryInterruptTime();
    const auto found = entries_.find(address);
    if (found == entries_.end() && !is_new) return {};
    entry& its = found != entries_.end() ? found->second : add(address, now);
    if (its.hardware && *its.hardware != hardware && !overrides) return {};
    its.hardware = hardware;
    its.confirmed = now;
    its.requested.reset();
    its.requests = 0;
    return std::exchange(its.waiting, {});
}

neighbors::entry& neighbors::add(const ib_gid_t& address, ULONGLONG now) {
    if (entries_.size() == most)
        entries_.erase(std::ranges::min_element(
            entries_, {}, [](const auto& each) { return each.second.confirmed; }));
    entry& made = entries_[address];
    made.confirmed = now;
    return made;
}

} // namespace irpverbs::hca_software::roce
