// What a port looks at before it takes a datagram, or lets it pass: keys, GIDs; and the counters of
// what went by.
#pragma once

#include "fabric.hpp"

#include <optional>

namespace irpverbs::hca_software {

/// Where in a port's table a P_Key stands that shares a partition with this one: equal but for the
/// highest bit, which one of the two has. Source: IBA 10.9.3.
std::optional<std::size_t> find_pkey(const port& at, ib_pkey_t pkey);

/// The port's own entry of a P_Key, with whichever membership it has there.
std::optional<std::size_t> find_membership(const port& at, ib_pkey_t pkey);

/// A datagram has come to a queue pair of an end port that takes these keys; to QP1, without. True:
/// partition, Q_Key and GID are right. When not, the violation is counted, and told by a trap.
bool admits(fabric& where, port& at, const datagram& what, const IB_MAD_KEYS* keys = nullptr);

/// A switch's port that enforces partitions lets it out, or in.
bool may_leave(fabric& where, const datagram& what, port& out);
bool may_enter(fabric& where, const datagram& what, port& in);

void count_sent(port& out, const datagram& what);
void count_received(port& in, const datagram& what);

} // namespace irpverbs::hca_software
