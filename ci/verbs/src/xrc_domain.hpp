// XRC domains.
#pragma once

#include <verbs/library.h>

#include <ci/ci.h>

namespace irpverbs::verbs {

/// The domain of ci, of all that a context has opened with one file.
struct own_xrc_domain;

struct xrc_domain : ibv_xrcd {
    own_xrc_domain* opened = nullptr;

    static xrc_domain& of(ibv_xrcd* shown) { return *static_cast<xrc_domain*>(shown); }
    IB_XRCD* own() const;
    /// The protection domain of its targets, for which libibverbs' programs name none. Work
    /// requests of peers use that of the shared receive queue.
    IB_PD* protection() const;
};

ibv_xrcd* open_xrc_domain(ibv_context* of, ibv_xrcd_init_attr* attr);
int close_xrc_domain(ibv_xrcd* xrcd);

} // namespace irpverbs::verbs
