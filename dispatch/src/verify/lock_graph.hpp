// The order in which a machine's locks are acquired: a graph with an edge from each held lock to
// each lock that the holder waited for. A cycle whose edges can exist at the same time is a
// deadlock that needs only the right schedule. Source of the rule for gates: Havelund, "Using
// Runtime Analysis to Guide Model Checking of Java Programs" (GoodLock), SPIN 2000.
#pragma once

#include <dispatch/support/held_locks.hpp>

#include <optional>
#include <unordered_map>
#include <vector>

namespace irpverbs::dispatch::detail {

class lock_graph {
public:
    struct lock_use {
        const void* lock;
        std::uint64_t id; // see lock_identity
        lock_kind kind;
    };

    /// One order in which two locks were acquired.
    struct order {
        std::uint32_t from;
        std::uint32_t to;
        std::uint64_t to_id;
        bool from_shared;
        bool to_shared;
        std::vector<std::uint64_t> gates; // ids of the other locks that the processor held
                                          // exclusively every time
        std::uint32_t processor;          // the processor of the first time
        call_stack held_at;
        call_stack wanted_at;
    };

    /// Returns the lock's node in the graph.
    std::uint32_t node_of(const lock_use& use);

    /// Records that the processor holds `held` and waits for `wanted`. Returns a report when that
    /// closes a cycle. Two processors that share a lock block each other only when a writer waits
    /// for it in between, so each writer may close cycles of readers that were recorded before.
    std::optional<finding> wait_for(std::span<const held_lock> held, const lock_use& wanted,
                                    const call_stack& where, std::uint32_t processor);

private:
    struct node {
        const void* lock;
        std::uint64_t id;
        lock_kind kind;
        std::vector<order> out;
        bool written = false;                         // the lock was acquired exclusively
        std::vector<std::uint64_t> writer_gates = {}; // ids of the other locks held in each of
                                                      // those acquisitions
    };
    using path = std::vector<const order*>;

    std::uint32_t place(const lock_use& use);
    std::vector<std::uint64_t> gates_of(std::span<const held_lock> held,
                                        const held_lock* but = nullptr) const;
    bool record_order(const held_lock& from, std::uint32_t to, lock_kind to_kind,
                      std::vector<std::uint64_t> gates, const call_stack& where,
                      std::uint32_t processor);
    const order& edge(std::uint32_t from, std::uint32_t to, bool from_shared, bool to_shared) const;
    /// Records a writer. Returns true when it makes new deadlocks possible; the caller then
    /// searches for cycles of readers.
    bool record_writer(std::uint32_t of, std::vector<std::uint64_t> gates);
    std::optional<finding> cycle_of_readers(std::uint32_t through) const;
    bool conflict(const order& waits, const order& holds) const;
    bool fits(const path& so_far, const order& next) const;
    bool writers_can_come(const path& cycle) const;
    bool reaches(std::uint32_t from, std::uint32_t to) const;
    bool close_cycle(path& so_far, std::uint32_t start, unsigned& budget) const;
    path cycle_through(const order& fresh) const;
    finding describe_cycle(const path& cycle) const;
    std::string label(std::uint32_t node) const;

    raw_spin_lock guard_;
    std::vector<node> nodes_; // guarded by guard_, as all below
    std::unordered_map<const void*, std::uint32_t> by_address_;
};

/// "spin lock", "fast mutex".
const char* name_of(lock_kind kind);

} // namespace irpverbs::dispatch::detail
