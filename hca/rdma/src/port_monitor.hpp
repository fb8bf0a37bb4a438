// Polls the ports or the list of devices, and reports changes.
#pragma once

#include "attributes.hpp"
#include "verbs_device.hpp"

#include <atomic>

namespace irpverbs::hca_rdma {

/// The part of a port's state that is compared.
struct port_state {
    explicit port_state(const umad_port_t& port);

    unsigned state;
    std::pair<unsigned, unsigned> lid; // and LMC
    std::pair<unsigned, unsigned> sm;  // LID and SL
    std::pair<std::uint64_t, std::uint64_t> gid;
    std::vector<ib_pkey_t> pkeys;
};

/// The events, in the order of their reports.
std::vector<IB_ASYNC_EVENT> changes(const port_state& before, const port_state& now);

class port_monitor {
public:
    port_monitor(const os_interface& os, std::string name);
    ~port_monitor() { stop(); }
    port_monitor(const port_monitor&) = delete;
    port_monitor& operator=(const port_monitor&) = delete;

    /// Polls for the first time, and starts the timer. Polls the ports; if verbs report those, the
    /// list of devices. Reports events of the ports up to `port_count` only: sysfs may list more
    /// later, under the name of another device. IRQL: PASSIVE_LEVEL, also for stop().
    void start(DEVICE_OBJECT* device, const verbs_device* listed, unsigned port_count);
    /// Waits for a poll in progress and its reports.
    void stop();

    /// IRQL: <= DISPATCH_LEVEL.
    void set_interval(ULONG milliseconds) { interval_.store(milliseconds); }

private:
    static void due(KDPC*, void* self, void*, void*);
    static void poll(void* self);
    void compare();
    void compare_listing();
    void compare_ports(const ca_snapshot& now);
    void set_timer();

    const os_interface& os_;
    const std::string name_;
    DEVICE_OBJECT* device_ = nullptr;
    const verbs_device* listed_ = nullptr;
    unsigned port_count_ = 0;
    bool started_ = false;
    std::vector<port_state> seen_;
    std::atomic<ULONG> interval_{1000};
    ULONG period_ = 0; // of the timer
    std::atomic<bool> poll_running_{false};
    EX_RUNDOWN_REF poll_rundown_{};
    KTIMER timer_{};
    KDPC dpc_{};
    WORK_QUEUE_ITEM item_{};
};

} // namespace irpverbs::hca_rdma
