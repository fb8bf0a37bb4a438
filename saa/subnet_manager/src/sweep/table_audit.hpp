// Tables of switches and ports, compared with what this manager wrote: some blocks with each light
// sweep, in turn. A late duplicate of an old Set can undo a newer one, and nothing else shows it.
#pragma once

#include "configuration.hpp"

#include <functional>

namespace irpverbs::subnet_manager {

/// Runs in tasks of the channel's queue.
class table_audit {
public:
    explicit table_audit(programmed_state& programmed) : programmed_(programmed) {}

    /// Reads the next blocks of `net` as part of `batch`. A block that is not as it was written is
    /// forgotten, so the next sweep writes it, and `differs` is called. The audit must outlive the
    /// batch.
    void read_next(smp_batch& batch, const subnet& net, const std::function<void()>& differs);

private:
    template <class Wanted>
    void read(programmed_state::block& next, const Wanted& wanted, std::size_t sweeps_per_round,
              smp_batch& batch, const subnet& net, const std::function<void()>& differs);
    void compare(const programmed_state::block& which, const smp_data& expected,
                 const smp_response& response, const std::function<void()>& differs);

    programmed_state& programmed_;
    programmed_state::block routes_{}, others_{}; // next ones to read
};

} // namespace irpverbs::subnet_manager
