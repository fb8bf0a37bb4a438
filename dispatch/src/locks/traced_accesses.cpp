// Loads and stores of code that clang compiled with
// -fsanitize-coverage=func,trace-loads,trace-stores: a simulated run may switch before each, as
// before an interlocked operation, and the verifier looks whether the memory was freed. The
// compiler calls these functions.
#include <dispatch/support/machine_hooks.hpp>
#include <dispatch/support/processor.hpp>
#include <dispatch/support/verify.hpp>

#include <cstdint>

using namespace irpverbs::dispatch::detail;

namespace {

constexpr std::uintptr_t own_stack = 256 * 1024; // of an actor

// Other actors seldom use what lies on the caller's own stack.
void trace(const void* address, const void* frame) {
    const auto distance =
        reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(frame);
    if (distance <= own_stack) return;
    sched_point(point::interlocked, address);
    if (verifying()) notify_access(address);
}

} // namespace

#define TRACED(access)                                                                             \
    NT_API void __sanitizer_cov_##access(const void* address) {                                    \
        trace(address, __builtin_frame_address(0));                                                \
    }

extern "C" {
TRACED(load1)
TRACED(load2)
TRACED(load4)
TRACED(load8)
TRACED(load16)
TRACED(store1)
TRACED(store2)
TRACED(store4)
TRACED(store8)
TRACED(store16)
}
