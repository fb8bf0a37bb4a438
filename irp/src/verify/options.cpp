#include "options.hpp"

#include <dispatch/support/faults.hpp>

#include <charconv>
#include <mutex>
#include <optional>

namespace irpverbs::irp::verify {

constinit verifier_settings settings;

namespace {

constinit std::atomic<std::uint32_t> configurations{0};

constinit core::raw_spin_lock switching;
constinit std::uint32_t recorders =
    0; // guarded by switching, like every write to core::enabled_checks
[[maybe_unused]] const bool registered = register_with_machines();

constexpr std::uint32_t bit(core::check what) { return static_cast<std::uint32_t>(what); }

struct word {
    std::string_view name;
    std::uint32_t bits;
    bool passive; // only observes: part of "default"
};

constexpr word words[] = {
    {"irql", bit(core::check::irql), true},
    {"locks", bit(core::check::locks), true},
    {"deadlocks", bit(core::check::deadlocks), true},
    {"pool", bit(core::check::pool), true},
    {"watchdog", bit(core::check::watchdog), true},
    {"io", bit(check::io), true},
    {"lifetime", bit(check::lifetime), true},
    {"cancel", bit(check::cancel), true},
    {"remove_locks", bit(check::remove_locks), true},
    {"lock_initialisation", bit(core::check::lock_initialisation), false},
    {"release_order", bit(core::check::release_order), false},
    {"log", bit(check::log), false},
    {"trace", bit(check::trace), false},
    {"force_pending", bit(check::force_pending), false},
    {"low_resources", bit(core::check::low_resources), false},
    {"delays", bit(core::check::delays), false},
};

std::uint32_t default_bits() {
    std::uint32_t bits = 0;
    for (const word& each : words)
        if (each.passive) bits |= each.bits;
    return bits;
}

struct parsed_options {
    std::uint32_t bits = 0;
    policy pended_completed = policy::warn;
    policy two_remove_locks = policy::warn;
    core::fault_mode low_resources = core::fault_mode::random;
    bool strict_sdv_irql = false;
    bool cancel_lock_required = false;
    bool lax_device_queue_irql = false;
    std::uint32_t cancel_limit_ms = 300'000;
    std::uint32_t dpc_limit_ms = 20'000;
    std::uint32_t raised_limit_ms = 120'000;
    std::uint32_t force_pending_percent = 10;
    std::uint32_t trace_limit = 100'000;
};

constexpr struct {
    std::string_view name;
    bool parsed_options::*place;
} flags[] = {
    {"strict_sdv_irql", &parsed_options::strict_sdv_irql},
    {"cancel_lock_required", &parsed_options::cancel_lock_required},
    {"lax_device_queue_irql", &parsed_options::lax_device_queue_irql},
};

constexpr struct {
    std::string_view name;
    policy parsed_options::*place;
} policies[] = {
    {"pended_completed", &parsed_options::pended_completed},
    {"two_remove_locks", &parsed_options::two_remove_locks},
};

constexpr struct {
    std::string_view name;
    std::uint32_t parsed_options::*place;
    std::uint32_t most;
} numbers[] = {
    {"cancel_limit_ms", &parsed_options::cancel_limit_ms, 86'400'000},
    {"dpc_limit_ms", &parsed_options::dpc_limit_ms, 86'400'000},
    {"raised_limit_ms", &parsed_options::raised_limit_ms, 86'400'000},
    {"force_pending_percent", &parsed_options::force_pending_percent, 100},
    {"trace_limit", &parsed_options::trace_limit, 100'000'000},
};

std::string all_words() {
    std::string text = "default";
    for (const word& each : words)
        text += ", " + std::string(each.name);
    text += "; low_resources=chance|stacks";
    for (const auto& each : policies)
        text += ", " + std::string(each.name) + "=allow|warn|fail";
    for (const auto& each : numbers)
        text += ", " + std::string(each.name) + "=N";
    for (const auto& each : flags)
        text += ", " + std::string(each.name);
    return text;
}

bool read_number(std::string_view text, std::uint32_t most, std::uint32_t& number) {
    std::uint32_t read = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), read);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size() || read > most) return false;
    number = read;
    return true;
}

bool read_policy(std::string_view text, policy& chosen) {
    constexpr std::string_view names[] = {"allow", "warn", "fail"};
    for (std::uint8_t i = 0; i < 3; ++i)
        if (text == names[i]) {
            chosen = policy{i};
            return true;
        }
    return false;
}

// Reads a setting; returns "" or the reason of the failure.
std::string read_setting(std::string_view name, std::string_view value, parsed_options& chosen) {
    const std::string given = std::string(name) + '=' + std::string(value);
    for (const auto& each : policies)
        if (name == each.name)
            return read_policy(value, chosen.*each.place)
                       ? ""
                       : given + ": allow, warn or fail was expected";
    if (name == "low_resources") {
        if (value != "chance" && value != "stacks")
            return given + ": chance or stacks was expected";
        chosen.bits |= bit(core::check::low_resources);
        chosen.low_resources =
            value == "stacks" ? core::fault_mode::each_stack : core::fault_mode::random;
        return "";
    }
    for (const auto& each : numbers)
        if (name == each.name)
            return read_number(value, each.most, chosen.*each.place)
                       ? ""
                       : given + ": a number from 0 to " + std::to_string(each.most) +
                             " was expected";
    return "unknown setting '" + std::string(name) + "'; there are: " + all_words();
}

std::string read_word(std::string_view text, parsed_options& chosen) {
    if (const std::size_t equals = text.find('='); equals != std::string_view::npos)
        return read_setting(text.substr(0, equals), text.substr(equals + 1), chosen);
    const bool on = !text.starts_with('-');
    const std::string_view name = on ? text : text.substr(1);
    for (const auto& each : flags)
        if (name == each.name) {
            chosen.*each.place = on;
            return "";
        }
    std::optional<std::uint32_t> bits;
    if (name == "default") bits = default_bits();
    for (const word& each : words)
        if (each.name == name) bits = each.bits;
    if (!bits) return "unknown word '" + std::string(name) + "'; there are: " + all_words();
    chosen.bits = on ? chosen.bits | *bits : chosen.bits & ~*bits;
    return "";
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ')
        text.remove_suffix(1);
    return text;
}

std::uint64_t ticks(std::uint32_t milliseconds) { return std::uint64_t{milliseconds} * 10'000; }

void apply(const parsed_options& chosen) {
    settings.pended_completed = chosen.pended_completed;
    settings.two_remove_locks = chosen.two_remove_locks;
    core::settings.strict_sdv_irql = chosen.strict_sdv_irql;
    settings.cancel_lock_required = chosen.cancel_lock_required;
    settings.lax_device_queue_irql = chosen.lax_device_queue_irql;
    settings.cancel_limit_ms = chosen.cancel_limit_ms;
    settings.force_pending_percent = chosen.force_pending_percent;
    settings.trace_limit = chosen.trace_limit;
    core::settings.dpc_limit = ticks(chosen.dpc_limit_ms);
    core::settings.raised_limit = ticks(chosen.raised_limit_ms);
    core::set_fault_mode(chosen.low_resources);
    configurations.fetch_add(1);
    const std::lock_guard guard(switching);
    core::set_enabled_checks(chosen.bits | (recorders != 0 ? bit(check::recording) : 0));
}

} // namespace

void begin_recording() {
    const std::lock_guard guard(switching);
    ++recorders;
    if (!tracking()) configurations.fetch_add(1);
    core::set_enabled_checks(core::enabled_checks.load() | bit(check::recording));
}

void end_recording() {
    const std::lock_guard guard(switching);
    if (--recorders == 0)
        core::set_enabled_checks(core::enabled_checks.load() & ~bit(check::recording));
}

void begin_sweep() {
    const std::lock_guard guard(switching);
    core::set_enabled_checks(core::enabled_checks.load() | bit(check::sweep));
}

void end_sweep() {
    const std::lock_guard guard(switching);
    core::set_enabled_checks(core::enabled_checks.load() & ~bit(check::sweep));
}

std::uint32_t configuration() { return configurations.load(std::memory_order_relaxed); }

std::string configure(std::string_view options) {
    parsed_options chosen;
    while (!options.empty()) {
        const std::size_t comma = options.find(',');
        const std::string_view text = trimmed(options.substr(0, comma));
        options = comma == std::string_view::npos ? "" : options.substr(comma + 1);
        if (text.empty()) continue;
        if (std::string wrong = read_word(text, chosen); !wrong.empty()) return wrong;
    }
    apply(chosen);
    return "";
}

} // namespace irpverbs::irp::verify
