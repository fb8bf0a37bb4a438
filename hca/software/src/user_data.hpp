// What verbs tell the part of this driver that a user has.
#pragma once

#include <ci/ci.h>

#include <algorithm>
#include <cstring>

namespace irpverbs::hca_software {

inline void tell_nothing(CI_UDATA* user) {
    if (user != nullptr) user->OutputSize = 0;
}

/// As much of it as there is room for.
template <class Reply>
void tell(CI_UDATA* user, const Reply& reply) {
    if (user == nullptr) return;
    user->OutputSize = std::min(user->OutputSize, SIZE_T{sizeof(reply)});
    if (user->OutputSize != 0) std::memcpy(user->pOutputBuffer, &reply, user->OutputSize);
}

} // namespace irpverbs::hca_software
