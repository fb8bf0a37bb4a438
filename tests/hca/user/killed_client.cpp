// killed_client URI STEP: a client of a daemon that kills itself before one step of a script, or
// ends normally if the script has fewer steps.
#include "client_program.hpp"

#include <csignal>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;
using ci::detail::call_verb;

class script {
public:
    explicit script(int last) : left_(last) {}

    void step() {
        if (left_-- == 0) static_cast<void>(raise(SIGKILL));
    }
    /// The object that a verb creates.
    template <class Object, class Verb>
    Object* make(const Verb& verb) {
        step();
        const ci::detail::verb_result made = call_verb(verb);
        if (!made.success()) std::exit(2);
        return made.object<Object>();
    }

private:
    int left_;
};

void play(const char* uri, script steps) {
    static std::array<char, 4096> memory;
    steps.step();
    if (!NT_SUCCESS(HcaAttach(uri, nullptr))) std::exit(2);
    auto* const ca = steps.make<IB_CA>(
        [](IRP* irp) { return CiOpenCa(first_hca(), nullptr, nullptr, nullptr, irp); });
    auto* const cq = steps.make<IB_CQ>(
        [&](IRP* irp) { return CiCreateCq(ca, 16, nullptr, nullptr, nullptr, irp); });
    auto* const pd =
        steps.make<IB_PD>([&](IRP* irp) { return CiAllocatePd(ca, IB_PDT_NORMAL, nullptr, irp); });
    ib_srq_create_t shared{};
    shared.max_wr = 4;
    shared.max_sge = 1;
    auto* const srq =
        steps.make<IB_SRQ>([&](IRP* irp) { return CiCreateSrq(pd, &shared, nullptr, irp); });
    const ib_mr_create_t region{memory.data(), memory.size(), IB_AC_LOCAL_WRITE, 0};
    steps.make<IB_MR>([&](IRP* irp) { return CiRegisterMr(pd, &region, nullptr, irp); });
    const ci::common_buffer buffer(4096);
    const ib_mr_create_t shared_region{buffer.bytes().data(), 4096, IB_AC_LOCAL_WRITE, 0};
    steps.make<IB_MR>([&](IRP* irp) { return CiRegisterMr(pd, &shared_region, nullptr, irp); });
    ib_qp_create_t create{};
    create.h_sq_cq = create.h_rq_cq = cq;
    create.h_srq = srq;
    create.qp_type = IB_QPT_UNRELIABLE_DGRM;
    create.sq_depth = 4;
    create.sq_sge = 1;
    auto* const qp =
        steps.make<IB_QP>([&](IRP* irp) { return CiCreateQp(pd, &create, nullptr, irp); });
    ib_gid_t group{};
    group.gid_prefix = 0xFF12ull << 48;
    steps.make<IB_MCAST>([&](IRP* irp) { return CiAttachMcast(qp, &group, 0xC001, nullptr, irp); });
    ib_av_attr_t way{};
    way.dlid = 1;
    way.port_num = 1;
    steps.make<IB_AV>([&](IRP* irp) { return CiCreateAv(pd, &way, nullptr, irp); });
    IB_MAD_AGENT_ATTR attr{};
    attr.PortNumber = 1;
    attr.ManagementClass = 0x0A;
    attr.ClassVersion = 1;
    attr.MethodMask[0] = 2;
    auto* const agent = steps.make<IB_MAD_AGENT>(
        [&](IRP* irp) { return CiRegisterMadAgent(ca, &attr, nullptr, nullptr, irp); });
    static IB_MAD_RECEIVE receive{memory.data(), 256, 0, 0, {}};
    steps.step();
    CiGetMad(agent, &receive, pended());
    steps.step();
    CiGetCqCompEvent(cq, pended());
    CiGetCaPortEvent(ca, 1, pended());
    steps.step();
    call_verb([&](IRP* irp) { return CiArmCq(cq, IB_CQ_ARM_NEXT, irp); });
    steps.step();
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    begin_machine();
    play(argv[1], script(std::atoi(argv[2])));
    std::_Exit(0);
}
