// The components of an MCMemberRecord by which a client joins a group or creates one.
#pragma once

#include <saa/sa_compmask.h>

#include <cstdint>

namespace irpverbs::testing {

inline constexpr std::uint64_t to_join =
    SA_MC_COMPMASK_MGID | SA_MC_COMPMASK_PORTGID | SA_MC_COMPMASK_JOINSTATE;
inline constexpr std::uint64_t to_create = to_join | SA_MC_COMPMASK_QKEY | SA_MC_COMPMASK_TCLASS |
                                           SA_MC_COMPMASK_PKEY | SA_MC_COMPMASK_FLOWLABEL |
                                           SA_MC_COMPMASK_SL;

} // namespace irpverbs::testing
