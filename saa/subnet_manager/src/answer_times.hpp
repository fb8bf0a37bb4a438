// Retries and times of the messages that a subnet administration sends.
#pragma once

#include <ibmf/ibmf.h>

namespace irpverbs::subnet_manager {

/// Each window of a table is sent again so often before the table is given up; a peer that
/// acknowledges one starts the count anew. Once in 10^8 a window does not pass a link that loses
/// one datagram in twenty.
inline constexpr ibmf_retrans_t answer_times{
    .retrans_retries = 7, .retrans_rtv = 200'000, .retrans_rttv = 100'000, .retrans_trans_to = 0};

} // namespace irpverbs::subnet_manager
