// A device that is open: its events, which are watched and told.
#pragma once

#include "outside.hpp"
#include "verbs_device.hpp"

#include <ci/driver.h>

#include <atomic>

namespace irpverbs::hca_rdma {

class completion_queue;

class verbs_context {
public:
    /// An errno; 0: made. `told` is an FDO with so many ports.
    static int open(const outside& world, const verbs_device& which, DEVICE_OBJECT* told,
                    unsigned port_count, std::unique_ptr<verbs_context>& made);
    /// No completion queue is left but those that it keeps. IRQL: PASSIVE_LEVEL.
    ~verbs_context();
    verbs_context(const verbs_context&) = delete;
    verbs_context& operator=(const verbs_context&) = delete;

    const verbs_library& verbs() const { return verbs_; }
    ibv_context* get() const { return opened_.get(); }
    ibv_comp_channel* channel() const { return channel_; }
    /// Completion vectors, one after the other.
    int next_vector();

    /// The status of an errno. That the device is gone is told.
    NTSTATUS failure(int error) const;

    /// A queue that the kernel does not let go: its events still name it.
    void keep(std::unique_ptr<completion_queue> queue);

private:
    verbs_context(const outside& world, const verbs_device& which, DEVICE_OBJECT* told,
                  unsigned port_count);
    int watch();
    bool goes_on(int error) const;
    bool read_events();
    bool read_completions();
    void tell(const ibv_async_event& event) const;

    const outside& world_;
    const verbs_library& verbs_;
    DEVICE_OBJECT* device_;
    unsigned port_count_;
    open_device opened_;
    ibv_comp_channel* channel_ = nullptr;
    std::atomic<unsigned> vector_{0};
    KSPIN_LOCK kept_lock_ = 0;
    std::unique_ptr<completion_queue> kept_; // guarded by kept_lock_
    std::unique_ptr<dispatch::descriptor_watch> events_;
    std::unique_ptr<dispatch::descriptor_watch> completions_;
};

} // namespace irpverbs::hca_rdma
