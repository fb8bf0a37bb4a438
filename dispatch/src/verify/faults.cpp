#include "machine/machine_state.hpp"

#include <dispatch/support/faults.hpp>
#include <dispatch/support/locals.hpp>
#include <dispatch/testing/fault_sweep.hpp>

#include <link.h>
#include <mutex>
#include <optional>
#include <unordered_set>

namespace irpverbs::dispatch {
namespace detail {
namespace {

constinit std::atomic<fault_mode> current_mode{fault_mode::random};
constinit std::atomic<std::uint32_t> mode_changes{0};

struct fault_records {
    raw_spin_lock lock;
    sweep* plan = nullptr; // guarded by lock, as all below
    std::unordered_set<std::uint64_t>
        failed; // call stacks that failed since that change of the mode:
    std::uint32_t mode_change = 0;
    std::uint64_t injected = 0;
    std::optional<injected_fault> last;
};

fault_records& faults_of(machine& where) { return records_of<fault_records>(where); }

struct relocated_stack {
    const call_stack& stack;
    std::uint64_t places[call_stack::max_frames] = {};
};

// Stores frames as offsets from their module's load address. The offsets are the same in every run.
int relocate_frames(dl_phdr_info* module, std::size_t, void* context) {
    auto& out = *static_cast<relocated_stack*>(context);
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
    relocated_stack placed{stack};
    dl_iterate_phdr(relocate_frames, &placed);
    std::uint64_t key = generator::mixed(stack.count);
    for (const char* c = site; *c != 0; ++c)
        key = generator::mixed(key ^ static_cast<unsigned char>(*c));
    for (std::uint32_t frame = 0; frame < stack.count; ++frame)
        key = generator::mixed(key ^ placed.places[frame]);
    return key;
}

bool is_planned(fault_records& records) {
    const std::lock_guard guard(records.lock);
    return records.plan != nullptr;
}

bool planned(fault_records& records, const char* site, const call_stack& stack) {
    const std::uint64_t key = key_of(site, stack);
    const std::lock_guard guard(records.lock);
    return records.plan != nullptr && records.plan->due(key);
}

bool first_seen(fault_records& records, const char* site, const call_stack& stack) {
    const std::uint64_t key = key_of(site, stack);
    const std::lock_guard guard(records.lock);
    const std::uint32_t change = mode_changes.load(std::memory_order_relaxed);
    if (records.mode_change != change) records.failed.clear();
    records.mode_change = change;
    return records.failed.insert(key).second;
}

bool chance_fires(machine& where, const char* site) {
    return where.fires(site, settings.fault_one_in.load(std::memory_order_relaxed));
}

// Returns the call stack when this call is to fail. The stack is captured only when it is needed,
// since that costs microseconds. It begins behind this function, which must have a frame of its own
// and therefore is not inlined.
[[gnu::noinline]] std::optional<call_stack> fault_due(machine& where, fault_records& records,
                                                      const char* site) {
    const bool in_sweep = is_planned(records);
    if (!in_sweep && !enabled(check::low_resources)) return std::nullopt;
    const bool by_stack =
        in_sweep || current_mode.load(std::memory_order_relaxed) == fault_mode::each_stack;
    if (!by_stack && !chance_fires(where, site)) return std::nullopt;
    const call_stack stack = capture_stack();
    if (!by_stack) return stack;
    const bool due = in_sweep ? planned(records, site, stack) : first_seen(records, site, stack);
    return where.record_choice(site, due) ? std::optional(stack) : std::nullopt;
}

} // namespace

bool fault_point_slow(const char* site) {
    machine& where = *this_processor().owner;
    fault_records& records = faults_of(where);
    const std::optional<call_stack> stack = fault_due(where, records, site);
    if (!stack) return false;
    const std::lock_guard guard(records.lock);
    ++records.injected;
    records.last = injected_fault{site, *stack};
    return true;
}

void set_fault_mode(fault_mode mode) {
    current_mode.store(mode, std::memory_order_relaxed);
    mode_changes.fetch_add(1, std::memory_order_relaxed);
}

std::optional<injected_fault> last_fault(machine& where) {
    fault_records& records = faults_of(where);
    const std::lock_guard guard(records.lock);
    return records.last;
}

std::uint64_t faults_injected(machine& where) {
    fault_records& records = faults_of(where);
    const std::lock_guard guard(records.lock);
    return records.injected;
}

} // namespace detail

fault_plan::fault_plan(machine& where, sweep& which) : where_(where) {
    detail::fault_records& records = detail::faults_of(where);
    {
        const std::lock_guard guard(records.lock);
        records.plan = &which;
    }
    detail::instrumentation.fetch_add(detail::fault_plan_unit, std::memory_order_relaxed);
}

fault_plan::~fault_plan() {
    detail::instrumentation.fetch_sub(detail::fault_plan_unit, std::memory_order_relaxed);
    detail::fault_records& records = detail::faults_of(where_);
    const std::lock_guard guard(records.lock);
    records.plan = nullptr;
}

} // namespace irpverbs::dispatch
