// "software:?checked": a page that is unmapped while it is lent fails the work request, in the same
// process, straight through and by packets.
#include "unmapped_transfers.hpp"

#include <support/both_machines.hpp>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

class CheckedMemory : public BothMachines {
protected:
    /// `check` with the HCAs of two hosts, where a post may pass straight through and where none
    /// may, since the cables have faults.
    template <class Check>
    static void on_both_ways(const Check& check) {
        for (const char* const faults : {"", "?duplication=1e-9"}) {
            const attached hcas(std::string("software:?checked") + faults);
            check(hcas.fdo(0), hcas.fdo(1));
        }
    }
};

TEST_P(CheckedMemory, OwnPageIsUnmapped_LocalProtectionError) { on_both_ways(expect_local_errors); }

TEST_P(CheckedMemory, PeersPageIsUnmapped_RemoteAccessError) { on_both_ways(expect_remote_errors); }

TEST_P(CheckedMemory, PageOfTheReceiveIsUnmapped_BothEndsFail) {
    on_both_ways(expect_receive_errors);
}

TEST_P(CheckedMemory, PageForbidsWrites_TheWriteFails) {
    const attached hcas("software:?checked");
    lending_ends ends(hcas.fdo(0), hcas.fdo(1));
    ends.page.forbid_writes();
    EXPECT_EQ(ends.lender.post(ends.from_page(WR_RDMA_WRITE)), STATUS_SUCCESS);
    EXPECT_EQ(ends.lender.next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(ends.peer.post(ends.to_page(WR_RDMA_WRITE)), STATUS_SUCCESS);
    EXPECT_EQ(ends.peer.next().Status, ULONG{IB_WC_REMOTE_ACCESS_ERROR});
}

TEST_P(CheckedMemory, PhysicalRegion_FailsToo) {
    const attached hcas("software:?checked");
    lending_ends ends(hcas.fdo(0), hcas.fdo(1));
    const ib_phys_range_t range{ends.page.address(), 4096};
    const ib_phys_create_t wanted{4096, 1, 0, &range, 0x70000, 4096, IB_AC_LOCAL_WRITE};
    IB_MR* const pages = created<IB_MR>(
        [&](IRP* irp) { return CiRegisterPmr(ends.lender.pd(), &wanted, nullptr, irp); });
    ends.segment = {0x70000, 8, pages->LKey};
    for (const ULONG status : {IB_WC_SUCCESS, IB_WC_LOCAL_PROTECTION_ERROR}) {
        if (status != IB_WC_SUCCESS) ends.page.unmap();
        EXPECT_EQ(ends.lender.post(ends.from_page(WR_RDMA_WRITE)), STATUS_SUCCESS);
        EXPECT_EQ(ends.lender.next().Status, status);
    }
    EXPECT_EQ(deregister_mr(pages), STATUS_SUCCESS);
}

TEST_P(CheckedMemory, AtomicOperations_AreThoseOfTheHca) {
    for (const bool checked : {false, true}) {
        const attached hcas(checked ? "software:?checked" : "software:");
        const open_hca opened(hcas.fdo());
        IB_CA_ATTR attr{};
        verb_call query([&](IRP* irp) { return CiQueryCa(opened, sizeof(attr), &attr, irp); });
        EXPECT_EQ(query.status(), STATUS_BUFFER_OVERFLOW); // ports have no room
        EXPECT_EQ(attr.Atomicity, checked ? IB_ATOMIC_HCA : IB_ATOMIC_GLOBAL);
    }
}

// Its addresses are none of this process.
TEST_P(CheckedMemory, RegionOfAnUnknownProcess_IsRefused) {
    const attached hcas("software:?checked");
    const open_hca opened(hcas.fdo());
    IB_PD* const pd = allocate_pd(opened);
    ULONGLONG own = 5;
    const ib_mr_create_t wanted{&own, sizeof(own), IB_AC_REMOTE | IB_AC_LOCAL_WRITE, 0};
    verb_call registration([&](IRP* irp) {
        irp->RequestorMode = UserMode;
        irp->Flags |= IRP_BUFFERED_IO;
        return CiRegisterMr(pd, &wanted, nullptr, irp);
    });
    EXPECT_EQ(registration.status(), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(deallocate_pd(pd), STATUS_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(CheckedMemory);

} // namespace
