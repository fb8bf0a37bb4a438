// The queue pairs of an HCA by their numbers.
#pragma once

#include "number_table.hpp"

namespace irpverbs::hca_software {

struct queue_pair;

inline constexpr ULONG max_qps = most_numbers;

/// The numbers of MAD agents' queue pairs are below these.
inline constexpr ib_qpn_t first_qp_number = first_number;

using qp_table = number_table<queue_pair>;

} // namespace irpverbs::hca_software
