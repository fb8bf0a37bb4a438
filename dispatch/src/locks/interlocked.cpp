#include <dispatch/interlocked.h>
#include <dispatch/support/processor.hpp>

using namespace irpverbs::dispatch::detail;

extern "C" void InterlockedSchedulingPoint(const volatile VOID* Target) noexcept {
    sched_point(point::interlocked, const_cast<const VOID*>(Target));
}
