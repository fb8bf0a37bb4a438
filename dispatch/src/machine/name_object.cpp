#include <dispatch/machine.hpp>
#include <dispatch/support/processor.hpp>

namespace irpverbs::dispatch::detail {

void name_object_slow(const void* object, const char* kind) {
    if (current != nullptr) current->owner->name_object(object, kind);
}

} // namespace irpverbs::dispatch::detail
