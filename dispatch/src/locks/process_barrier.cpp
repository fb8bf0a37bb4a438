#include <dispatch/support/process_barrier.hpp>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace irpverbs::dispatch::detail {

namespace {

bool membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0) == 0; }

} // namespace

bool prepare_process_barrier() {
    static const bool registered = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    return registered;
}

void process_barrier() noexcept { membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED); }

} // namespace irpverbs::dispatch::detail
