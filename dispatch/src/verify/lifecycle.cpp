#include <dispatch/detail/lifecycle.hpp>
#include <dispatch/machine.hpp>

#include <atomic>

namespace irpverbs::dispatch::detail {
namespace {

constinit lifecycle* registered = nullptr; // changes before main only
constinit std::atomic<bool> announced{false};

} // namespace

void add_lifecycle(lifecycle& wishes) noexcept {
    wishes.next = registered;
    registered = &wishes;
}

void announce_first_machine() {
    if (announced.load(std::memory_order_relaxed) || announced.exchange(true)) return;
    for (const lifecycle* each = registered; each != nullptr; each = each->next)
        if (each->first_machine != nullptr) each->first_machine();
}

void announce_rest(machine& ending) {
    for (const lifecycle* each = registered; each != nullptr; each = each->next) {
        if (each->at_rest == nullptr) continue;
        try {
            each->at_rest(ending);
        } catch (...) {
            continue; // a bug-check handler that throws has received its report; the caller is a
                      // destructor
        }
    }
}

void announce_wait(const void* object) {
    for (const lifecycle* each = registered; each != nullptr; each = each->next)
        if (each->waits_for != nullptr) each->waits_for(object);
}

void announce_set(const void* event) {
    for (const lifecycle* each = registered; each != nullptr; each = each->next)
        if (each->sets_event != nullptr) each->sets_event(event);
}

bool announce_pool_free(const void* memory) {
    for (const lifecycle* each = registered; each != nullptr; each = each->next)
        if (each->freed_as_pool != nullptr && each->freed_as_pool(memory)) return true;
    return false;
}

} // namespace irpverbs::dispatch::detail
