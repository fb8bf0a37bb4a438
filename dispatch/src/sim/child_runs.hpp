// Runs in child processes: what kills a run kills only its child.
#pragma once

#include "explored_run.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace irpverbs::dispatch::sim {

/// The runs that passed in a child process, in memory that the child shares with its parent.
class passed_runs {
public:
    /// Room for `most` runs. Throws std::system_error.
    explicit passed_runs(std::size_t most);
    ~passed_runs();
    passed_runs(const passed_runs&) = delete;
    passed_runs& operator=(const passed_runs&) = delete;

    bool full() const { return shared_->count == most_; }
    std::size_t size() const { return shared_->count; }
    std::span<const std::uint64_t> hashes() const { return {shared_->hashes, shared_->count}; }
    /// The child calls this.
    void add(std::uint64_t hash);

    bool all() const { return shared_->all; }
    /// No schedule is left. The child calls this.
    void set_all() { shared_->all = true; }

private:
    struct shared {
        std::size_t count;
        bool all;
        std::uint64_t hashes[1];
    };
    std::size_t bytes() const { return sizeof(shared) + most_ * sizeof(std::uint64_t); }

    std::size_t most_;
    shared* shared_;
};

/// Calls `make` in a child process and returns its result. If the child dies, or takes more
/// processor time than a run may, that is the failure: its text holds what the child wrote to
/// stderr, its trace the decisions until then (none: unknown). Throws std::system_error when no
/// child can be made. The calling process should have no other threads. `limit_ms`: of processor
/// time, for 64 runs.
run_result run_in_child(std::uint32_t limit_ms, const std::function<run_result()>& make);

/// The kind of a run that took more processor time than it may.
inline constexpr const char* endless_loop = "endless loop";

} // namespace irpverbs::dispatch::sim
