// swept_client URI LID QPN ADDRESS KEY: a client that uses each kind of object, exchanges messages
// with a queue pair, and ends in order. Its accesses to rings lie between the signals SIGUSR1 and
// SIGUSR2, which it ignores, for a tracer.
#include "client_program.hpp"

#include <csignal>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

/// Its life is a part that a tracer steps through.
class stepped {
public:
    stepped() { static_cast<void>(raise(SIGUSR1)); }
    ~stepped() { static_cast<void>(raise(SIGUSR2)); }
    stepped(const stepped&) = delete;
    stepped& operator=(const stepped&) = delete;
};

/// Objects that take no part in the connection.
struct other_objects {
    explicit other_objects(const client_end& of) : pd(of.pd) {
        ib_srq_create_t shared{};
        shared.max_wr = 4;
        shared.max_sge = 1;
        srq =
            must([&](IRP* irp) { return CiCreateSrq(pd, &shared, nullptr, irp); }).object<IB_SRQ>();
        ib_av_attr_t way{};
        way.dlid = 1;
        way.port_num = 1;
        av = must([&](IRP* irp) { return CiCreateAv(pd, &way, nullptr, irp); }).object<IB_AV>();
        IB_MAD_AGENT_ATTR attr{};
        attr.PortNumber = 1;
        attr.ManagementClass = 0x0A;
        attr.ClassVersion = 1;
        attr.MethodMask[0] = 2;
        agent = must([&](IRP* irp) {
                    return CiRegisterMadAgent(of.ca, &attr, nullptr, nullptr, irp);
                }).object<IB_MAD_AGENT>();
        static std::array<std::byte, 256> datagram;
        static IB_MAD_RECEIVE receive{datagram.data(), datagram.size(), 0, 0, {}};
        CiGetMad(agent, &receive, pended());
        CiGetCaFatalEvent(of.ca, pended());
        CiGetCaPortEvent(of.ca, 1, pended());
        CiGetCqAsyncEvent(of.cq, pended());
    }
    void destroy() const {
        must([&](IRP* irp) { return CiDeregisterMadAgent(agent, irp); });
        must([&](IRP* irp) { return CiDestroyAv(av, nullptr, irp); });
        must([&](IRP* irp) { return CiDestroySrq(srq, nullptr, irp); });
    }

    IB_PD* pd;
    IB_SRQ* srq = nullptr;
    IB_AV* av = nullptr;
    IB_MAD_AGENT* agent = nullptr;
};

constexpr std::array<ib_wr_type_t, 4> kinds{WR_SEND, WR_RDMA_WRITE, WR_RDMA_READ, WR_FETCH_ADD};

void transfer(const client_end& own) {
    {
        const stepped here;
        CiArmCqNow(own.cq, IB_CQ_ARM_NEXT);
        own.post_receive();
        own.post(kinds);
    }
    must([&](IRP* irp) { return CiGetCqCompEvent(own.cq, irp); });
    const stepped here;
    own.await(kinds.size() + 1); // and the message of the peer
}

// The flushed receive completes in the larger queue.
void fail_queue_pair(const client_end& own) {
    must([&](IRP* irp) { return CiResizeCq(own.cq, 32, nullptr, irp); });
    {
        const stepped here;
        own.post_receive();
    }
    own.change(ci::to_state(IB_QPS_ERROR));
    own.await(1, IB_WC_FLUSHED);
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 6) return 2;
    for (const int each : {SIGUSR1, SIGUSR2})
        static_cast<void>(signal(each, SIG_IGN));
    begin_machine();
    if (!NT_SUCCESS(HcaAttach(argv[1], nullptr))) return 2;
    const client_end own(end_point_of(argv + 2));
    own.connect();
    const other_objects others(own);
    own.meet();
    transfer(own);
    fail_queue_pair(own);
    others.destroy();
    own.destroy();
    if (!NT_SUCCESS(HcaDetach(argv[1]))) return 8;
    std::_Exit(0);
}
