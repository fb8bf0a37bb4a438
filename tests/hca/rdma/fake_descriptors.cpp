#include "fake_descriptors.hpp"

#include <dispatch/machine.hpp>

#include <atomic>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace irpverbs::testing {

/// Calls from a work item, once for each signal.
class simulated_watch final : public dispatch::descriptor_watch {
public:
    simulated_watch(fake_descriptors& all, int descriptor, bool (*ready)(void*), void* context)
        : all_(all), descriptor_(descriptor), ready_(ready), context_(context) {
        ExInitializeRundownProtection(&turns_);
        ExInitializeWorkItem(&item_, run, this);
        const std::lock_guard guard(all_.lock_);
        fake_descriptors::entry& entry = all_.open_.at(descriptor_);
        entry.watch = this;
        readable_ = entry.readable;
    }
    ~simulated_watch() override {
        {
            const std::lock_guard guard(all_.lock_);
            all_.open_.at(descriptor_).watch = nullptr;
        }
        ExWaitForRundownProtectionRelease(&turns_);
    }
    void notify() {
        if (!ExAcquireRundownProtection(&turns_)) return;
        if (notifications_.fetch_add(1) == 0)
            ExQueueWorkItem(&item_, DelayedWorkQueue);
        else
            ExReleaseRundownProtection(&turns_);
    }

private:
    static void run(void* context) {
        auto& self = *static_cast<simulated_watch*>(context);
        unsigned seen = 0;
        do {
            seen = self.notifications_.load();
            while (self.going_ && self.readable_())
                self.going_ = self.ready_(self.context_);
        } while (self.notifications_.fetch_sub(seen) != seen);
        ExReleaseRundownProtection(&self.turns_);
    }

    fake_descriptors& all_;
    int descriptor_;
    bool (*ready_)(void*);
    void* context_;
    std::function<bool()> readable_;
    std::atomic<unsigned> notifications_{0};
    bool going_ = true;
    EX_RUNDOWN_REF turns_{};
    WORK_QUEUE_ITEM item_{};
};

namespace {

bool simulated() { return dispatch::machine::current().simulated(); }

} // namespace

int fake_descriptors::open(std::function<bool()> readable) {
    const std::lock_guard guard(lock_);
    const int descriptor = simulated() ? next_++ : eventfd(0, EFD_NONBLOCK);
    open_[descriptor].readable = std::move(readable);
    return descriptor;
}

void fake_descriptors::close(int descriptor) {
    const std::lock_guard guard(lock_);
    open_.erase(descriptor);
    if (!simulated()) ::close(descriptor);
}

// The caller holds the lock, so the watch stays alive.
void fake_descriptors::notify(int descriptor) {
    const std::lock_guard guard(lock_);
    if (!simulated())
        eventfd_write(descriptor, 1);
    else if (simulated_watch* watch = open_.at(descriptor).watch)
        watch->notify();
}

void fake_descriptors::quiet(int descriptor) {
    eventfd_t count = 0;
    if (!simulated()) eventfd_read(descriptor, &count);
}

std::unique_ptr<dispatch::descriptor_watch>
fake_descriptors::watch(int descriptor, bool (*ready)(void*), void* context) {
    dispatch::machine& here = dispatch::machine::current();
    if (!here.simulated()) return dispatch::watch_readable(here, descriptor, ready, context);
    return std::make_unique<simulated_watch>(*this, descriptor, ready, context);
}

} // namespace irpverbs::testing
