// The values that calls and messages may have.
#pragma once

#include <ci/ci.h>

namespace irpverbs::cm::engine {

inline constexpr unsigned max_time_code = 31; // 5 bits
inline constexpr unsigned max_3_bits = 7;

/// Whether a queue pair of a client can have the number: QP0 and QP1 are the manager's, and the
/// last one is that of multicast.
constexpr bool is_client_qp(ib_qpn_t number) { return number >= 2 && number < 0xFF'FFFF; }

/// The time that a queue pair requests of a peer for which it has no receive: 0.64 ms.
inline constexpr unsigned initial_rnr_nak_timeout = 12;

/// Whether ib_cm_connect_t or ib_cm_accept_t names a queue pair.
template <class Wanted>
bool names_qp(const Wanted& wanted) {
    return wanted.h_qp != nullptr || is_client_qp(wanted.qpn);
}

constexpr bool is_unicast(ib_lid_t lid) { return lid != 0 && lid <= IB_LID_UNICAST_LAST; }

/// Whether a path has such a rate; 0: the port's own.
constexpr bool is_rate(unsigned code) { return code == 0 || (code >= 2 && code <= 22); }

} // namespace irpverbs::cm::engine
