// Retries and times of a query before the SA's response times are known.
#pragma once

#include <ibmf/ibmf.h>

namespace irpverbs::saa {

inline constexpr ibmf_retrans_t first_times{
    .retrans_retries = 3, .retrans_rtv = 0, .retrans_rttv = 0, .retrans_trans_to = 0};

} // namespace irpverbs::saa
