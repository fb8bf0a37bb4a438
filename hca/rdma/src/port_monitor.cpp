#include "port_monitor.hpp"

#include <algorithm>
#include <utility>

namespace irpverbs::hca_rdma {

port_state::port_state(const umad_port_t& port)
    : state(port.state), lid(port.base_lid, port.lmc), sm(port.sm_lid, port.sm_sl),
      gid(port.gid_prefix, port.port_guid), pkeys(pkeys_of(port)) {}

std::vector<IB_ASYNC_EVENT> changes(const port_state& before, const port_state& now) {
    std::vector<IB_ASYNC_EVENT> events;
    const auto add = [&](bool changed, IB_ASYNC_EVENT event) {
        if (changed) events.push_back(event);
    };
    const bool was_active = before.state == IB_PORT_ACTIVE;
    const bool is_active = now.state == IB_PORT_ACTIVE;
    add(was_active && !is_active, IB_AE_PORT_ERROR);
    add(before.lid != now.lid, IB_AE_LID_CHANGE);
    add(before.sm != now.sm, IB_AE_SM_CHANGE);
    add(before.pkeys != now.pkeys, IB_AE_PKEY_CHANGE);
    add(before.gid != now.gid, IB_AE_GID_CHANGE);
    add(!was_active && is_active, IB_AE_PORT_ACTIVE);
    return events;
}

port_monitor::port_monitor(const os_interface& os, std::string name)
    : os_(os), name_(std::move(name)) {
    KeInitializeTimer(&timer_);
    KeInitializeDpc(&dpc_, due, this);
    ExInitializeWorkItem(&item_, poll, this);
}

void port_monitor::start(DEVICE_OBJECT* device, const verbs_device* listed, unsigned port_count) {
    device_ = device;
    listed_ = listed;
    port_count_ = port_count;
    started_ = true;
    seen_.clear();
    ExInitializeRundownProtection(&poll_rundown_);
    compare();
    set_timer();
}

void port_monitor::stop() {
    if (!std::exchange(started_, false)) return;
    ExWaitForRundownProtectionRelease(&poll_rundown_); // a poll sets the timer, and no poll follows
    KeCancelTimer(&timer_);
    KeFlushQueuedDpcs();
}

void port_monitor::set_timer() {
    period_ = interval_.load();
    LARGE_INTEGER first;
    first.QuadPart = -10'000 * static_cast<LONGLONG>(period_);
    KeSetTimerEx(&timer_, first, static_cast<LONG>(period_), &dpc_);
}

void port_monitor::due(KDPC*, void* self, void*, void*) {
    auto& monitor = *static_cast<port_monitor*>(self);
    if (!ExAcquireRundownProtection(&monitor.poll_rundown_)) return;
    if (monitor.poll_running_.exchange(true))
        ExReleaseRundownProtection(&monitor.poll_rundown_); // the last poll has not ended
    else
        ExQueueWorkItem(&monitor.item_, DelayedWorkQueue);
}

void port_monitor::poll(void* self) {
    auto& monitor = *static_cast<port_monitor*>(self);
    monitor.compare();
    if (HcaIsFailed(monitor.device_))
        KeCancelTimer(&monitor.timer_);
    else if (monitor.period_ != monitor.interval_)
        monitor.set_timer();
    monitor.poll_running_ = false;
    ExReleaseRundownProtection(&monitor.poll_rundown_);
}

// A device that is not listed exists only because it is open: its removal waits for the driver's
// close.
void port_monitor::compare_listing() {
    if (!is_listed(*os_.verbs, *listed_)) HcaReportFatal(device_);
}

void port_monitor::compare() {
    if (listed_ != nullptr) return compare_listing();
    const ca_snapshot now(os_, name_);
    if (now.gone())
        HcaReportFatal(device_);
    else if (now.error() == 0)
        compare_ports(now);
}

void port_monitor::compare_ports(const ca_snapshot& now) {
    const unsigned count = std::min(now.port_count(), port_count_);
    for (unsigned number = 1; number <= count; ++number) {
        const port_state state(now.port(number));
        if (seen_.size() < number) {
            seen_.push_back(state);
            continue;
        }
        const port_state before = std::exchange(seen_[number - 1], state);
        for (const IB_ASYNC_EVENT event : changes(before, state))
            HcaReportPortEvent(device_, static_cast<UCHAR>(number), event);
    }
}

} // namespace irpverbs::hca_rdma
