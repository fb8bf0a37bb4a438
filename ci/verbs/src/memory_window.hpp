// Memory windows.
#pragma once

#include "memory.hpp"

#include <ci/data_path.h>

namespace irpverbs::verbs {

struct memory_window : ibv_mw {
    IB_MW* mw = nullptr;

    static memory_window& of(ibv_mw* shown) { return *static_cast<memory_window*>(shown); }
};

ibv_mw* allocate_window(ibv_pd* pd, ibv_mw_type type);
int deallocate_window(ibv_mw* shown);
int bind_window(ibv_qp* qp, ibv_mw* shown, ibv_mw_bind* bind);

/// The binding of a work request. The window has the key from the post on.
ib_send_bind_mw_t binding_of(ibv_mw* shown, std::uint32_t rkey, const ibv_mw_bind_info& bind);

} // namespace irpverbs::verbs
