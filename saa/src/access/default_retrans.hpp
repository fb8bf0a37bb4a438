// Retries and times of a query before the SA's response times are known. An SM that takes over
// needs seconds, and OpenSM announces 0.27 s: fewer tries would end before it responds.
#pragma once

#include <ibmf/ibmf.h>

namespace irpverbs::saa {

inline constexpr ibmf_retrans_t default_retrans{
    .retrans_retries = 19, .retrans_rtv = 0, .retrans_rttv = 0, .retrans_trans_to = 0};

} // namespace irpverbs::saa
