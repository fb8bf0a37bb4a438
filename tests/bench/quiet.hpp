// The load of the machine during a sample, and the present speed of this core.
#pragma once

#include "harness.hpp"

namespace irpverbs::bench {

// Nanoseconds of one predicted indirect call now. On a shared host the speed of a core changes by
// up to two within seconds; a sample divided by the probe beside it varies less than either.
double probe_indirect_call();

// Waits until no other thread wants a core. All waits of a run share one time limit; after that,
// wait() returns false without waiting.
class quiet_gate {
public:
    explicit quiet_gate(double max_wait_seconds) : max_wait_(max_wait_seconds) {}
    bool wait(threads uses);
    bool may_wait() const { return max_wait_ > 0; }

private:
    double max_wait_;
};

// Detects other load between its construction and the call of none().
class disturbance {
public:
    disturbance();
    bool none(threads uses) const;

private:
    long preempted_;
    unsigned long long stolen_;
};

} // namespace irpverbs::bench
