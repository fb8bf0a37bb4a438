// The attributes of a port, as CiQueryPort returns them.
#pragma once

#include "fabric.hpp"
#include "seqlock_buffer.hpp"

namespace irpverbs::hca_software {

IB_PORT_ATTR attributes_of(const port& from);
HCA_PORT_TABLES tables_of(const port& from);

/// A port's block of attributes. The first query after a change of the fabric makes it again.
class cached_attributes {
public:
    /// Completes CiQueryPort. IRQL: <= DISPATCH_LEVEL.
    NTSTATUS complete_query(fabric& where, const node& of, ULONG port, IB_PORT_ATTR* attr,
                            SIZE_T size, IRP* irp) {
        std::size_t needed = block_.read(where.changes(), attr, size);
        if (needed == 0) [[unlikely]]
            needed = refresh(where, of.ports[port], attr, size, irp);
        irp->IoStatus.Information = std::min(needed, size);
        return needed <= size ? STATUS_SUCCESS : STATUS_BUFFER_OVERFLOW;
    }

private:
    std::size_t refresh(fabric& where, const port& of, IB_PORT_ATTR* attr, SIZE_T size, IRP* irp);

    struct block {
        IB_PORT_ATTR attr;
        ib_gid_t gids[port::max_gids];
        ib_pkey_t pkeys[port::max_pkeys];
    };

    seqlock_buffer<sizeof(block)> block_; // written under the fabric's lock
};

} // namespace irpverbs::hca_software
