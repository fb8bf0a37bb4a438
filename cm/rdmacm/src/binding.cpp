// Ids and their addresses.
#include "guarded.hpp"
#include "lock.hpp"

#include <drop_in/devices.hpp>

#include <endian.h>
#include <map>
#include <mutex>
#include <utility>

namespace irpverbs::rdmacm {

namespace {

/// The port numbers of the process's ids, by port space. A number may have several ids with
/// different addresses, or with RDMA_OPTION_ID_REUSEADDR.
struct port_numbers {
    static constexpr std::uint16_t first_ephemeral = 49'152;

    std::mutex lock;
    std::uint16_t last_ephemeral = first_ephemeral;
    std::multimap<std::pair<int, std::uint16_t>, const cm_id*> used;
};

port_numbers& all_port_numbers() {
    static auto* const only = new port_numbers; // programs may use ids while they exit
    return *only;
}

// Whether one may have the number of the other. Returns an errno value; they are the kernel's.
int compare(const cm_id& one, const cm_id& other) {
    if (one.reuses_address && other.reuses_address) return 0;
    const ip_endpoint first = one.source();
    const ip_endpoint second = other.source();
    if (first.family != second.family && one.is_of_one_family() && other.is_of_one_family())
        return 0;
    if (first.is_any() || second.is_any()) return EADDRNOTAVAIL;
    return first.same_address(second) ? EADDRINUSE : 0;
}

// Returns an errno value.
int check_free(const port_numbers& all, const cm_id& id, std::uint16_t number) {
    const auto [begin, end] = all.used.equal_range({id.ps, number});
    for (auto each = begin; each != end; ++each)
        if (each->second != &id)
            if (const int error = compare(id, *each->second); error != 0) return error;
    return 0;
}

std::uint16_t next_ephemeral(port_numbers& all) {
    if (++all.last_ephemeral == 0) all.last_ephemeral = port_numbers::first_ephemeral;
    return all.last_ephemeral;
}

// Returns an errno value.
int claim(cm_id& id, const std::string& file, std::uint16_t number) {
    claimed_numbers wanted{
        id.ps, number, {}, std::nullopt, id.is_of_one_family(), id.source().family};
    const ip_endpoint own = id.source();
    if (!own.is_any()) wanted.address = own;
    for (local_device& device : local_devices())
        for (local_port& port : device.ports)
            if (const port_identity its = identity_of(port);
                !its.gids.empty() && (own.is_any() || &port == find_port(own)))
                wanted.ports.push_back(its.gids.front());
    return id.claim.begin(file, wanted, id.reuses_address);
}

// Returns an errno value.
int take(port_numbers& all, cm_id& id, std::uint16_t number, const std::string& file) {
    int error = check_free(all, id, number);
    if (error == 0 && !file.empty()) error = claim(id, file, number);
    if (error != 0) return error;
    all.used.emplace(std::pair(static_cast<int>(id.ps), number), &id);
    id.reserved_port = number;
    return 0;
}

// `file`: that of claims; empty: without one. Returns an errno value.
int reserve_port(cm_id& id, std::uint16_t wanted, const std::string& file) {
    port_numbers& all = all_port_numbers();
    const std::lock_guard guard(all.lock);
    if (wanted != 0) return take(all, id, wanted, file);
    for (unsigned tries = 0x10000 - port_numbers::first_ephemeral; tries != 0; --tries)
        if (take(all, id, next_ephemeral(all), file) == 0) return 0;
    return EADDRNOTAVAIL;
}

std::string file_of_claims() {
    const std::string socket = drop_in::daemon_socket();
    return socket.empty() ? socket : socket + ".ports";
}

} // namespace

// As in the kernel, where a listener's number is no longer shared.
int claim_alone(cm_id& id) {
    if (!id.reuses_address) return 0;
    port_numbers& all = all_port_numbers();
    const std::lock_guard guard(all.lock);
    id.reuses_address = false;
    int error = check_free(all, id, id.reserved_port);
    if (error == 0) error = id.claim.make_exclusive();
    id.reuses_address = error != 0;
    return error;
}

void release_port(cm_id& id) {
    port_numbers& all = all_port_numbers();
    const std::lock_guard guard(all.lock);
    const auto [begin, end] = all.used.equal_range({id.ps, id.reserved_port});
    for (auto each = begin; each != end; ++each)
        if (each->second == &id) {
            all.used.erase(each);
            break;
        }
    id.reserved_port = 0;
    id.claim.end();
}

void cm_id::bind_to(local_port& port) {
    at = &port;
    verbs = port.device->context;
    pd = port.device->pd;
    port_num = port.number;
    use.begin(*port.device);
}

void cm_id::set_source(const ip_endpoint& address) { store(address, route.addr.src_storage); }
void cm_id::set_destination(const ip_endpoint& address) { store(address, route.addr.dst_storage); }

// An address of loopback names the first port.
int bind(cm_id& id, const ip_endpoint& wanted, bool claims) {
    if (id.is_bound()) return EINVAL;
    local_port* const port = wanted.is_any() ? nullptr : find_port(wanted);
    if (port == nullptr && !wanted.is_any()) return EADDRNOTAVAIL;
    ip_endpoint address = wanted;
    id.set_source(address);
    const std::string file = claims ? file_of_claims() : std::string();
    if (const int error = reserve_port(id, wanted.port, file); error != 0) {
        id.route.addr.src_storage = {};
        return error;
    }
    address.port = id.reserved_port;
    id.set_source(address);
    if (port != nullptr) id.bind_to(*port);
    return 0;
}

} // namespace irpverbs::rdmacm

using namespace irpverbs::rdmacm;

namespace {

ibv_qp_type type_of(rdma_port_space ps) {
    return ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB ? IBV_QPT_UD : IBV_QPT_RC;
}

__be16 number_in(const sockaddr& address) {
    const auto parsed = parse(&address);
    return htobe16(parsed ? parsed->port : std::uint16_t{0});
}

// Without a channel the id has one of its own.
int choose_channel(cm_id& id, rdma_event_channel* wanted) {
    std::unique_ptr<event_channel> own;
    if (wanted == nullptr) {
        own = std::make_unique<event_channel>();
        if (!own->open()) return errno;
        wanted = own.get();
    }
    const state_lock guard;
    id.channel = wanted;
    id.own_channel = std::move(own);
    return 0;
}

// The events that wait go with the id; the program acknowledges the others before.
int migrate(cm_id& id, rdma_event_channel* wanted) {
    std::unique_ptr<event_channel> old = std::move(id.own_channel);
    rdma_event_channel* const from = id.channel;
    if (const int error = choose_channel(id, wanted); error != 0) {
        id.own_channel = std::move(old);
        return error;
    }
    const state_lock guard;
    for (event_ptr& each : event_channel::of(from).remove(id))
        event_channel::of(id.channel).add(std::move(each));
    return 0;
}

template <class Value>
int read_option(const void* value, std::size_t size, Value& into) {
    if (size != sizeof(into)) return EINVAL;
    std::memcpy(&into, value, sizeof(into));
    return 0;
}

int set_option(cm_id& id, int name, const void* value, std::size_t size) {
    std::uint8_t byte = 0;
    int number = 0;
    int error = 0;
    switch (name) {
    case RDMA_OPTION_ID_TOS:
        return read_option(value, size, id.type_of_service);
    case RDMA_OPTION_ID_REUSEADDR:
        error = read_option(value, size, number);
        id.reuses_address = number != 0;
        return error;
    case RDMA_OPTION_ID_AFONLY:
        error = read_option(value, size, number);
        if (error == 0) id.family_only = number != 0;
        return error;
    case RDMA_OPTION_ID_ACK_TIMEOUT:
        error = read_option(value, size, byte);
        if (error == 0 && byte > 31) error = EINVAL;
        if (error == 0) id.ack_timeout = byte;
        return error;
    default:
        return ENOSYS;
    }
}

} // namespace

extern "C" {

rdma_event_channel* irpverbs_rdma_create_event_channel() {
    event_channel* made = nullptr;
    guarded([&] {
        if (local_devices().empty()) return errno;
        auto fresh = std::make_unique<event_channel>();
        if (!fresh->open()) return errno;
        made = fresh.release();
        return 0;
    });
    return made;
}

void irpverbs_rdma_destroy_event_channel(rdma_event_channel* channel) {
    delete &event_channel::of(channel);
}

int irpverbs_rdma_create_typed_id(rdma_event_channel* channel, rdma_cm_id** id, void* context,
                                  rdma_port_space ps, ibv_qp_type type) {
    return guarded([&] {
        if (local_devices().empty()) return errno;
        auto made = cm_id::make(ps, type);
        if (made == nullptr) return ENOMEM;
        made->context = context;
        if (const int error = choose_channel(*made, channel); error != 0) return error;
        *id = made.release()->shown();
        return 0;
    });
}

int irpverbs_rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context,
                            rdma_port_space ps) {
    return irpverbs_rdma_create_typed_id(channel, id, context, ps, type_of(ps));
}

int irpverbs_rdma_destroy_id(rdma_cm_id* id) {
    return guarded([&] {
        if (id->event != nullptr) irpverbs_rdma_ack_cm_event(id->event);
        destroy(&cm_id::of(id));
        return 0;
    });
}

int irpverbs_rdma_migrate_id(rdma_cm_id* id, rdma_event_channel* channel) {
    return guarded([&] {
        if (id->event != nullptr) irpverbs_rdma_ack_cm_event(std::exchange(id->event, nullptr));
        return migrate(cm_id::of(id), channel);
    });
}

BOOLEAN irpverbs_rdma_is_synchronous(rdma_cm_id* id) {
    return cm_id::of(id).own_channel != nullptr;
}

int irpverbs_rdma_set_option(rdma_cm_id* id, int level, int name, void* value, std::size_t size) {
    return guarded([&] {
        return level == RDMA_OPTION_ID ? set_option(cm_id::of(id), name, value, size) : ENOSYS;
    });
}

int irpverbs_rdma_bind_addr(rdma_cm_id* id, sockaddr* address) {
    return guarded([&] {
        const auto wanted = parse(address);
        return wanted ? bind(cm_id::of(id), *wanted, true) : EAFNOSUPPORT;
    });
}

__be16 irpverbs_rdma_get_src_port(rdma_cm_id* id) { return number_in(id->route.addr.src_addr); }
__be16 irpverbs_rdma_get_dst_port(rdma_cm_id* id) { return number_in(id->route.addr.dst_addr); }

ibv_context** irpverbs_rdma_get_devices(int* count) {
    std::deque<local_device>& all = local_devices();
    auto* const list = static_cast<ibv_context**>(std::calloc(all.size() + 1, sizeof(void*)));
    if (count != nullptr) *count = list != nullptr ? static_cast<int>(all.size()) : 0;
    for (std::size_t i = 0; list != nullptr && i < all.size(); ++i)
        list[i] = all[i].context;
    return list;
}

} // extern "C"
