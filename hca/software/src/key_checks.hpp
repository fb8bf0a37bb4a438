// The checks of a port before it receives or forwards a datagram: keys and GIDs; and the counters
// of its traffic.
#pragma once

#include "fabric.hpp"

#include <optional>

namespace irpverbs::hca_software {

/// Returns the index of an entry of the port's table that shares a partition with this P_Key: the
/// low 15 bits are equal, and at least one of the two is a full member. Source: IBA 10.9.3.
std::optional<std::size_t> find_pkey(const port& at, ib_pkey_t pkey);

/// True if the P_Keys have the low 15 bits in common, and one of them is a full member's.
bool share_partition(ib_pkey_t one, ib_pkey_t other);

/// Returns the index of the port's entry for the partition of this P_Key, with either membership.
std::optional<std::size_t> find_membership(const port& at, ib_pkey_t pkey);

/// Checks a datagram that has arrived at a queue pair of an end port with these keys; null: at QP1.
/// Returns true if partition, Q_Key and GID are valid. Otherwise counts the violation and raises a
/// trap.
bool accepts(fabric& where, port& at, const datagram& what, const IB_MAD_KEYS* keys = nullptr);

/// Checks the partition of a packet that has arrived at a queue pair of the port with this P_Key,
/// as `accepts` does.
bool accepts_partition(fabric& where, port& at, const datagram& what, ib_pkey_t own);

/// Checks the partition of a datagram at a port of a switch that enforces partitions, outbound or
/// inbound.
bool passes_outbound(fabric& where, const datagram& what, port& out);
bool passes_inbound(fabric& where, const datagram& what, port& in);

/// True if the port of a switch enforces no partitions, or the datagram's is one of its own.
bool may_leave(const port& out, const datagram& what);
bool may_enter(const port& in, const datagram& what);

void count_sent(port& out, const datagram& what);
void count_sent(port& out, bool is_multicast, ULONGLONG words);
void count_received(port& in, const datagram& what);
/// Counts unicast packets at both ends of a link.
void count_link(port& out, ULONGLONG packets, ULONGLONG words);
/// The words of the local and the global route header, and of the ICRC.
ULONGLONG route_words(const datagram& of);

} // namespace irpverbs::hca_software
