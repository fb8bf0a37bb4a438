// Rules about waits, and about mutexes, which a thread acquires by waiting.
#pragma once

#include "processor_checks.hpp"

#include <dispatch/wait.h>

namespace irpverbs::dispatch::detail {

/// The checks of one wait, before and after it.
class wait_checks {
public:
    wait_checks(processor& self, std::span<const KWAIT_BLOCK> blocks, bool all,
                const LARGE_INTEGER* timeout)
        : self_(self), blocks_(blocks), all_(all || blocks.size() == 1), timeout_(timeout) {}

    void before(const char* function);
    void after(NTSTATUS status) const;

private:
    bool is_poll() const { return timeout_ != nullptr && timeout_->QuadPart == 0; }
    void record_acquired(std::size_t which, const call_stack& where) const;

    processor& self_;
    std::span<const KWAIT_BLOCK> blocks_;
    bool all_;
    const LARGE_INTEGER* timeout_;
    std::uint64_t mutexes_ = 0; // one bit a block; the other objects may no longer exist after the
                                // wait
};

/// Checks KeSetEvent with Wait, which a wait follows.
void check_event_wait(processor& self);

/// Checks a mutex that KeReleaseMutex is about to release.
void mutex_released(processor& self, const KMUTANT& mutex);

} // namespace irpverbs::dispatch::detail
