#include "rivals.hpp"

namespace irpverbs::subnet_manager {

namespace {

struct asking {
    explicit asking(std::function<void(const survey&)> who) : told(std::move(who)) {}

    std::function<void(const survey&)> told;
    survey result;
    std::size_t missing = 1;

    void answered() {
        if (--missing == 0) told(result);
    }
};

void note(asking& all, const directed_route& way, const smp_answer& answer) {
    const auto info = unpack<sm_sminfo_t>(answer.data);
    if (answer.success() && info)
        all.result.rivals.push_back({way, *info});
    else
        all.result.complete = false;
    all.answered();
}

} // namespace

bool outranks(const sm_sminfo_t& one, const sm_sminfo_t& other) {
    if (one.Priority != other.Priority) return one.Priority > other.Priority;
    return one.GUID < other.GUID;
}

void ask_rivals(smp_channel& smps, const subnet& of, const sm_sminfo_t& own,
                std::function<void(const survey&)> told) {
    const auto all = std::make_shared<asking>(std::move(told));
    for (const port_ref end : of.nodes.end_ports()) {
        const bool shown = (of.nodes.at(end).info.CapabilityMask & IB_PORT_CAP_IS_SM) != 0;
        if (!shown || end == of.manager) continue;
        ++all->missing;
        smp question = get_smp(of.way_to(end), sm_info);
        pack(own, question.data);
        const directed_route way = question.way;
        smps.ask(std::move(question),
                 [all, way](const smp_answer& answer) { note(*all, way, answer); });
    }
    all->answered();
}

} // namespace irpverbs::subnet_manager
