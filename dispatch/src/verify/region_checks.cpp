#include "hooks.hpp"

#include "processor_checks.hpp"
#include "verifier_rules.hpp"

namespace irpverbs::dispatch::detail {
namespace {

std::vector<call_stack>& entered(verifier_state& state, region which) {
    return which == region::critical ? state.critical_regions : state.guarded_regions;
}

const rule& rule_about(region which) {
    return which == region::critical ? verifier_rules::CriticalRegions
                                     : verifier_rules::GuardedRegions;
}

void report_open(processor& self, region which, std::size_t before, const char* what) {
    std::vector<call_stack>& all = entered(verifier_state_of(self), which);
    if (all.size() <= before) return;
    const call_stack where = all.back();
    all.resize(before);
    finding found =
        make_finding(rule_about(which),
                     std::string(what) + " ends inside a " +
                         (which == region::critical ? "critical" : "guarded") + " region",
                     self.number);
    found.add_stack("entered at", where);
    report(found);
}

} // namespace

void region_entered(processor& self, region which) {
    if (enabled(check::locks))
        entered(verifier_state_of(self), which).push_back(capture_stack(1, 16));
}

void region_left(processor& self, region which, bool is_inside) {
    if (!enabled(check::locks)) return;
    std::vector<call_stack>& all = entered(verifier_state_of(self), which);
    if (!all.empty()) all.pop_back();
    if (!is_inside)
        report(make_finding(rule_about(which),
                            which == region::critical
                                ? "KeLeaveCriticalRegion without KeEnterCriticalRegion"
                                : "KeLeaveGuardedRegion without KeEnterGuardedRegion",
                            self.number));
}

void regions_left_open(processor& self, std::size_t critical, std::size_t guarded,
                       const char* what) {
    if (!enabled(check::locks)) return;
    report_open(self, region::critical, critical, what);
    report_open(self, region::guarded, guarded, what);
}

} // namespace irpverbs::dispatch::detail
