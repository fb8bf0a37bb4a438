// What libibverbs tells of a channel adapter and its ports.
#pragma once

#include "attributes.hpp"
#include "verbs_library.hpp"

namespace irpverbs::hca_rdma {

/// What the verbs of attributes ask. All give back an errno; 0: what they fill in is there.
class verbs_query {
public:
    verbs_query(const verbs_library& verbs, ibv_context* context)
        : verbs_(verbs), context_(context) {}

    int device(IB_CA_ATTR& made) const;
    /// The fixed part, and tables that are as long as it says, and 0.
    int port(UCHAR number, port_attributes& made) const;
    /// The contents of these tables.
    int tables(UCHAR port_count, port_attributes& made) const;

private:
    int gids(UCHAR port_count, port_attributes& made) const;
    int pkeys(port_attributes& made) const;

    const verbs_library& verbs_;
    ibv_context* context_;
};

} // namespace irpverbs::hca_rdma
