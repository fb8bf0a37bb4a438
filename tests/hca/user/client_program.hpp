// Programs that are clients of a daemon and end in some bad way: their objects, and a connection to
// a queue pair of the test that runs them.
#pragma once

#include <ci/common_buffer.hpp>
#include <ci/data_path.h>
#include <ci/qp_changes.hpp>
#include <ci/support/blocking_verb.hpp>
#include <dispatch/machine.hpp>
#include <hca/hca.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace irpverbs::testing {

/// The end of a connection: a queue pair, and a region.
struct end_point {
    ULONG lid = 0;
    ULONG qpn = 0;
    ULONGLONG address = 0;
    ULONG key = 0;
};

/// Four words of the command line.
inline end_point end_point_of(char** words) {
    const auto number = [&](int i) { return std::strtoull(words[i], nullptr, 10); };
    return {static_cast<ULONG>(number(0)), static_cast<ULONG>(number(1)), number(2),
            static_cast<ULONG>(number(3))};
}

/// A machine that lasts until the process ends.
inline void begin_machine() {
    auto* const machine = new dispatch::asio_machine({.processors = 1});
    static_cast<void>(new dispatch::machine::scope(*machine));
}

/// Calls a verb; the program ends if it fails.
template <class Verb>
ci::detail::verb_result must(const Verb& verb) {
    const ci::detail::verb_result made = ci::detail::call_verb(verb);
    if (!made.success()) std::exit(3);
    return made;
}

inline DEVICE_OBJECT* first_hca() {
    ib_guid_t guid = 0;
    ULONG count = 1;
    HcaEnumerate(&guid, &count);
    return HcaFromGuid(guid);
}

inline IB_CA* open_first() {
    return must([](IRP* irp) { return CiOpenCa(first_hca(), nullptr, nullptr, nullptr, irp); })
        .object<IB_CA>();
}

/// An IRP that pends until its object ends.
inline IRP* pended() {
    IRP* const irp = IoAllocateIrp(1, FALSE);
    IoSetCompletionRoutine(
        irp, [](DEVICE_OBJECT*, IRP*, void*) { return STATUS_MORE_PROCESSING_REQUIRED; }, nullptr,
        TRUE, TRUE, TRUE);
    return irp;
}

inline ULONG lid_of(IB_CA* ca) {
    alignas(IB_PORT_ATTR) static std::array<std::byte, 65536> room;
    auto* const attr = reinterpret_cast<IB_PORT_ATTR*>(room.data());
    must([&](IRP* irp) { return CiQueryPort(ca, 1, room.size(), attr, irp); });
    return attr->Lid;
}

/// A queue pair with its queue and regions, and the place of its peer. Long transfers, and those of
/// the peer, are of a common buffer; other ones of private memory.
struct client_end {
    static constexpr ULONG length = 8192;
    static constexpr ULONG depth = 8;

    explicit client_end(const end_point& its_peer) : peer(its_peer) {
        mr = register_bytes(memory.data(), memory.size());
        shared_mr = register_bytes(shared.bytes().data(), shared.bytes().size());
        ib_qp_create_t create{};
        create.h_sq_cq = create.h_rq_cq = cq;
        create.qp_type = IB_QPT_RELIABLE_CONN;
        create.sq_depth = create.rq_depth = depth;
        create.sq_sge = create.rq_sge = 1;
        qp = must([&](IRP* irp) { return CiCreateQp(pd, &create, nullptr, irp); }).object<IB_QP>();
    }

    IB_MR* register_bytes(void* first, std::size_t size) const {
        const ib_mr_create_t region{first, size, IB_AC_LOCAL_WRITE | IB_AC_REMOTE, 0};
        return must([&](IRP* irp) { return CiRegisterMr(pd, &region, nullptr, irp); })
            .object<IB_MR>();
    }
    void change(const ib_qp_mod_t& to) const {
        must([&](IRP* irp) { return CiModifyQp(qp, &to, nullptr, irp); });
    }
    void connect() const {
        constexpr ib_qp_type_t type = IB_QPT_RELIABLE_CONN;
        change(ci::to_init(type, {.access = IB_AC_REMOTE}));
        ci::rtr_attributes path;
        path.av.port_num = 1;
        path.av.dlid = static_cast<ib_lid_t>(peer.lid);
        path.dest_qp = peer.qpn;
        path.rnr_nak_timeout = 1; // 10 us
        change(ci::to_rtr(type, path));
        change(ci::to_rts(type, {}));
    }
    /// Prints the end, and waits for a byte: the peer is connected.
    void meet() const {
        std::printf("%u %u %llu %u\n", lid_of(ca), qp->Num,
                    static_cast<unsigned long long>(own_shared()), shared_mr->RKey);
        std::fflush(stdout);
        char begin = 0;
        if (read(STDIN_FILENO, &begin, 1) != 1) std::exit(7);
    }

    /// Posts a work request of each of these kinds, a receive for WR_SEND at the peer included.
    template <std::size_t Size>
    void post(const std::array<ib_wr_type_t, Size>& kinds) const {
        std::array<ib_send_wr_t, Size> list{};
        ib_local_ds_t whole{own_shared(), length, shared_mr->LKey};
        ib_local_ds_t word{own(), 8, mr->LKey};
        for (std::size_t i = 0; i < Size; ++i) {
            const bool is_long = kinds[i] == WR_RDMA_WRITE || kinds[i] == WR_RDMA_READ;
            list[i].p_next = i + 1 < Size ? &list[i + 1] : nullptr;
            list[i].ds_array = is_long ? &whole : &word;
            list[i].num_ds = 1;
            list[i].wr_type = kinds[i];
            list[i].send_opt = IB_SEND_OPT_SIGNALED;
            list[i].remote_ops = {peer.address, 1, 0, peer.key};
        }
        if (!NT_SUCCESS(CiPostSend(qp, list.data(), nullptr))) std::exit(4);
    }
    void post_receive() const {
        ib_local_ds_t into{own(), length, mr->LKey};
        ib_recv_wr_t what{nullptr, 0, &into, 1};
        if (!NT_SUCCESS(CiPostRecv(qp, &what, nullptr))) std::exit(4);
    }
    /// Polls until so many work requests have completed with that status.
    void await(std::size_t count, ULONG status = IB_WC_SUCCESS) const {
        for (std::size_t done = 0; done < count;) {
            IB_WC entry{};
            ULONG taken = 0;
            if (!NT_SUCCESS(CiGetCqResults(cq, 1, &entry, &taken))) std::exit(5);
            if (taken != 0 && entry.Status != status) std::exit(6);
            done += taken;
        }
    }
    void destroy() const {
        must([&](IRP* irp) { return CiDestroyQp(qp, nullptr, irp); });
        must([&](IRP* irp) { return CiDeregisterMr(mr, nullptr, irp); });
        must([&](IRP* irp) { return CiDeregisterMr(shared_mr, nullptr, irp); });
        must([&](IRP* irp) { return CiDeallocatePd(pd, nullptr, irp); });
        must([&](IRP* irp) { return CiDestroyCq(cq, nullptr, irp); });
        must([&](IRP* irp) { return CiCloseCa(ca, nullptr, irp); });
    }

    static ULONGLONG own() { return address_of(memory.data()); }
    ULONGLONG own_shared() const { return address_of(shared.bytes().data()); }
    static ULONGLONG address_of(const void* place) {
        return static_cast<ULONGLONG>(reinterpret_cast<std::uintptr_t>(place));
    }

    alignas(8) static inline std::array<UCHAR, length> memory;
    const ci::common_buffer shared{2 * length}; // the second half is for what the peer does
    const end_point peer;
    IB_CA* const ca = open_first();
    IB_CQ* const cq = must([this](IRP* irp) {
                          return CiCreateCq(ca, 16, nullptr, nullptr, nullptr, irp);
                      }).object<IB_CQ>();
    IB_PD* const pd = must([this](IRP* irp) {
                          return CiAllocatePd(ca, IB_PDT_NORMAL, nullptr, irp);
                      }).object<IB_PD>();
    IB_MR* mr = nullptr;
    IB_MR* shared_mr = nullptr;
    IB_QP* qp = nullptr;
};

} // namespace irpverbs::testing
