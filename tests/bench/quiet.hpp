// What the rest of the machine does meanwhile, and how fast this core is just now.
#pragma once

#include "harness.hpp"

namespace irpverbs::bench {

// Nanoseconds of one predicted indirect call now. The host changes the speed of a core by up to
// two within seconds; a sample divided by the probe beside it is steadier than either.
double probe_indirect_call();

// Waits until nothing else wants a core. Patience is used up over the whole run; when it is gone
// every answer is "not quiet" at once.
class quiet_gate {
public:
    explicit quiet_gate(double patience_seconds) : patience_(patience_seconds) {}
    bool wait(threads uses);
    bool patient() const { return patience_ > 0; }

private:
    double patience_;
};

// Between its construction and the question: was this process left alone?
class disturbance {
public:
    disturbance();
    bool none(threads uses) const;

private:
    long preempted_;
    unsigned long long stolen_;
};

} // namespace irpverbs::bench
