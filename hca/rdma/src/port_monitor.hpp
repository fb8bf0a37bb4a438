// Tells of changes that are found by looking from time to time.
#pragma once

#include "attributes.hpp"
#include "verbs_device.hpp"

#include <atomic>

namespace irpverbs::hca_rdma {

/// What of a port's state is compared.
struct port_state {
    explicit port_state(const umad_port_t& port);

    unsigned state;
    std::pair<unsigned, unsigned> lid; // and LMC
    std::pair<unsigned, unsigned> sm;  // LID and SL
    std::pair<std::uint64_t, std::uint64_t> gid;
    std::vector<ib_pkey_t> pkeys;
};

/// In the order in which they are told.
std::vector<IB_ASYNC_EVENT> changes(const port_state& before, const port_state& now);

class port_monitor {
public:
    port_monitor(const outside& world, std::string name);
    ~port_monitor() { stop(); }
    port_monitor(const port_monitor&) = delete;
    port_monitor& operator=(const port_monitor&) = delete;

    /// Looks for the first time, and from now on: at the ports, or where verbs tell of those,
    /// whether they still list the device. IRQL: PASSIVE_LEVEL, as for stop().
    void start(DEVICE_OBJECT* device, const verbs_device* listed);
    /// Waits for a look that is being taken, and what it tells.
    void stop();

    /// IRQL: <= DISPATCH_LEVEL.
    void set_interval(ULONG milliseconds) { interval_.store(milliseconds); }

private:
    static void due(KDPC*, void* self, void*, void*);
    static void look(void* self);
    void compare();
    void compare_listing();
    void compare_ports(const ca_facts& now);
    void set_timer();

    const outside& world_;
    const std::string name_;
    DEVICE_OBJECT* device_ = nullptr;
    const verbs_device* listed_ = nullptr;
    bool started_ = false;
    std::vector<port_state> seen_;
    std::atomic<ULONG> interval_{1000};
    ULONG period_ = 0; // of the timer
    std::atomic<bool> looking_{false};
    EX_RUNDOWN_REF looks_{};
    KTIMER timer_{};
    KDPC dpc_{};
    WORK_QUEUE_ITEM item_{};
};

} // namespace irpverbs::hca_rdma
