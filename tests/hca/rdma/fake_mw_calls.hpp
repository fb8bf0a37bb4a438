// The fake kernel's functions for memory windows. Nothing is bound.
#pragma once

#include "fake_verbs_run.hpp"

namespace irpverbs::testing {

struct mw_calls : verbs_calls {
    static ibv_mw* alloc_mw(ibv_pd* with, ibv_mw_type type);
    static int dealloc_mw(ibv_mw* which);
    static int bind_mw(ibv_qp* by, ibv_mw* which, ibv_mw_bind* how);
};

} // namespace irpverbs::testing
