// An open device, and the watch on its events.
#pragma once

#include "os_interface.hpp"
#include "verbs_device.hpp"

#include <ci/driver.h>

#include <atomic>

namespace irpverbs::hca_rdma {

/// An object that the context can keep after its owner has destroyed it.
class kept_object {
public:
    virtual ~kept_object() = default;

private:
    friend class verbs_context;
    std::unique_ptr<kept_object> next_;
};

class verbs_context {
public:
    /// Returns an errno; 0: `made` is valid. `device` is the FDO, with `port_count` ports.
    static int open(const os_interface& os, const verbs_device& which, DEVICE_OBJECT* device,
                    unsigned port_count, std::unique_ptr<verbs_context>& made);
    /// Only kept objects may be left. IRQL: PASSIVE_LEVEL.
    ~verbs_context();
    verbs_context(const verbs_context&) = delete;
    verbs_context& operator=(const verbs_context&) = delete;

    const verbs_library& verbs() const { return verbs_; }
    ibv_context* get() const { return opened_.get(); }
    ibv_comp_channel* channel() const { return channel_; }
    /// The next completion vector, in rotation.
    int next_vector();

    /// The status of an errno. Reports the fatal event if the device is gone.
    NTSTATUS failure(int error) const;

    bool is_iwarp() const { return get()->device->transport_type == IBV_TRANSPORT_IWARP; }

    /// Keeps an object that the kernel did not destroy: its events, or other kept objects, still
    /// refer to it. When the context closes it is destroyed, before those that were kept later.
    void keep(std::unique_ptr<kept_object> object);

private:
    verbs_context(const os_interface& os, const verbs_device& which, DEVICE_OBJECT* device,
                  unsigned port_count);
    int watch();
    bool can_continue(int error) const;
    bool read_events();
    bool read_completions();
    void notify(const ibv_async_event& event) const;
    static void notify_queue_pair(const ibv_qp& pair, IB_ASYNC_EVENT what);
    static void notify_shared_receives(const ibv_srq& queue, IB_ASYNC_EVENT what);

    const os_interface& os_;
    const verbs_library& verbs_;
    DEVICE_OBJECT* device_;
    unsigned port_count_;
    open_device opened_;
    ibv_comp_channel* channel_ = nullptr;
    std::atomic<unsigned> vector_{0};
    KSPIN_LOCK kept_lock_ = 0;
    std::unique_ptr<kept_object> kept_; // the oldest; guarded by kept_lock_
    std::unique_ptr<dispatch::descriptor_watch> events_;
    std::unique_ptr<dispatch::descriptor_watch> completions_;
};

} // namespace irpverbs::hca_rdma
