// The cost of the verifier: the same work with different checks enabled.
#include "measurements.hpp"
#include "ours_pend.hpp"

#include <dispatch/ke.h>
#include <dispatch/pool.h>
#include <dispatch/support/verify.hpp>
#include <irp/verifier.hpp>

namespace irpverbs::bench {
namespace {

namespace detail = dispatch::detail;

constexpr auto irql = static_cast<std::uint32_t>(detail::check::irql);
constexpr auto locks = static_cast<std::uint32_t>(detail::check::locks);
constexpr auto deadlocks = static_cast<std::uint32_t>(detail::check::deadlocks);
constexpr auto pool = static_cast<std::uint32_t>(detail::check::pool);

template <std::uint32_t Watched>
void one_lock(run& sample) {
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    detail::set_enabled_checks(Watched);
    const std::uint64_t operations = sample.operations();
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i)
        KeReleaseSpinLock(&lock, KeAcquireSpinLockRaiseToDpc(&lock));
    sample.stop();
    detail::set_enabled_checks(0);
}

template <std::uint32_t Watched>
void one_block(run& sample) {
    detail::set_enabled_checks(Watched);
    const std::uint64_t operations = sample.operations();
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i)
        ExFreePoolWithTag(ExAllocatePool2(POOL_FLAG_NON_PAGED, 64, 1), 1);
    sample.stop();
    detail::set_enabled_checks(0);
}

void pend_verified(run& sample) {
    const irp::verifier_scope watched("default");
    pend<1>(sample);
}

} // namespace

void add_ours_verifier(catalog& all) {
    all.add("ours/spin_lock", "spin lock acquired and released", one_lock<0>);
    all.add("ours/spin_lock_irql", "the same, IRQL checks enabled", one_lock<irql>);
    all.add("ours/spin_lock_verified", "the same, checks of IRQLs, locks and lock orders",
            one_lock<irql | locks | deadlocks>);
    all.add("ours/pool", "pool block of 64 bytes allocated and freed", one_block<0>);
    all.add("ours/pool_verified", "the same, checks of pool and IRQLs", one_block<pool | irql>);
    all.add("ours/pend_verified", "as ours/pend, the default checks enabled", pend_verified);
}

} // namespace irpverbs::bench
