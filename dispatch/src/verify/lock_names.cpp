#include "lock_names.hpp"

#include <dispatch/support/held_locks.hpp>

#include <map>
#include <mutex>

namespace irpverbs::dispatch::detail {
namespace {

struct name_table {
    raw_spin_lock lock;
    std::map<const void*, const char*> names; // guarded by lock
};

name_table& names() {
    static auto* only = new name_table; // outlives every machine
    return *only;
}

} // namespace

void name_lock(const void* lock, const char* name) {
    name_table& all = names();
    const std::lock_guard guard(all.lock);
    if (name != nullptr)
        all.names[lock] = name;
    else
        all.names.erase(lock);
}

const char* name_of_lock(const void* lock) {
    name_table& all = names();
    const std::lock_guard guard(all.lock);
    const auto found = all.names.find(lock);
    return found != all.names.end() ? found->second : nullptr;
}

} // namespace irpverbs::dispatch::detail
