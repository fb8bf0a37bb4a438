// killed_sender URI MICROSECONDS LID QPN ADDRESS KEY: a client that connects to a queue pair, and
// writes, reads and adds in its region without end. A timer kills it after so much processor time
// from its attach on. It prints the same four numbers of its own, and begins to transfer when it
// receives a byte.
#include <ci/data_path.h>
#include <ci/qp_changes.hpp>
#include <ci/support/blocking_verb.hpp>
#include <dispatch/machine.hpp>
#include <hca/hca.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <unistd.h>

namespace {

using namespace irpverbs;
using ci::detail::call_verb;

constexpr ULONG length = 8192;

/// The end of a connection: a queue pair, and a region.
struct end_point {
    ULONG lid;
    ULONG qpn;
    ULONGLONG address;
    ULONG key;
};

void kill_after(long microseconds) {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGKILL;
    timer_t timer{};
    itimerspec when{};
    when.it_value.tv_sec = microseconds / 1'000'000;
    when.it_value.tv_nsec = microseconds % 1'000'000 * 1000 + 1;
    if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) != 0 ||
        timer_settime(timer, 0, &when, nullptr) != 0)
        std::exit(2);
}

template <class Verb>
ci::detail::verb_result must(const Verb& verb) {
    const ci::detail::verb_result made = call_verb(verb);
    if (!made.success()) std::exit(3);
    return made;
}

IB_CA* open_first() {
    ib_guid_t guid = 0;
    ULONG count = 1;
    HcaEnumerate(&guid, &count);
    return must([&](IRP* irp) {
               return CiOpenCa(HcaFromGuid(guid), nullptr, nullptr, nullptr, irp);
           })
        .object<IB_CA>();
}

ULONG lid_of(IB_CA* ca) {
    alignas(IB_PORT_ATTR) static std::array<std::byte, 65536> room;
    auto* const attr = reinterpret_cast<IB_PORT_ATTR*>(room.data());
    must([&](IRP* irp) { return CiQueryPort(ca, 1, room.size(), attr, irp); });
    return attr->Lid;
}

void change(IB_QP* qp, const ib_qp_mod_t& to) {
    must([&](IRP* irp) { return CiModifyQp(qp, &to, nullptr, irp); });
}

void connect(IB_QP* qp, const end_point& peer) {
    constexpr ib_qp_type_t type = IB_QPT_RELIABLE_CONN;
    change(qp, ci::to_init(type, {.access = IB_AC_REMOTE}));
    ci::rtr_attributes path;
    path.av.port_num = 1;
    path.av.dlid = static_cast<ib_lid_t>(peer.lid);
    path.dest_qp = peer.qpn;
    change(qp, ci::to_rtr(type, path));
    change(qp, ci::to_rts(type, {}));
}

/// Posts one work request of each kind, and waits for all.
void transfer(IB_QP* qp, IB_CQ* cq, ib_local_ds_t segment, const end_point& peer) {
    constexpr std::array kinds{WR_RDMA_WRITE, WR_RDMA_READ, WR_FETCH_ADD};
    std::array<ib_send_wr_t, kinds.size()> list{};
    ib_local_ds_t word = segment;
    word.length = 8;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const bool adds = kinds[i] == WR_FETCH_ADD;
        list[i].p_next = i + 1 < list.size() ? &list[i + 1] : nullptr;
        list[i].ds_array = adds ? &word : &segment;
        list[i].num_ds = 1;
        list[i].wr_type = static_cast<ib_wr_type_t>(kinds[i]);
        list[i].send_opt = IB_SEND_OPT_SIGNALED;
        list[i].remote_ops = {peer.address, 1, 0, peer.key};
    }
    if (!NT_SUCCESS(CiPostSend(qp, list.data(), nullptr))) std::exit(4);
    for (ULONG done = 0; done < list.size();) {
        IB_WC entry{};
        ULONG taken = 0;
        if (!NT_SUCCESS(CiGetCqResults(cq, 1, &entry, &taken))) std::exit(5);
        if (taken != 0 && entry.Status != IB_WC_SUCCESS) std::exit(6);
        done += taken;
    }
}

void play(const char* uri, long microseconds, const end_point& peer) {
    alignas(8) static std::array<UCHAR, length> memory;
    if (!NT_SUCCESS(HcaAttach(uri, nullptr))) std::exit(2);
    kill_after(microseconds);
    IB_CA* const ca = open_first();
    auto* const cq = must([&](IRP* irp) {
                         return CiCreateCq(ca, 16, nullptr, nullptr, nullptr, irp);
                     }).object<IB_CQ>();
    auto* const pd = must([&](IRP* irp) {
                         return CiAllocatePd(ca, IB_PDT_NORMAL, nullptr, irp);
                     }).object<IB_PD>();
    const ib_mr_create_t region{memory.data(), memory.size(), IB_AC_LOCAL_WRITE | IB_AC_REMOTE};
    auto* const mr =
        must([&](IRP* irp) { return CiRegisterMr(pd, &region, nullptr, irp); }).object<IB_MR>();
    ib_qp_create_t create{};
    create.h_sq_cq = create.h_rq_cq = cq;
    create.qp_type = IB_QPT_RELIABLE_CONN;
    create.sq_depth = 4;
    create.sq_sge = 1;
    auto* const qp =
        must([&](IRP* irp) { return CiCreateQp(pd, &create, nullptr, irp); }).object<IB_QP>();
    connect(qp, peer);
    const auto address = static_cast<ULONGLONG>(reinterpret_cast<std::uintptr_t>(memory.data()));
    std::printf("%u %u %llu %u\n", lid_of(ca), qp->Num, static_cast<unsigned long long>(address),
                mr->RKey);
    std::fflush(stdout);
    char begin = 0;
    if (read(STDIN_FILENO, &begin, 1) != 1) std::exit(7);
    for (;;)
        transfer(qp, cq, {address, length, mr->LKey}, peer);
}

ULONG number(const char* text) { return static_cast<ULONG>(std::strtoul(text, nullptr, 10)); }

} // namespace

int main(int argc, char** argv) {
    if (argc != 7) return 2;
    auto* const machine = new dispatch::asio_machine({.processors = 1}); // ends with the process
    auto* const inside = new dispatch::machine::scope(*machine);
    static_cast<void>(inside);
    play(argv[1], std::atol(argv[2]),
         {number(argv[3]), number(argv[4]), std::strtoull(argv[5], nullptr, 10), number(argv[6])});
}
