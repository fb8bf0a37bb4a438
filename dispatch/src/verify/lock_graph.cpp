#include "lock_graph.hpp"

#include "lock_names.hpp"
#include "verifier_rules.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>

namespace irpverbs::dispatch::detail {
namespace {

// The search gives up on cycles longer than this, or after more steps than that.
constexpr std::size_t max_cycle_length = 32;
constexpr unsigned max_steps = 100'000;

bool disjoint(const std::vector<std::uint64_t>& one, const std::vector<std::uint64_t>& other) {
    auto a = one.begin();
    auto b = other.begin();
    while (a != one.end() && b != other.end()) {
        if (*a == *b) return false;
        if (*a < *b)
            ++a;
        else
            ++b;
    }
    return true;
}

bool is_between_readers(const lock_graph::order& waits, const lock_graph::order& holds) {
    return waits.to_shared && holds.from_shared;
}

// Removes from `all` the elements that `others` lacks. Both are sorted.
void intersect(std::vector<std::uint64_t>& all, const std::vector<std::uint64_t>& others) {
    std::vector<std::uint64_t> both;
    std::set_intersection(all.begin(), all.end(), others.begin(), others.end(),
                          std::back_inserter(both));
    all = std::move(both);
}

} // namespace

bool lock_graph::conflict(const order& waits, const order& holds) const {
    return !is_between_readers(waits, holds) || nodes_[waits.to].written;
}

// Two edges whose processors both hold the same third lock can't exist at the same time.
bool lock_graph::fits(const path& so_far, const order& next) const {
    return conflict(*so_far.back(), next) &&
           std::all_of(so_far.begin(), so_far.end(),
                       [&](const order* each) { return disjoint(each->gates, next.gates); });
}

// True when a writer can wait between each two readers. It can't when it needs a lock that the
// cycle holds.
bool lock_graph::writers_can_come(const path& cycle) const {
    for (std::size_t i = 0; i < cycle.size(); ++i) {
        const order& waits = *cycle[i];
        if (!is_between_readers(waits, *cycle[(i + 1) % cycle.size()])) continue;
        const std::vector<std::uint64_t>& gates = nodes_[waits.to].writer_gates;
        for (const order* each : cycle)
            if (!disjoint(each->gates, gates) ||
                std::binary_search(gates.begin(), gates.end(), nodes_[each->from].id))
                return false;
    }
    return true;
}

const char* name_of(lock_kind kind) {
    switch (kind) {
    case lock_kind::spin:
        return "spin lock";
    case lock_kind::queued:
        return "queued spin lock";
    case lock_kind::shared:
    case lock_kind::exclusive:
        return "reader-writer spin lock";
    case lock_kind::fast_mutex:
        return "fast mutex";
    case lock_kind::mutex:
        return "mutex";
    }
    return "lock";
}

std::uint32_t lock_graph::node_of(const lock_use& use) {
    const std::lock_guard guard(guard_);
    return place(use);
}

std::uint32_t lock_graph::place(const lock_use& use) {
    const auto [found, is_new] =
        by_address_.try_emplace(use.lock, static_cast<std::uint32_t>(nodes_.size()));
    if (is_new) nodes_.push_back({use.lock, use.id, use.kind, {}});
    node& here = nodes_[found->second];
    if (here.id != use.id) here = {use.lock, use.id, use.kind, {}}; // new lock, old memory
    return found->second;
}

std::optional<finding> lock_graph::wait_for(std::span<const held_lock> held, const lock_use& wanted,
                                            const call_stack& where, std::uint32_t processor) {
    const std::lock_guard guard(guard_);
    const std::uint32_t to = place(wanted);
    std::optional<finding> found;
    if (wanted.kind == lock_kind::exclusive && record_writer(to, gates_of(held)))
        found = cycle_of_readers(to);
    for (const held_lock& from : held) {
        if (from.node == held_lock::no_node || from.node == to ||
            !record_order(from, to, wanted.kind, gates_of(held, &from), where, processor))
            continue;
        if (found || !reaches(to, from.node)) continue;
        const path cycle = cycle_through(
            edge(from.node, to, from.kind == lock_kind::shared, wanted.kind == lock_kind::shared));
        if (!cycle.empty()) found = describe_cycle(cycle);
    }
    return found;
}

std::vector<std::uint64_t> lock_graph::gates_of(std::span<const held_lock> held,
                                                const held_lock* but) const {
    std::vector<std::uint64_t> gates;
    for (const held_lock& each : held)
        if (&each != but && each.node != held_lock::no_node && each.kind != lock_kind::shared)
            gates.push_back(nodes_[each.node].id);
    std::sort(gates.begin(), gates.end());
    return gates;
}

// Records an order. Returns true when it is new, or happened with fewer gates than before.
bool lock_graph::record_order(const held_lock& from, std::uint32_t to, lock_kind to_kind,
                              std::vector<std::uint64_t> gates, const call_stack& where,
                              std::uint32_t processor) {
    const bool from_shared = from.kind == lock_kind::shared;
    const bool to_shared = to_kind == lock_kind::shared;
    std::vector<order>& out = nodes_[from.node].out;
    std::erase_if(out, [this](const order& old) { return nodes_[old.to].id != old.to_id; });
    for (order& seen : out) {
        if (seen.to != to || seen.from_shared != from_shared || seen.to_shared != to_shared)
            continue;
        const std::size_t before = seen.gates.size();
        intersect(seen.gates, gates);
        return seen.gates.size() != before;
    }
    out.push_back({from.node, to, nodes_[to].id, from_shared, to_shared, std::move(gates),
                   processor, from.where, where});
    return true;
}

const lock_graph::order& lock_graph::edge(std::uint32_t from, std::uint32_t to, bool from_shared,
                                          bool to_shared) const {
    return *std::find_if(nodes_[from].out.begin(), nodes_[from].out.end(), [=](const order& each) {
        return each.to == to && each.from_shared == from_shared && each.to_shared == to_shared;
    });
}

bool lock_graph::reaches(std::uint32_t from, std::uint32_t to) const {
    std::vector<bool> seen(nodes_.size());
    std::vector<std::uint32_t> open{from};
    seen[from] = true;
    while (!open.empty()) {
        const std::uint32_t here = open.back();
        open.pop_back();
        if (here == to) return true;
        for (const order& each : nodes_[here].out)
            if (!seen[each.to] && nodes_[each.to].id == each.to_id) {
                seen[each.to] = true;
                open.push_back(each.to);
            }
    }
    return false;
}

lock_graph::path lock_graph::cycle_through(const order& fresh) const {
    path cycle{&fresh};
    unsigned budget = max_steps;
    if (!close_cycle(cycle, fresh.from, budget)) cycle.clear();
    return cycle;
}

bool lock_graph::close_cycle(path& so_far, std::uint32_t start, unsigned& budget) const {
    if (so_far.size() == max_cycle_length) return false;
    for (const order& next : nodes_[so_far.back()->to].out) {
        if (budget == 0 || --budget == 0) return false;
        if (nodes_[next.to].id != next.to_id || !fits(so_far, next)) continue;
        const bool visited = std::any_of(so_far.begin(), so_far.end(),
                                         [&](const order* each) { return each->to == next.to; });
        if (visited) continue;
        so_far.push_back(&next);
        if (next.to == start ? conflict(next, *so_far.front()) && writers_can_come(so_far)
                             : close_cycle(so_far, start, budget))
            return true;
        so_far.pop_back();
    }
    return false;
}

bool lock_graph::record_writer(std::uint32_t of, std::vector<std::uint64_t> gates) {
    node& here = nodes_[of];
    const std::size_t before = here.writer_gates.size();
    if (here.written)
        intersect(here.writer_gates, gates);
    else
        here.writer_gates = std::move(gates);
    const bool is_new = !here.written || here.writer_gates.size() != before;
    here.written = true;
    return is_new;
}

std::optional<finding> lock_graph::cycle_of_readers(std::uint32_t through) const {
    for (const order& each : nodes_[through].out) {
        if (!each.from_shared || nodes_[each.to].id != each.to_id) continue;
        const path cycle = cycle_through(each);
        if (!cycle.empty() && is_between_readers(*cycle.back(), each)) return describe_cycle(cycle);
    }
    return std::nullopt;
}

std::string lock_graph::label(std::uint32_t which) const {
    const node& here = nodes_[which];
    const char* given = name_of_lock(here.lock);
    char text[100];
    std::snprintf(text, sizeof text, "%s %u (%p)",
                  given != nullptr ? given : detail::name_of(here.kind), which + 1, here.lock);
    return text;
}

// The text begins with the caller's order; the stacks are those of it and of the order that
// contradicts it.
finding lock_graph::describe_cycle(const path& cycle) const {
    const order& mine = *cycle[0];
    const order& other = *cycle[1];
    std::string text = "locks are acquired in orders that can deadlock: " + label(mine.from);
    std::string history;
    for (const order* each : cycle) {
        text += " -> " + label(each->to);
        history += "processor " + std::to_string(each->processor) + " held " + label(each->from) +
                   ", acquired at\n" + describe(each->held_at) + "and waited for " +
                   label(each->to) + " at\n" + describe(each->wanted_at);
    }
    finding found = make_finding(verifier_rules::LockOrder, std::move(text),
                                 reinterpret_cast<ULONG_PTR>(nodes_[mine.to].lock),
                                 reinterpret_cast<ULONG_PTR>(nodes_[mine.from].lock), cycle.size());
    found.history = std::move(history);
    found.add_stack("lock held since", mine.held_at);
    found.add_stack("the other order: lock held since", other.held_at);
    found.add_stack("the other order: waited at", other.wanted_at);
    return found;
}

} // namespace irpverbs::dispatch::detail
