// The actions at the beginning and the end of a machine.
#include "hooks.hpp"
#include "ledger.hpp"
#include "quiescence.hpp"
#include "waits.hpp"

#include <dispatch/detail/lifecycle.hpp>

#include <cstdio>
#include <cstdlib>

namespace irpverbs::irp::verify {
namespace {

void apply_environment() {
    const char* options = std::getenv("IRPVERBS_VERIFIER");
    if (options == nullptr) return;
    const std::string wrong = configure(options);
    if (wrong.empty()) return;
    std::fprintf(stderr, "IRPVERBS_VERIFIER: %s\n", wrong.c_str());
    std::_Exit(2);
}

void at_rest(dispatch::machine&) {
    if (watching(watch::lifetime)) check_quiescence(ledger::of(core::this_processor()));
}

} // namespace

bool register_with_machines() {
    static core::lifecycle wishes{apply_environment, at_rest,       waits_for,
                                  sets_event,        freed_as_pool, nullptr};
    core::add_lifecycle(wishes);
    return true;
}

} // namespace irpverbs::irp::verify
