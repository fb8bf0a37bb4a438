// Descriptors of a fake kernel: eventfds on a real machine, numbers on a simulated one.
#pragma once

#include <dispatch/descriptor_watch.hpp>
#include <dispatch/ke.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace irpverbs::testing {

/// A spin lock for std::lock_guard.
class guarded_by_spin_lock {
public:
    void lock() {
        const KIRQL before = KeAcquireSpinLockRaiseToDpc(&lock_);
        before_ = before;
    }
    void unlock() { KeReleaseSpinLock(&lock_, before_); }

private:
    KSPIN_LOCK lock_ = 0;
    KIRQL before_ = PASSIVE_LEVEL;
};

class simulated_watch;

class fake_descriptors {
public:
    /// `readable()` is called without a lock of this class; it returns whether there is data to
    /// read or an error to find.
    int open(std::function<bool()> readable);
    void close(int descriptor);
    /// Signals that there is data to read, by queueing a work item only.
    void notify(int descriptor);
    /// The reader found no data.
    void quiet(int descriptor);

    std::unique_ptr<dispatch::descriptor_watch> watch(int descriptor, bool (*ready)(void*),
                                                      void* context);

private:
    friend class simulated_watch;
    struct entry {
        std::function<bool()> readable;
        simulated_watch* watch = nullptr;
    };
    guarded_by_spin_lock lock_; // guards all members
    std::map<int, entry> open_;
    int next_ = 1000; // on a simulated machine
};

} // namespace irpverbs::testing
