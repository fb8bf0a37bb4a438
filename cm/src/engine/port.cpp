// The connections, listeners and deadlines of a port.
#include "port.hpp"

#include "port_table.hpp"
#include "valid.hpp"

#include <dispatch/timer.h>

#include <algorithm>

namespace irpverbs::cm::engine {

// The managers of a port, each in a process, have different IDs.
static std::uint32_t first_id() {
    const auto now = static_cast<std::uint64_t>(KeQueryPerformanceCounter(nullptr).QuadPart);
    return static_cast<std::uint32_t>(now * 0x9E3779B97F4A7C15 >> 32);
}

cm_port::cm_port(port_table& table, const IB_CA_ATTR& hca, UCHAR its_number)
    : ca_guid(hca.NodeGuid), number(its_number), ack_delay(hca.LocalAckDelay & 0x1F), table_(table),
      hca_migrates_((hca.Capabilities & IB_CA_CAP_AUTO_PATH_MIGRATION) != 0), hca_(*this),
      ports_(hca.PortCount), last_id_(first_id()) {
    ExInitializeRundownProtection(&sends_);
    KeInitializeTimer(&timer_);
    KeInitializeDpc(&timer_dpc_, timer_expired, this);
}

cm_port::~cm_port() = default;

std::optional<USHORT> port_attributes::pkey_index(ib_pkey_t key) const {
    const auto found = std::ranges::find_if(
        pkeys, [&](ib_pkey_t each) { return (each & 0x7FFF) == (key & 0x7FFF); });
    if (found == pkeys.end()) return std::nullopt;
    return static_cast<USHORT>(found - pkeys.begin());
}

std::optional<USHORT> port_attributes::gid_index(const ib_gid_t& gid) const {
    const auto found = std::ranges::find(gids, gid);
    if (found == gids.end()) return std::nullopt;
    return static_cast<USHORT>(found - gids.begin());
}

std::optional<path_location> port_attributes::locate(const sa_path_record_t& path) const {
    const std::optional<USHORT> key = pkey_index(path.P_Key);
    const std::optional<USHORT> gid = gid_index(path.SGID);
    if (!key || !gid) return std::nullopt;
    const auto mask = static_cast<UCHAR>((1u << lmc) - 1);
    const auto bits = static_cast<UCHAR>(path.SLID - lid);
    return path_location{*key, *gid, static_cast<UCHAR>(bits & mask), number};
}

bool port_attributes::takes(const sa_path_record_t& path) const {
    return (path.DLID != 0 || is_ethernet) && path.Mtu >= IB_MTU_256 && path.Mtu <= IB_MTU_4096 &&
           path.PacketLifeTime <= max_time_code;
}

std::optional<sa_path_record_t> port_attributes::path_to(const ib_gid_t& address) const {
    const std::optional<ib_gid_t> from = source_address(gids, address);
    if (!from) return std::nullopt;
    return ethernet_path(*from, address, mtu);
}

const port_attributes* cm_port::start_of(const sa_path_record_t& path) const {
    const auto found = std::ranges::find_if(
        ports_, [&](const port_attributes& each) { return each.has_lid(path.SLID); });
    return found != ports_.end() ? &*found : nullptr;
}

void cm_port::add(connection& fresh) {
    intrusive_ptr_add_ref(&fresh);
    connections_.insert(fresh);
    ++counters.connections;
    peer_connects += fresh.is_peer_to_peer ? 1 : 0;
}

void cm_port::remove(connection& gone, effects& fx) {
    deadlines_.clear(gone);
    forget(gone);
    remove_remote_qp(gone);
    if (gone.by_remote_id.is_linked()) by_remote_id_.erase(by_remote_id_.iterator_to(gone));
    if (!gone.by_local_id.is_linked()) return;
    connections_.erase(connections_.iterator_to(gone));
    --counters.connections;
    peer_connects -= gone.is_peer_to_peer ? 1 : 0;
    fx.release(gone);
}

// Without bound the requests of a hostile peer would take all memory. A peer that repeats a message
// later is a stranger.
void cm_port::remember(offered& of, ticks time, effects& fx) {
    constexpr unsigned at_most = 1024;
    set_deadline(of, std::max(time, ticks{1}));
    if (of.backlog_entry.is_linked()) return;
    remembered_.push_back(of);
    if (remembered_.size() <= at_most) return;
    offered& oldest = remembered_.front();
    deadlines_.clear(oldest);
    oldest.on_time(fx);
}

void cm_port::forget(offered& gone) {
    if (gone.backlog_entry.is_linked() && gone.waits_in == nullptr)
        remembered_.erase(remembered_.iterator_to(gone));
}

bool cm_port::add_remote_id(connection& of) { return by_remote_id_.insert(of).second; }

bool cm_port::add_remote_qp(connection& of) { return by_remote_qp_.insert(of).second; }

void cm_port::remove_remote_qp(connection& of) {
    if (of.by_remote_qp.is_linked()) by_remote_qp_.erase(by_remote_qp_.iterator_to(of));
}

NTSTATUS cm_port::listen(listener& fresh) {
    const auto [first, last] = listeners_.equal_range(fresh.service_id);
    if (std::any_of(first, last, [&](const listener& each) { return each.collides_with(fresh); }))
        return STATUS_OBJECT_NAME_COLLISION;
    listeners_.insert(fresh);
    ++counters.listeners;
    return STATUS_SUCCESS;
}

void cm_port::remove(listener& gone) {
    listeners_.erase(listeners_.iterator_to(gone));
    --counters.listeners;
}

void cm_port::set_deadline(port_object& of, ticks after) {
    deadlines_.set(of, KeQueryInterruptTime() + after);
    set_timer();
}

// The timer expires no later than the first deadline; a timer that is too early finds nothing due.
void cm_port::set_timer() {
    if (deadlines_.empty() || closing_) return;
    if (timer_due_ != 0 && timer_due_ <= deadlines_.first()) return;
    timer_due_ = deadlines_.first();
    const ticks now = KeQueryInterruptTime();
    LARGE_INTEGER due;
    due.QuadPart = timer_due_ > now ? -static_cast<LONGLONG>(timer_due_ - now) : -1;
    KeSetTimer(&timer_, due, &timer_dpc_);
}

void cm_port::timer_expired(KDPC*, void* context, void*, void*) {
    cm_port& self = *static_cast<cm_port*>(context);
    {
        const guard locked(self);
        self.timer_due_ = 0;
    }
    while (self.expire_one()) {
    }
    const guard locked(self);
    self.set_timer();
}

bool cm_port::expire_one() {
    guard locked(*this);
    port_object* const due = deadlines_.remove_due(KeQueryInterruptTime());
    if (due == nullptr) return false;
    due->on_time(locked.fx);
    return true;
}

} // namespace irpverbs::cm::engine
