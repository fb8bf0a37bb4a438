// HCAs with verbs, over the fake kernel.
#pragma once

#include "completion_queue.hpp"
#include "operations.hpp"
#include "rdma_hcas.hpp"

#include <support/both_machines.hpp>

namespace irpverbs::testing {

/// A device "rxe0" with both sides and one port.
struct verbs_kernel : fake_umad {
    static constexpr ib_guid_t guid = 0x3000;

    verbs_kernel() {
        cas.clear();
        cas["rxe0"].guid = guid;
        cas["rxe0"].ports[0].link_layer = "Ethernet";
        files["/sys/class/infiniband/rxe0/ports/1/gids/0"] =
            "fe80:0000:0000:0000:0000:0000:0000:3001";
        verbs.add("rxe0", guid);
    }
    void raise(ibv_event_type type, int number = 1) { verbs.raise("rxe0", type, number); }
};

/// The queue's identity in the fake.
inline const void* name_of_queue(IB_CQ* cq) {
    return hca_rdma::extension_of(CONTAINING_RECORD(cq, HCA_CQ, Cq)).queue;
}

inline ibv_wc wc(std::uint64_t id, ibv_wc_status status = IBV_WC_SUCCESS,
                 ibv_wc_opcode opcode = IBV_WC_SEND) {
    ibv_wc made{};
    made.wr_id = id;
    made.status = status;
    made.opcode = opcode;
    return made;
}

/// One of these HCAs, open.
struct open_verbs {
    open_verbs() = default;
    ~open_verbs() {
        if (ca != nullptr) {
            EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
        }
    }
    open_verbs(const open_verbs&) = delete;
    open_verbs& operator=(const open_verbs&) = delete;

    rdma_hcas hcas;
    IB_CA* ca = open_ca(rdma_hcas::fdo(verbs_kernel::guid));
};

inline auto creating(IB_CA* ca, ULONG entries = 4) {
    return [=](IRP* irp) { return CiCreateCq(ca, entries, nullptr, nullptr, nullptr, irp); };
}
inline auto resizing(IB_CQ* cq, ULONG entries) {
    return [=](IRP* irp) { return CiResizeCq(cq, entries, nullptr, irp); };
}
inline auto arming(IB_CQ* cq, ULONG flags = IB_CQ_ARM_NEXT) {
    return [=](IRP* irp) { return CiArmCq(cq, flags, irp); };
}
inline auto awaiting_completion(IB_CQ* cq) {
    return [=](IRP* irp) { return CiGetCqCompEvent(cq, irp); };
}
inline auto awaiting_error(IB_CQ* cq) {
    return [=](IRP* irp) { return CiGetCqAsyncEvent(cq, irp); };
}
inline auto awaiting_port(IB_CA* ca, UCHAR port = 1) {
    return [=](IRP* irp) { return CiGetCaPortEvent(ca, port, irp); };
}
inline auto awaiting_fatal(IB_CA* ca) {
    return [=](IRP* irp) { return CiGetCaFatalEvent(ca, irp); };
}
inline auto querying(IB_CA* ca, IB_PORT_ATTR& to) {
    return [=, &to](IRP* irp) { return CiQueryPort(ca, 1, sizeof(to), &to, irp); };
}

template <class Verb>
NTSTATUS status_of(const Verb& verb) {
    return verb_call(verb).status();
}

/// The IDs of the entries that a poll without an IRP returns.
inline std::vector<std::uint64_t> results(IB_CQ* cq, ULONG most) {
    std::vector<IB_WC> entries(most);
    ULONG taken = 0;
    EXPECT_EQ(CiGetCqResults(cq, most, entries.data(), &taken), STATUS_SUCCESS);
    EXPECT_LE(taken, most);
    std::vector<std::uint64_t> ids;
    for (ULONG i = 0; i < taken; ++i)
        ids.push_back(entries[i].WrId);
    return ids;
}
/// Polls often enough that, on a real machine, polls go to libibverbs directly.
inline void poll_empty(IB_CQ* cq) {
    for (int i = 0; i < 100; ++i)
        EXPECT_TRUE(results(cq, 1).empty());
}

/// The IDs of the entries that a poll returns.
inline std::vector<std::uint64_t> poll(IB_CQ* cq, ULONG most) {
    std::vector<IB_WC> entries(most);
    verb_call call([&](IRP* irp) { return CiPollCq(cq, most, entries.data(), irp); });
    EXPECT_STREQ(name_of(call.status()), "STATUS_SUCCESS");
    std::vector<std::uint64_t> ids;
    for (ULONG_PTR i = 0; i < call.information(); ++i)
        ids.push_back(entries[i].WrId);
    return ids;
}

} // namespace irpverbs::testing
