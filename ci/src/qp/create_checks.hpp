// Checks of memory regions and windows, queue pairs, shared receive queues and addresses.
#pragma once

#include <ci/driver.h>

namespace irpverbs::ci {

NTSTATUS check_region(const ib_mr_create_t& create);
NTSTATUS check_physical_region(const ib_phys_create_t& create);
NTSTATUS check_shared_region(const HCA_PD& pd, const ib_smr_create_t& create);
/// The addresses in work requests, and the rights.
ib_mr_create_t virtual_part(const ib_phys_create_t& create);
ib_mr_create_t virtual_part(const ib_smr_create_t& create);
/// The binding of a window to a region: rights, and the range if it has a length.
NTSTATUS check_window(const ib_mr_create_t& region, const ib_bind_wr_t& bind);
/// `has_xrc`: the driver has XRC domains.
NTSTATUS check_queue_pair(const HCA_PD& pd, const ib_qp_create_t& create, bool has_xrc);
NTSTATUS check_shared_queue(const HCA_PD& pd, const ib_srq_create_t& create, bool has_xrc);
NTSTATUS check_shared_queue(const ib_srq_mod_t& modify);

/// True if the fields of an address of an HCA with so many ports are in their ranges.
bool is_way(const ib_av_attr_t& address, ULONG port_count);

} // namespace irpverbs::ci
