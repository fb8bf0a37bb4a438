#include "socket_wire.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace irpverbs::hca_software::roce {

namespace {

NTSTATUS explain(std::string& problem, const ib_gid_t& gid, int error) {
    problem = text_of(gid) + ", UDP port 4791: ";
    if (error == EADDRINUSE)
        problem += "in use, by another program or by the kernel's soft-RoCE (module rdma_rxe); "
                   "?raw behind the name shares it";
    else if (error == EPERM)
        problem += "?raw needs root, or CAP_NET_RAW";
    else
        problem += std::strerror(error);
    if (error == EADDRINUSE) return STATUS_SHARING_VIOLATION;
    if (error == EACCES || error == EPERM) return STATUS_ACCESS_DENIED;
    return error == EADDRNOTAVAIL ? STATUS_NO_SUCH_DEVICE : STATUS_INSUFFICIENT_RESOURCES;
}

} // namespace

NTSTATUS socket_wire::open(const interface& on, std::string& problem) {
    interface_ = on.index;
    for (const ib_gid_t& each : on.gids)
        if (const int error = endpoints_.emplace_back(owner_, how_).socket.open(each, interface_);
            error != 0)
            return explain(problem, each, error);
    return STATUS_SUCCESS;
}

bool socket_wire::start() { return std::ranges::all_of(endpoints_, &endpoint::start); }

void socket_wire::close() {
    for (endpoint& each : endpoints_)
        each.watch.reset();
}

const udp_socket* socket_wire::find(const ib_gid_t& local) const {
    const auto found = std::ranges::find_if(
        endpoints_, [&](const endpoint& each) { return each.socket.local() == local; });
    return found != endpoints_.end() ? &found->socket : nullptr;
}

USHORT socket_wire::source_port(const ib_gid_t& from) const {
    const udp_socket* const by = find(from);
    return by != nullptr ? by->port() : udp_port;
}

int socket_wire::send(const global_route& way, const_bytes payload) {
    const udp_socket* const by = find(way.from);
    return by != nullptr ? by->send(way, payload) : EADDRNOTAVAIL;
}

} // namespace irpverbs::hca_software::roce
