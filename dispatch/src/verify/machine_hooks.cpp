#include "hooks.hpp"

#include <dispatch/machine.hpp>
#include <dispatch/support/machine_hooks.hpp>

#include <atomic>

namespace irpverbs::dispatch::detail {
namespace {

constinit machine_hooks* registered = nullptr; // changes before main only
constinit std::atomic<bool> announced{false};

} // namespace

void add_machine_hooks(machine_hooks& hooks) noexcept {
    hooks.next = registered;
    registered = &hooks;
}

void notify_first_machine() {
    if (announced.load(std::memory_order_relaxed) || announced.exchange(true)) return;
    for (const machine_hooks* each = registered; each != nullptr; each = each->next)
        if (each->on_first_machine != nullptr) each->on_first_machine();
}

void notify_quiesced(machine& ending) {
    for (const machine_hooks* each = registered; each != nullptr; each = each->next) {
        if (each->on_quiesced == nullptr) continue;
        try {
            each->on_quiesced(ending);
        } catch (...) {
            continue; // a bug-check handler that throws has received its report; the caller is a
                      // destructor
        }
    }
}

void notify_wait(const void* object) {
    for (const machine_hooks* each = registered; each != nullptr; each = each->next)
        if (each->on_wait != nullptr) each->on_wait(object);
}

void notify_event_set(const void* event) {
    check_freed_use(event, "an event is set");
    for (const machine_hooks* each = registered; each != nullptr; each = each->next)
        if (each->on_event_set != nullptr) each->on_event_set(event);
}

void notify_access(const void* address) {
    check_freed_use(address, "memory is read or written");
    for (const machine_hooks* each = registered; each != nullptr; each = each->next)
        if (each->on_access != nullptr) each->on_access(address);
}

bool notify_pool_free(const void* memory) {
    for (const machine_hooks* each = registered; each != nullptr; each = each->next)
        if (each->on_pool_free != nullptr && each->on_pool_free(memory)) return true;
    return false;
}

} // namespace irpverbs::dispatch::detail
