// The actions at the beginning and the end of a machine.
#include "hooks.hpp"
#include "irp_tracker.hpp"
#include "quiescence.hpp"
#include "waits.hpp"

#include <dispatch/support/machine_hooks.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace irpverbs::irp::verify {
namespace {

void apply_environment() {
    const char* options = std::getenv("IRPVERBS_VERIFIER");
    if (options == nullptr) return;
    const std::string wrong = configure(options);
    if (wrong.empty()) return;
    std::fprintf(stderr, "%s: IRPVERBS_VERIFIER: %s\n", program_invocation_short_name,
                 wrong.c_str());
    std::_Exit(2);
}

void on_quiesced(dispatch::machine&) {
    if (enabled(check::lifetime)) check_quiescence(irp_tracker::of(core::this_processor()));
}

} // namespace

bool register_with_machines() {
    static core::machine_hooks hooks{apply_environment, on_quiesced,  on_wait, on_event_set,
                                     on_pool_free,      check_access, nullptr};
    core::add_machine_hooks(hooks);
    return true;
}

} // namespace irpverbs::irp::verify
