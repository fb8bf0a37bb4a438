// Attributes of a channel adapter and its ports from libibverbs.
#pragma once

#include "attributes.hpp"
#include "verbs_library.hpp"

namespace irpverbs::hca_rdma {

/// The queries behind the verbs of attributes. All return an errno; 0: the results are valid.
class verbs_query {
public:
    verbs_query(const verbs_library& verbs, ibv_context* context)
        : verbs_(verbs), context_(context) {}

    int device(IB_CA_ATTR& made) const;
    /// Reads the fixed part, and sizes the tables, filled with 0.
    int port(UCHAR number, port_attributes& made) const;
    /// Reads the contents of the tables.
    int tables(UCHAR port_count, port_attributes& made) const;

private:
    int remove_missing_capabilities(IB_CA_ATTR& from) const;
    int gids(UCHAR port_count, port_attributes& made) const;
    int pkeys(port_attributes& made) const;

    const verbs_library& verbs_;
    ibv_context* context_;
};

} // namespace irpverbs::hca_rdma
