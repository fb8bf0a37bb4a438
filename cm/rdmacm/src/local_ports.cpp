#include "local_ports.hpp"

#include "cm_id.hpp"
#include "lock.hpp"

#include <drop_in/devices.hpp>
#include <drop_in/verb_call.hpp>
#include <saa/ibmf_saa_extras.h>
#include <verbs/library.h>
#include <verbs/objects.hpp>

#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <utility>

namespace irpverbs::rdmacm {

namespace {

struct table {
    std::mutex lock; // guards the opening of devices, managers and sessions
    std::deque<local_device> devices;
};

table& only() {
    static auto* const all = new table; // programs may use connections while they exit
    return *all;
}

// And one while devices are opened: a first one that fails then is not the last. Counted without
// the lock, which belongs to the process's machine: that starts with the first device.
constinit std::atomic<unsigned> live_devices = 0;

// The caller holds the lock.
void end_device() {
    if (--live_devices == 0) event_channel::end_all();
}

void device_failed(void* which) {
    auto& device = *static_cast<local_device*>(which);
    const state_lock guard;
    if (std::exchange(device.is_gone, true)) return;
    for (device_use& each : device.uses)
        each.user.report_removal();
    end_device();
}

void open_device(std::deque<local_device>& all, ibv_device* which) {
    const drop_in::device* const device = drop_in::find_device(which->name);
    ibv_context* const context = irpverbs_ibv_open_device(which);
    if (device == nullptr || context == nullptr) return;
    local_device& made = all.emplace_back();
    made.context = context;
    made.fdo = drop_in::fdo_of(*device);
    made.pd = irpverbs_ibv_alloc_pd(context);
    irpverbs_ibv_query_device(context, &made.limits);
    for (std::uint8_t i = 1; i <= made.limits.phys_port_cnt; ++i)
        made.ports.push_back({&made, i});
    ++live_devices;
    verbs::on_failure(context, device_failed, &made);
}

ibv_port_attr attributes_of(const local_port& port) {
    ibv_context* const context = port.device->context;
    ibv_port_attr attr{};
    verbs_get_ctx(context)->query_port(context, port.number, &attr, sizeof(attr));
    return attr;
}

template <class Fits>
local_port* find_if(const Fits& fits) {
    for (local_device& device : local_devices())
        for (local_port& port : device.ports)
            if (fits(port)) return &port;
    return nullptr;
}

} // namespace

void device_use::begin(local_device& device) {
    end();
    const state_lock guard;
    device_ = &device;
    device.uses.push_back(*this);
    if (device.is_gone) user.report_removal();
}

void device_use::end() {
    const state_lock guard;
    if (device_ != nullptr) device_->uses.erase(device_->uses.iterator_to(*this));
    device_ = nullptr;
}

std::deque<local_device>& local_devices() {
    table& all = only();
    const std::lock_guard guard(all.lock);
    if (!all.devices.empty()) return all.devices;
    int count = 0;
    const std::unique_ptr<ibv_device*, decltype(&std::free)> list(
        irpverbs_ibv_get_device_list(&count), std::free);
    ++live_devices;
    for (int i = 0; i < count; ++i)
        open_device(all.devices, list.get()[i]);
    if (all.devices.empty()) {
        --live_devices; // devices may appear later
        errno = ENODEV;
    } else {
        const state_lock counting;
        end_device();
    }
    return all.devices;
}

port_identity identity_of(const local_port& port) {
    const ibv_port_attr attr = attributes_of(port);
    port_identity made;
    made.lid = attr.lid;
    for (int i = 0; i < attr.gid_tbl_len; ++i) {
        ibv_gid gid{};
        if (irpverbs_ibv_query_gid(port.device->context, port.number, i, &gid) != 0) continue;
        if (gid.global.interface_id != 0) made.gids.push_back(verbs::from_libibverbs(gid));
    }
    return made;
}

bool is_ethernet(const local_port& port) {
    return attributes_of(port).link_layer == IBV_LINK_LAYER_ETHERNET;
}

bool is_active(const local_port& port) { return attributes_of(port).state == IBV_PORT_ACTIVE; }

local_port* find_port(const ip_endpoint& address) {
    return find_if([&](const local_port& port) { return identity_of(port).has(address); });
}

local_port* find_port_to(const ip_endpoint& address) {
    return find_if(
        [&](const local_port& port) { return is_active(port) && may_reach(port, address); });
}

bool may_reach(const local_port& port, const ip_endpoint& address) {
    if (address.is_loopback() || address.is_multicast()) return true;
    if (is_ethernet(port)) return identity_of(port).own(address.family).has_value();
    return address.lid() != 0 || (address.family == AF_INET6 && !address.is_any());
}

int open_manager(local_port& port) {
    const std::lock_guard guard(only().lock);
    if (port.cm != nullptr) return 0;
    IB_CA* const ca = verbs::ca_of(port.device->context);
    const drop_in::verb_result opened = drop_in::call_verb(
        port.device->fdo, [&](IRP* irp) { CmOpen(ca, port.number, IB_CM_OPEN_WITHOUT_SA, irp); });
    if (NT_SUCCESS(opened.status)) port.cm = reinterpret_cast<IB_CM*>(opened.information);
    return drop_in::error_of(opened.status);
}

int open_session(local_port& port) {
    const port_identity identity = identity_of(port);
    if (identity.gids.empty()) return ENETUNREACH;
    const std::lock_guard guard(only().lock);
    if (port.sa != nullptr) return 0;
    const int status =
        ibmf_sa_session_open(identity.gids.front().gid_guid, 0, nullptr, IBMF_VERSION,
                             IBMF_SAA_SESSION_CACHED_PATHS | IBMF_SAA_SESSION_NO_OFFLOAD, &port.sa);
    return status == IBMF_SUCCESS ? 0 : ENETUNREACH;
}

// A domain of this process alone.
int open_xrc_domain(local_device& device) {
    const std::lock_guard guard(only().lock);
    if (device.xrcd != nullptr) return 0;
    ibv_xrcd_init_attr wanted{};
    wanted.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    wanted.fd = -1;
    wanted.oflags = O_CREAT;
    device.xrcd = verbs_get_ctx(device.context)->open_xrcd(device.context, &wanted);
    return device.xrcd != nullptr ? 0 : errno;
}

} // namespace irpverbs::rdmacm
