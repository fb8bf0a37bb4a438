#include "../machine_state.hpp"

#include <dispatch/detail/faults.hpp>
#include <dispatch/fault_sweep.hpp>

#include <link.h>
#include <mutex>
#include <optional>
#include <unordered_set>

namespace irpverbs::dispatch {
namespace detail {
namespace {

constinit std::atomic<fault_order> order_in_force{fault_order::chance};
constinit std::atomic<std::uint32_t> orders_given{0};

struct fault_ledger {
    raw_spin lock;
    sweep* plan = nullptr;                    // guarded by lock, as all below
    std::unordered_set<std::uint64_t> failed; // call stacks that failed under that order:
    std::uint32_t order = 0;
    std::uint64_t injected = 0;
    std::optional<injected_fault> last;
};

fault_ledger& faults_of(machine& where) {
    return ledger_of<fault_ledger>(where, ledger_slot::faults);
}

struct placed_stack {
    const call_stack& stack;
    std::uint64_t places[call_stack::most] = {};
};

// Stores frames as offsets from their module's load address. The offsets are the same in every run.
int place_frames(dl_phdr_info* module, std::size_t, void* context) {
    auto& out = *static_cast<placed_stack*>(context);
    for (ElfW(Half) i = 0; i < module->dlpi_phnum; ++i) {
        if (module->dlpi_phdr[i].p_type != PT_LOAD) continue;
        const std::uintptr_t low = module->dlpi_addr + module->dlpi_phdr[i].p_vaddr;
        for (std::uint32_t frame = 0; frame < out.stack.count; ++frame) {
            const auto at = reinterpret_cast<std::uintptr_t>(out.stack.frames[frame]);
            if (at - low < module->dlpi_phdr[i].p_memsz) out.places[frame] = at - module->dlpi_addr;
        }
    }
    return 0;
}

std::uint64_t key_of(const char* site, const call_stack& stack) {
    placed_stack placed{stack};
    dl_iterate_phdr(place_frames, &placed);
    std::uint64_t key = generator::mixed(stack.count);
    for (const char* c = site; *c != 0; ++c)
        key = generator::mixed(key ^ static_cast<unsigned char>(*c));
    for (std::uint32_t frame = 0; frame < stack.count; ++frame)
        key = generator::mixed(key ^ placed.places[frame]);
    return key;
}

bool is_planned(fault_ledger& ledger) {
    const std::lock_guard guard(ledger.lock);
    return ledger.plan != nullptr;
}

bool planned(fault_ledger& ledger, const char* site, const call_stack& stack) {
    const std::uint64_t key = key_of(site, stack);
    const std::lock_guard guard(ledger.lock);
    return ledger.plan != nullptr && ledger.plan->due(key);
}

bool seen_first(fault_ledger& ledger, const char* site, const call_stack& stack) {
    const std::uint64_t key = key_of(site, stack);
    const std::lock_guard guard(ledger.lock);
    const std::uint32_t order = orders_given.load(std::memory_order_relaxed);
    if (ledger.order != order) ledger.failed.clear();
    ledger.order = order;
    return ledger.failed.insert(key).second;
}

bool by_chance(machine& where, const char* site) {
    return where.fires(site, settings.fault_one_in.load(std::memory_order_relaxed));
}

// Returns the call stack when this call is to fail. The stack is captured only when it is needed,
// since that costs microseconds. It begins behind this function, which must have a frame of its own
// and therefore is not inlined.
[[gnu::noinline]] std::optional<call_stack> fault_due(machine& where, fault_ledger& ledger,
                                                      const char* site) {
    const bool in_sweep = is_planned(ledger);
    if (!in_sweep && !watching(watch::low_resources)) return std::nullopt;
    const bool by_stack =
        in_sweep || order_in_force.load(std::memory_order_relaxed) == fault_order::each_stack;
    if (!by_stack && !by_chance(where, site)) return std::nullopt;
    const call_stack stack = capture_stack(3);
    if (!by_stack) return stack;
    const bool due = in_sweep ? planned(ledger, site, stack) : seen_first(ledger, site, stack);
    return where.suggest(site, due) ? std::optional(stack) : std::nullopt;
}

} // namespace

bool fault_point_slow(const char* site) {
    machine& where = *this_processor().owner;
    fault_ledger& ledger = faults_of(where);
    const std::optional<call_stack> stack = fault_due(where, ledger, site);
    if (!stack) return false;
    const std::lock_guard guard(ledger.lock);
    ++ledger.injected;
    ledger.last = injected_fault{site, *stack};
    return true;
}

void set_fault_order(fault_order order) {
    order_in_force.store(order, std::memory_order_relaxed);
    orders_given.fetch_add(1, std::memory_order_relaxed);
}

std::optional<injected_fault> last_fault(machine& where) {
    fault_ledger& ledger = faults_of(where);
    const std::lock_guard guard(ledger.lock);
    return ledger.last;
}

std::uint64_t faults_injected(machine& where) {
    fault_ledger& ledger = faults_of(where);
    const std::lock_guard guard(ledger.lock);
    return ledger.injected;
}

} // namespace detail

fault_plan::fault_plan(machine& where, sweep& which) : where_(where) {
    detail::fault_ledger& ledger = detail::faults_of(where);
    {
        const std::lock_guard guard(ledger.lock);
        ledger.plan = &which;
    }
    detail::instrumentation.fetch_add(detail::fault_plan_unit, std::memory_order_relaxed);
}

fault_plan::~fault_plan() {
    detail::instrumentation.fetch_sub(detail::fault_plan_unit, std::memory_order_relaxed);
    detail::fault_ledger& ledger = detail::faults_of(where_);
    const std::lock_guard guard(ledger.lock);
    ledger.plan = nullptr;
}

} // namespace irpverbs::dispatch
