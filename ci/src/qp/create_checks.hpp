// Checks of memory regions and queue pairs that are to be created.
#pragma once

#include <ci/driver.h>

namespace irpverbs::ci {

NTSTATUS check_region(const ib_mr_create_t& create);
NTSTATUS check_queue_pair(HCA_PD& pd, const ib_qp_create_t& create);

} // namespace irpverbs::ci
