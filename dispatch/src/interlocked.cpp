#include <dispatch/detail/processor.hpp>
#include <dispatch/interlocked.h>

using namespace irpverbs::dispatch::detail;

extern "C" void InterlockedSchedulingPoint(const volatile VOID* Target) noexcept {
    sched_point(point::interlocked, const_cast<const VOID*>(Target));
}
