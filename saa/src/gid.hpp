// Helpers that the parts of this package share.
#pragma once

#include <saa/sa_recs.h>

namespace irpverbs::saa {

inline bool same_gid(const ib_gid_t& a, const ib_gid_t& b) {
    return a.gid_prefix == b.gid_prefix && a.gid_guid == b.gid_guid;
}

} // namespace irpverbs::saa
