#include <dispatch/detail/processor.hpp>
#include <dispatch/machine.hpp>

namespace irpverbs::dispatch::detail {

void introduce_slow(const void* object, const char* kind) {
    if (current != nullptr) current->owner->introduce(object, kind);
}

} // namespace irpverbs::dispatch::detail
