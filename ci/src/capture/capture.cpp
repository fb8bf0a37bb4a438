#include <ci/capture.hpp>

#include "objects/hca_device.hpp"
#include "objects/mad_agent.hpp"
#include "wire_packet.hpp"

#include <ci/attributes.hpp>
#include <dispatch/support/spin.hpp>

#include <algorithm>
#include <iterator>
#include <list>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace irpverbs::ci {

namespace {

using file_bytes = std::vector<std::byte>;

constexpr std::uint32_t nanoseconds_magic = 0xA1B23C4D;
constexpr std::uint32_t max_record_bytes = 65535;
constexpr std::uint32_t link_type_erf = 197;
constexpr std::uint8_t erf_ethernet = 2;
constexpr std::uint8_t erf_infiniband = 21;
constexpr std::uint8_t erf_length_varies = 4;
constexpr std::size_t pcap_record_size = 16;
constexpr std::size_t erf_header_size = 16;
constexpr std::size_t erf_ethernet_padding = 2; // in front of the frame
constexpr std::uint64_t ticks_a_second = 10'000'000;
constexpr std::uint64_t from_1601_to_1970 = 11'644'473'600; // seconds

void put_little(file_bytes& to, std::uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i)
        to.push_back(static_cast<std::byte>(value >> 8 * i));
}

void put_big(file_bytes& to, std::uint64_t value, unsigned bytes) {
    while (bytes-- != 0)
        to.push_back(static_cast<std::byte>(value >> 8 * bytes));
}

file_bytes file_header() {
    file_bytes header;
    put_little(header, nanoseconds_magic, 4);
    put_little(header, 2, 2); // version 2.4
    put_little(header, 4, 2);
    put_little(header, 0, 8); // universal time
    put_little(header, max_record_bytes, 4);
    put_little(header, link_type_erf, 4);
    return header;
}

using packet_bytes = std::span<const std::uint8_t>;

/// A port of which packets are recorded.
struct record_source {
    UCHAR port; // from 1; an ERF record can name four ports
    bool is_ethernet;
};

/// Appends the record of a packet.
void put_record(file_bytes& to, std::uint64_t time, record_source from, packet_bytes what) {
    const std::uint64_t seconds = time / ticks_a_second - from_1601_to_1970;
    const std::uint64_t ticks = time % ticks_a_second;
    const std::size_t padding = from.is_ethernet ? erf_ethernet_padding : 0;
    const std::size_t size = erf_header_size + padding + what.size();
    put_little(to, seconds, 4);
    put_little(to, ticks * 100, 4);
    put_little(to, size, 4);
    put_little(to, size, 4);
    put_little(to, seconds << 32 | (ticks << 32) / ticks_a_second, 8);
    put_big(to, from.is_ethernet ? erf_ethernet : erf_infiniband, 1);
    put_big(to, erf_length_varies | ((from.port - 1u) & 3), 1);
    put_big(to, size, 2);
    put_big(to, 0, 2); // none lost
    put_big(to, what.size(), 2);
    put_big(to, 0, static_cast<unsigned>(padding));
    std::ranges::transform(what, std::back_inserter(to),
                           [](std::uint8_t each) { return static_cast<std::byte>(each); });
}

/// Returns a list of that one record, or an empty list without memory.
std::list<file_bytes> record_of(std::uint64_t time, record_source from, packet_bytes what) try {
    std::list<file_bytes> made(1);
    made.front().reserve(pcap_record_size + erf_header_size + erf_ethernet_padding + what.size());
    put_record(made.front(), time, from, what);
    return made;
} catch (const std::bad_alloc&) {
    return {};
}

/// Attributes of an own port that a datagram's packet needs.
struct own_port {
    explicit own_port(const IB_PORT_ATTR& of)
        : lid(of.Lid), is_ethernet(of.LinkLayer == IB_LINK_LAYER_ETHERNET),
          keys(pkeys(of).begin(), pkeys(of).end()), addresses(gids(of).begin(), gids(of).end()) {}

    wire_end end(const IB_MAD_ADDRESS& other, ib_qpn_t qp) const {
        wire_end made;
        const bool directed = other.Lid == IB_LID_PERMISSIVE;
        made.lid = directed ? IB_LID_PERMISSIVE : static_cast<ib_lid_t>(lid + other.PathBits);
        made.qp = qp;
        if (other.GidIndex < addresses.size()) made.gid = addresses[other.GidIndex];
        return made;
    }

    ib_lid_t lid;
    bool is_ethernet;
    std::vector<ib_pkey_t> keys;
    std::vector<ib_gid_t> addresses;
};

// The route without its two ends.
wire_route route_of(const own_port& own, const IB_MAD_ADDRESS& other, ib_qpn_t qp) {
    wire_route made;
    made.managing = qp == 0;
    made.service_level = other.ServiceLevel;
    made.p_key = IB_PKEY_DEFAULT_FULL;
    if (made.managing) return made;
    if (other.PKeyIndex < own.keys.size()) made.p_key = own.keys[other.PKeyIndex];
    made.q_key = qp == 1 && other.Qp <= 1 ? IB_QP1_QKEY : other.QKey;
    made.global = (other.Flags & IB_MAD_GRH) != 0;
    made.traffic_class = other.TrafficClass;
    made.hop_limit = other.HopLimit;
    made.flow_label = other.FlowLabel;
    return made;
}

ib_qpn_t qp_of(const IB_MAD_AGENT& agent) {
    if (has_own_qp(agent.Attr)) return agent.Attr.Qp;
    return (agent.Attr.ManagementClass & 0x7F) == 1 ? 0 : 1; // QP0's classes
}

std::array<std::uint8_t, IB_MAD_SIZE> datagram_of(const VOID* data, ULONG length) {
    std::array<std::uint8_t, IB_MAD_SIZE> whole{};
    std::copy_n(static_cast<const std::uint8_t*>(data), std::min<ULONG>(length, IB_MAD_SIZE),
                whole.begin());
    return whole;
}

} // namespace

struct capture::state {
    explicit state(sink its_write) : write(std::move(its_write)) {
        ExInitializeRundownProtection(&writers);
        ExInitializeWorkItem(&item, write_waiting, this);
    }

    class hca_observer;

    void record(record_source from, packet_bytes what);
    static void write_waiting(void* self);

    const sink write;
    std::list<hca_observer> observers;
    dispatch::detail::raw_spin_lock
        lock;                      // guards the members below; no allocation or copy under it
    std::list<file_bytes> waiting; // one record per element
    std::size_t lost = 0;
    bool writing = false;
    EX_RUNDOWN_REF writers; // not guarded, as are those below
    WORK_QUEUE_ITEM item;
};

class capture::state::hca_observer final : public traffic_observer {
public:
    hca_observer(state& to, DEVICE_OBJECT* hca, const IB_CA_ATTR& attributes) : to_(to), hca_(hca) {
        for (const IB_PORT_ATTR& each : ci::ports(attributes))
            ports_.emplace_back(each);
    }
    hca_observer(const hca_observer&) = delete;
    hca_observer& operator=(const hca_observer&) = delete;

    bool attach() { return device_of(hca_).observer.attach(*this); }
    void detach() { device_of(hca_).observer.detach(); }

    void sent(const IB_MAD_AGENT& by, const IB_MAD_SEND& what) override {
        record(by, what.To, datagram_of(what.Data, what.Length), &wire_route::from,
               &wire_route::to);
    }
    void received(const IB_MAD_AGENT& by, const IB_MAD_RECEIVED& what) override {
        record(by, what.From, datagram_of(what.Data, what.Length), &wire_route::to,
               &wire_route::from);
    }
    void passed(UCHAR port, packet_bytes packet) override {
        const bool is_known = port != 0 && port <= ports_.size();
        to_.record({port, is_known && ports_[port - 1u].is_ethernet}, packet);
    }

private:
    void record(const IB_MAD_AGENT& by, const IB_MAD_ADDRESS& other, wire_mad mad,
                wire_end wire_route::*here, wire_end wire_route::*there) {
        const UCHAR number = by.Attr.PortNumber;
        if (number == 0 || number > ports_.size() || by.Attr.QpKind == IB_MAD_QP_OWN_RAW) return;
        const own_port& own = ports_[number - 1u];
        const ib_qpn_t qp = qp_of(by);
        wire_route route = route_of(own, other, qp);
        route.*here = own.end(other, qp);
        route.*there = {other.Lid, qp == 0 ? 0 : other.Qp, other.Gid};
        to_.record({number, false}, wire_packet(route, mad).bytes());
    }

    state& to_;
    DEVICE_OBJECT* const hca_;
    std::vector<own_port> ports_;
};

void capture::state::record(record_source from, packet_bytes what) {
    LARGE_INTEGER now;
    KeQuerySystemTime(&now);
    std::list<file_bytes> fresh = record_of(static_cast<std::uint64_t>(now.QuadPart), from, what);
    {
        const std::lock_guard guard(lock);
        if (fresh.empty()) {
            ++lost;
            return;
        }
        waiting.splice(waiting.end(), fresh);
        if (std::exchange(writing, true)) return;
    }
    ExAcquireRundownProtection(&writers);
    ExQueueWorkItem(&item, DelayedWorkQueue);
}

void capture::state::write_waiting(void* self) {
    state& here = *static_cast<state*>(self);
    for (;;) {
        std::list<file_bytes> now;
        {
            const std::lock_guard guard(here.lock);
            now.swap(here.waiting);
            here.writing = !now.empty();
        }
        if (now.empty()) break;
        for (const file_bytes& each : now)
            here.write(each);
    }
    ExReleaseRundownProtection(&here.writers);
}

capture::capture(sink write) : state_(std::make_unique<state>(std::move(write))) {
    state_->write(file_header());
}

capture::~capture() { end(); }

void capture::end() noexcept {
    for (state::hca_observer& each : state_->observers)
        each.detach();
    state_->observers.clear();
    ExWaitForRundownProtectionRelease(&state_->writers);
}

NTSTATUS capture::add(DEVICE_OBJECT* hca, const IB_CA_ATTR& attributes) {
    state::hca_observer& fresh = state_->observers.emplace_back(*state_, hca, attributes);
    if (fresh.attach()) return STATUS_SUCCESS;
    state_->observers.pop_back();
    return STATUS_DEVICE_BUSY;
}

std::size_t capture::lost() const noexcept {
    const std::lock_guard guard(state_->lock);
    return state_->lost;
}

} // namespace irpverbs::ci
