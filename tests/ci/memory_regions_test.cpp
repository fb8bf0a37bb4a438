// The common half's part of CiModifyMr and CiModifyPmr: the checks, the domain that counts the
// region, and turns; and of the regions of pages and of shared pages.
#include "qp_hca.hpp"

#include <support/both_machines.hpp>

#include <verbs/verb.hpp>

namespace {

using namespace irpverbs::testing;

void* pointer(ULONG_PTR address) { return reinterpret_cast<void*>(address); }

struct mr_hca : qp_hca {
    NTSTATUS end_of_change = STATUS_SUCCESS;
    bool pends = false;
    std::vector<IRP*> changes; // pended
    std::vector<ULONG> seen;
    ib_phys_create_t wanted{}; // by the last change of pages

    mr_hca() {
        operations.AllocateFrmr = [](HCA_MR* mr, CI_UDATA*, IRP*) {
            mr->Mr.LKey = mr->MaxPages << 8;
            ++of(mr->Pd).regions;
            return STATUS_SUCCESS;
        };
        operations.RegisterPmr = [](HCA_MR* mr, CI_UDATA*, IRP*) {
            mr->Mr.LKey = static_cast<ULONG>(mr->Physical.range_array[0].base_addr);
            ++of(mr->Pd).regions;
            return STATUS_SUCCESS;
        };
        operations.RegisterSmr = [](HCA_MR* mr, CI_UDATA*, IRP*) {
            mr->Mr.LKey = mr->Sharing.h_mr->LKey + 1;
            ++of(mr->Pd).regions;
            return STATUS_SUCCESS;
        };
        operations.ModifyMr = [](HCA_MR* mr, const ib_mr_mod_t* modify, CI_UDATA*, IRP* irp) {
            mr_hca& self = of(mr->Pd);
            self.seen.push_back(modify->opts);
            if (!self.pends) return self.end_of_change;
            IoMarkIrpPending(irp);
            self.changes.push_back(irp);
            return STATUS_PENDING;
        };
        operations.ModifyPmr = [](HCA_MR* mr, const ib_phys_mod_t* modify, CI_UDATA*, IRP*) {
            mr_hca& self = of(mr->Pd);
            self.seen.push_back(modify->opts);
            self.wanted = HcaModifiedPmr(mr, modify);
            return self.end_of_change;
        };
    }
    static mr_hca& of(const HCA_PD* pd) { return static_cast<mr_hca&>(qp_hca::of(pd)); }
};

class MemoryRegions : public BothMachines {
protected:
    ~MemoryRegions() override {
        EXPECT_EQ(deregister_mr(mr), STATUS_SUCCESS);
        EXPECT_EQ(deallocate_pd(other), STATUS_SUCCESS);
    }
    // `change` is read until the verb has completed.
    auto changing(const ib_mr_mod_t& change) const {
        return [this, at = &change](IRP* irp) { return CiModifyMr(mr, at, nullptr, irp); };
    }
    NTSTATUS modify(const ib_mr_mod_t& change) const {
        return verb_call(changing(change)).status();
    }
    auto allocating(ULONG pages, KPROCESSOR_MODE mode = KernelMode) const {
        return [=, this](IRP* irp) {
            irp->RequestorMode = mode;
            return CiAllocateFrmr(opened.pd, pages, nullptr, irp);
        };
    }
    auto registering(const ib_phys_create_t& wanted, KPROCESSOR_MODE mode = KernelMode) const {
        return [=, this, at = &wanted](IRP* irp) {
            irp->RequestorMode = mode;
            return CiRegisterPmr(opened.pd, at, nullptr, irp);
        };
    }
    NTSTATUS share(IB_MR* source, void* at, ib_access_t access) const {
        const ib_smr_create_t wanted{source, at, access};
        return verb_call([&](IRP* irp) { return CiRegisterSmr(opened.pd, &wanted, nullptr, irp); })
            .status();
    }
    const HCA_MR& shared() const { return *reinterpret_cast<const HCA_MR*>(mr); }

    mr_hca hca;
    open_qp opened{hca};
    IB_PD* other = allocate_pd(opened.ca);
    UCHAR bytes[64]{};
    IB_MR* mr = register_mr(opened.pd, bytes, sizeof(bytes), IB_AC_LOCAL_WRITE);
    ib_mr_mod_t to_other{IB_MR_MOD_PD, other, {}};
    ib_mr_mod_t to_range{IB_MR_MOD_ADDR, nullptr, {bytes + 8, 16, 0, 0}};
    ib_mr_mod_t to_rights{IB_MR_MOD_ACCESS, nullptr, {nullptr, 0, IB_AC_RDMA_READ, 0}};
};

TEST_P(MemoryRegions, Change_ReplacesWhatItNames) {
    EXPECT_EQ(modify(to_range), STATUS_SUCCESS);
    EXPECT_EQ(modify(to_rights), STATUS_SUCCESS);
    EXPECT_EQ(shared().Create.vaddr, bytes + 8);
    EXPECT_EQ(shared().Create.length, 16u);
    EXPECT_EQ(shared().Create.access_ctrl, ib_access_t{IB_AC_RDMA_READ});
    EXPECT_EQ(hca.seen, (std::vector<ULONG>{IB_MR_MOD_ADDR, IB_MR_MOD_ACCESS}));
}

TEST_P(MemoryRegions, NewDomain_CountsTheRegionInsteadOfTheFormer) {
    EXPECT_EQ(modify(to_other), STATUS_SUCCESS);
    EXPECT_EQ(shared().Pd, reinterpret_cast<HCA_PD*>(other));
    EXPECT_EQ(deallocate_pd(other), STATUS_DEVICE_BUSY);
    IB_PD* empty = allocate_pd(opened.ca);
    const ib_mr_mod_t back{IB_MR_MOD_PD, empty, {}};
    EXPECT_EQ(modify(back), STATUS_SUCCESS);
    EXPECT_EQ(modify(to_other), STATUS_SUCCESS);
    EXPECT_EQ(deallocate_pd(empty), STATUS_SUCCESS);
}

TEST_P(MemoryRegions, FailedChange_LeavesRegionAndDomains) {
    hca.end_of_change = STATUS_INSUFFICIENT_RESOURCES;
    ib_mr_mod_t all = to_other;
    all.opts = IB_MR_MOD_PD | IB_MR_MOD_ADDR | IB_MR_MOD_ACCESS;
    all.create = {bytes + 8, 16, IB_AC_RDMA_READ, 0};
    EXPECT_EQ(modify(all), STATUS_INSUFFICIENT_RESOURCES);
    EXPECT_EQ(shared().Pd, reinterpret_cast<HCA_PD*>(opened.pd));
    EXPECT_EQ(shared().Create.vaddr, bytes);
    EXPECT_EQ(shared().Create.access_ctrl, ib_access_t{IB_AC_LOCAL_WRITE});
}

TEST_P(MemoryRegions, WrongChange_DoesNotReachTheDriver) {
    for (const ib_mr_mod_t& wrong :
         {ib_mr_mod_t{}, ib_mr_mod_t{IB_MR_MOD_PD, nullptr, {}},
          ib_mr_mod_t{IB_MR_MOD_ADDR, nullptr, {}}, ib_mr_mod_t{16, nullptr, {}}})
        EXPECT_EQ(modify(wrong), STATUS_INVALID_PARAMETER) << wrong.opts;
    EXPECT_TRUE(hca.seen.empty());
}

TEST_P(MemoryRegions, SecondChange_WaitsForTheFirst) {
    hca.pends = true;
    verb_call first(changing(to_range));
    verb_call second(changing(to_rights));
    verb_call third(changing(to_other));
    EXPECT_EQ(hca.seen.size(), 1u);
    third.cancel();
    EXPECT_EQ(third.status(), STATUS_CANCELLED);
    HcaComplete(hca.changes[0], STATUS_SUCCESS, 0);
    EXPECT_EQ(first.status(), STATUS_SUCCESS);
    EXPECT_EQ(shared().Create.vaddr, bytes + 8);
    EXPECT_EQ(hca.seen.size(), 2u);
    HcaComplete(hca.changes[1], STATUS_IO_DEVICE_ERROR, 0);
    EXPECT_EQ(second.status(), STATUS_IO_DEVICE_ERROR);
    EXPECT_EQ(shared().Create.access_ctrl, ib_access_t{IB_AC_LOCAL_WRITE});
}

TEST_P(MemoryRegions, RegionForFastRegistration_IsOfTheKernelOnly) {
    EXPECT_EQ(verb_call(allocating(0)).status(), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(verb_call(allocating(4, UserMode)).status(), STATUS_NOT_SUPPORTED);
    IB_MR* paged = created<IB_MR>(allocating(4));
    EXPECT_EQ(paged->LKey, 0x400u);
    const ib_mr_mod_t change = to_range;
    EXPECT_EQ(modify_mr(paged, change), STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_TRUE(hca.seen.empty());
    EXPECT_EQ(deregister_mr(paged), STATUS_SUCCESS);
    EXPECT_EQ(hca.regions, 1);
}

constexpr ib_phys_range_t two_ranges[] = {{0x5000, 0x1000}, {0x9000, 0x2000}};
constexpr ib_phys_create_t three_pages{0x2FF0, 2, 16, two_ranges, 0x70010, 0x1000, 0};

TEST_P(MemoryRegions, RegionOfPages_HasItsAddressesAndRights) {
    IB_MR* const paged = created<IB_MR>(registering(three_pages));
    EXPECT_EQ(paged->LKey, 0x5000u);
    const auto& seen = *reinterpret_cast<const HCA_MR*>(paged);
    EXPECT_EQ(seen.Create.vaddr, pointer(0x70010));
    EXPECT_EQ(seen.Create.length, three_pages.length);
    EXPECT_EQ(modify_mr(paged, to_rights), STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_EQ(deregister_mr(paged), STATUS_SUCCESS);
}

TEST_P(MemoryRegions, WrongPages_DoNotReachTheDriver) {
    IB_MR* const paged = created<IB_MR>(registering(three_pages));
    const auto refuses = [&](const char* what, auto&& change) {
        ib_phys_create_t wrong = three_pages;
        change(wrong);
        EXPECT_EQ(verb_call(registering(wrong)).status(), STATUS_INVALID_PARAMETER) << what;
        EXPECT_EQ(modify_pmr(paged, {IB_MR_MOD_ADDR, nullptr, wrong}), STATUS_INVALID_PARAMETER)
            << what;
    };
    refuses("no ranges", [](auto& of) { of.num_ranges = 0; });
    refuses("no array", [](auto& of) { of.range_array = nullptr; });
    refuses("no length", [](auto& of) { of.length = 0; });
    refuses("too long by a byte", [](auto& of) { of.length += 1; });
    refuses("2^64 bytes", [](auto& of) { of.length = 0 - ULONGLONG{of.vaddr}; });
    refuses("no page size", [](auto& of) { of.hca_page_size = 0; });
    refuses("no power of two", [](auto& of) { of.hca_page_size = 0x1800; });
    refuses("pages beyond the ranges", [](auto& of) { of.hca_page_size = 0x2000; });
    refuses("another offset", [](auto& of) { of.buf_offset = 17; });
    refuses("an offset beyond the page", [](auto& of) { of.buf_offset = 0x1010; });
    refuses("no address", [](auto& of) { of.vaddr = of.buf_offset = 0; });
    for (const ib_phys_range_t wrong : {ib_phys_range_t{0x9000, 0},
                                        {0x9010, 0x2000},
                                        {0x9000, 0x2010},
                                        {0ull - 0x1000, 0x2000}}) {
        const ib_phys_range_t ranges[] = {two_ranges[0], wrong};
        refuses("a wrong range", [&](auto& of) { of.range_array = ranges; });
    }
    ib_phys_create_t denied = three_pages;
    denied.access_ctrl = IB_AC_RDMA_WRITE;
    EXPECT_EQ(verb_call(registering(denied)).status(), STATUS_ACCESS_DENIED);
    denied.range_array =
        reinterpret_cast<const ib_phys_range_t*>(ULONG_PTR{16}); // of another process
    EXPECT_EQ(verb_call(registering(denied, UserMode)).status(), STATUS_NOT_SUPPORTED);
    EXPECT_TRUE(hca.seen.empty());
    EXPECT_EQ(deregister_mr(paged), STATUS_SUCCESS);
    EXPECT_EQ(hca.regions, 1);
}

constexpr ib_phys_range_t one_range[] = {{0xB000, 0x1000}};
constexpr ib_phys_create_t one_page{0xFE0, 1, 32, one_range, 0x90020, 0x1000, IB_AC_RDMA_READ};

TEST_P(MemoryRegions, ChangeOfPages_ReplacesWhatItNames) {
    IB_MR* const paged = created<IB_MR>(registering(three_pages));
    const auto& now = *reinterpret_cast<const HCA_MR*>(paged);
    EXPECT_EQ(modify_pmr(paged, {IB_MR_MOD_ADDR, nullptr, one_page}), STATUS_SUCCESS);
    EXPECT_EQ(hca.wanted.range_array, one_range);
    EXPECT_EQ(hca.wanted.access_ctrl, three_pages.access_ctrl);
    EXPECT_EQ(now.Create.vaddr, pointer(0x90020));
    EXPECT_EQ(now.Create.length, one_page.length);
    EXPECT_EQ(modify_pmr(paged, {IB_MR_MOD_ACCESS, nullptr, one_page}), STATUS_SUCCESS);
    EXPECT_EQ(now.Create.access_ctrl, ib_access_t{IB_AC_RDMA_READ});
    EXPECT_EQ(now.Physical.access_ctrl, ib_access_t{IB_AC_RDMA_READ});
    EXPECT_EQ(modify_pmr(paged, {IB_MR_MOD_PD, other, three_pages}), STATUS_SUCCESS);
    EXPECT_EQ(hca.wanted.length, one_page.length);
    EXPECT_EQ(now.Pd, reinterpret_cast<HCA_PD*>(other));
    EXPECT_EQ(deallocate_pd(other), STATUS_DEVICE_BUSY);
    EXPECT_EQ(hca.seen, (std::vector<ULONG>{IB_MR_MOD_ADDR, IB_MR_MOD_ACCESS, IB_MR_MOD_PD}));
    EXPECT_EQ(deregister_mr(paged), STATUS_SUCCESS);
}

TEST_P(MemoryRegions, FailedChangeOfPages_LeavesRegionAndDomains) {
    IB_MR* const paged = created<IB_MR>(registering(three_pages));
    const auto& now = *reinterpret_cast<const HCA_MR*>(paged);
    hca.end_of_change = STATUS_INSUFFICIENT_RESOURCES;
    EXPECT_EQ(
        modify_pmr(paged, {IB_MR_MOD_PD | IB_MR_MOD_ADDR | IB_MR_MOD_ACCESS, other, one_page}),
        STATUS_INSUFFICIENT_RESOURCES);
    EXPECT_EQ(now.Pd, reinterpret_cast<HCA_PD*>(opened.pd));
    EXPECT_EQ(now.Create.length, three_pages.length);
    EXPECT_EQ(now.Physical.vaddr, three_pages.vaddr);
    EXPECT_EQ(now.Physical.access_ctrl, three_pages.access_ctrl);
    EXPECT_EQ(deregister_mr(paged), STATUS_SUCCESS);
}

TEST_P(MemoryRegions, WrongChangeOfPages_DoesNotReachTheDriver) {
    IB_MR* const paged = created<IB_MR>(registering(three_pages));
    const ib_phys_mod_t good{IB_MR_MOD_ADDR, nullptr, one_page};
    EXPECT_EQ(modify_pmr(mr, good), STATUS_INVALID_DEVICE_REQUEST);
    for (const ib_phys_mod_t& wrong :
         {ib_phys_mod_t{0, nullptr, one_page}, ib_phys_mod_t{8, nullptr, one_page},
          ib_phys_mod_t{IB_MR_MOD_PD, nullptr, one_page}})
        EXPECT_EQ(modify_pmr(paged, wrong), STATUS_INVALID_PARAMETER) << wrong.opts;
    ib_phys_mod_t denied{IB_MR_MOD_ACCESS, nullptr, one_page};
    denied.create.access_ctrl = IB_AC_RDMA_WRITE;
    EXPECT_EQ(modify_pmr(paged, denied), STATUS_ACCESS_DENIED);
    denied.create.access_ctrl = 0x800;
    EXPECT_EQ(modify_pmr(paged, denied), STATUS_INVALID_PARAMETER);
    verb_call of_a_user([&](IRP* irp) {
        irp->RequestorMode = UserMode;
        return CiModifyPmr(paged, &good, nullptr, irp);
    });
    EXPECT_EQ(of_a_user.status(), STATUS_NOT_SUPPORTED);
    IB_MR* const sharing = register_smr(opened.pd, paged, pointer(0x40010), 0);
    EXPECT_EQ(modify_pmr(sharing, good), STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_EQ(modify_pmr(paged, good), STATUS_DEVICE_BUSY);
    EXPECT_EQ(deregister_mr(sharing), STATUS_SUCCESS);
    EXPECT_TRUE(hca.seen.empty());
    EXPECT_EQ(modify_pmr(paged, good), STATUS_SUCCESS);
    EXPECT_EQ(deregister_mr(paged), STATUS_SUCCESS);
}

TEST_P(MemoryRegions, ChangeOfPages_WithoutTheOperationIsNotSupported) {
    IB_MR* const paged = created<IB_MR>(registering(three_pages));
    hca.operations.ModifyPmr = nullptr;
    irpverbs::ci::complete_operations(hca.operations);
    EXPECT_EQ(modify_pmr(paged, {IB_MR_MOD_ADDR, nullptr, one_page}), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(deregister_mr(paged), STATUS_SUCCESS);
}

TEST_P(MemoryRegions, SharedRegion_HoldsTheOther) {
    IB_MR* const sharing = register_smr(other, mr, bytes + 8, IB_AC_RDMA_READ);
    EXPECT_EQ(sharing->LKey, mr->LKey + 1);
    EXPECT_EQ(reinterpret_cast<const HCA_MR*>(sharing)->Create.length, sizeof(bytes));
    IB_MR* const third = register_smr(opened.pd, sharing, bytes, 0);
    EXPECT_EQ(deregister_mr(mr), STATUS_DEVICE_BUSY);
    EXPECT_EQ(modify_mr(mr, to_range), STATUS_DEVICE_BUSY);
    EXPECT_EQ(modify_mr(third, to_range), STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_EQ(deallocate_pd(other), STATUS_DEVICE_BUSY);
    EXPECT_EQ(deregister_mr(sharing), STATUS_DEVICE_BUSY);
    EXPECT_EQ(deregister_mr(third), STATUS_SUCCESS);
    EXPECT_EQ(deregister_mr(sharing), STATUS_SUCCESS);
    EXPECT_EQ(modify_mr(mr, to_range), STATUS_SUCCESS);
}

TEST_P(MemoryRegions, WrongSharing_DoesNotReachTheDriver) {
    IB_MR* const paged = created<IB_MR>(allocating(4));
    EXPECT_EQ(share(nullptr, bytes, 0), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(share(paged, bytes, 0), STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_EQ(share(mr, nullptr, 0), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(share(mr, pointer(~ULONG_PTR{0}), 0), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(share(mr, bytes, 0x800), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(share(mr, bytes, IB_AC_ATOMIC), STATUS_ACCESS_DENIED);
    EXPECT_EQ(hca.regions, 2);
    EXPECT_EQ(deregister_mr(paged), STATUS_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(MemoryRegions);

} // namespace
