// Retries and times of the SA's messages.
#pragma once

#include <ibmf/ibmf.h>

namespace irpverbs::subnet_manager {

/// The sender repeats each window of a table up to this number of times before it ends the
/// transfer; an acknowledgement restarts the count. On a link that loses one datagram in twenty,
/// one window in 10^8 fails.
inline constexpr ibmf_retrans_t response_retrans{
    .retrans_retries = 7, .retrans_rtv = 200'000, .retrans_rttv = 100'000, .retrans_trans_to = 0};

} // namespace irpverbs::subnet_manager
