#include "memory_verbs.hpp"

#include "adapter.hpp"

#include <ci/support/address_space.hpp>
#include <ci/support/requestor.hpp>

#include <memory>

namespace irpverbs::hca_software {

namespace {

adapter& adapter_of(const HCA_PD* pd) { return adapter::of(pd->Ca->Device); }

constexpr ULONG page_tag = 0x67707773; // "swpg"

// Finds the memory of a region, which may be that of another process. `range` is that of its keys.
NTSTATUS find_range(const HCA_PD* pd, const ib_mr_create_t& region, const IRP* irp,
                    key_range& range) {
    if (region.length > max_mr_size) return STATUS_INVALID_PARAMETER;
    if (const MDL* mapped = ci::mapped_region(irp); mapped != nullptr) {
        range = {pd, HcaMrBase(&region), region.length, MmGetMdlVirtualAddress(mapped),
                 region.access_ctrl};
        return region.length <= MmGetMdlByteCount(mapped) ? STATUS_SUCCESS
                                                          : STATUS_INVALID_PARAMETER;
    }
    const ci::address_space* client = ci::client_memory(pd->Ca);
    const bool is_here = client == nullptr || client == &ci::address_space::own();
    if (is_here && ci::is_of_another_process(irp)) return STATUS_NOT_SUPPORTED;
    void* memory = client != nullptr ? client->place_of(region.vaddr, region.length) : region.vaddr;
    range = {pd, HcaMrBase(&region), region.length, memory, region.access_ctrl};
    return client == nullptr || memory != nullptr ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

void set_keys(HCA_MR* mr, ULONG key, ib_access_t access) {
    mr->Mr.LKey = key;
    mr->Mr.RKey = (access & IB_AC_REMOTE) != 0 ? key : 0;
}

// Rights for pages. Windows are not bound to these, and nothing is paged.
constexpr ib_access_t rights_of_pages = IB_AC_REMOTE | IB_AC_LOCAL_WRITE;

struct free_pages {
    void operator()(page_address* pages) const { ExFreePoolWithTag(pages, page_tag); }
};
using page_list = std::unique_ptr<page_address[], free_pages>;

// Null without memory.
page_list allocate_pages(ULONGLONG count) {
    page_list made(static_cast<page_address*>(
        ExAllocatePool2(POOL_FLAG_NON_PAGED, count * sizeof(page_address), page_tag)));
    if (made != nullptr) std::uninitialized_value_construct_n(made.get(), count);
    return made;
}

NTSTATUS check_limits(const ib_phys_create_t& region) {
    if (region.length > max_mr_size || region.hca_page_size != page_size)
        return STATUS_INVALID_PARAMETER;
    return (region.access_ctrl & ~rights_of_pages) != 0 ? STATUS_NOT_SUPPORTED : STATUS_SUCCESS;
}

// Null without memory.
page_list list_pages(const HCA_PD* pd, const ib_phys_create_t& region) {
    const ci::address_space* const in = ci::client_memory(pd->Ca);
    const ULONGLONG count = (region.buf_offset + region.length + page_size - 1) / page_size;
    page_list pages = allocate_pages(count);
    if (pages == nullptr) return pages;
    const ib_phys_range_t* range = region.range_array;
    ULONGLONG offset = 0;
    for (ULONGLONG i = 0; i < count; ++i, offset += page_size) {
        if (offset == range->size) {
            ++range;
            offset = 0;
        }
        pages[i].store(place_of_page(range->base_addr + offset, in), std::memory_order_relaxed);
    }
    return pages;
}

} // namespace

NTSTATUS allocate_pd(HCA_PD* pd, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    return adapter_of(pd).pds().add() ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS deallocate_pd(HCA_PD* pd, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    adapter_of(pd).pds().remove();
    return STATUS_SUCCESS;
}

// Nothing locks the pages in memory, so IB_AC_ON_DEMAND has no effect.
NTSTATUS register_mr(HCA_MR* mr, CI_UDATA* user, PIRP irp) {
    HcaCopyUserData(user, nullptr, 0);
    const ib_mr_create_t& region = mr->Create;
    key_range range{};
    if (const NTSTATUS status = find_range(mr->Pd, region, irp, range); !NT_SUCCESS(status))
        return status;
    const ULONG key = adapter_of(mr->Pd).keys().insert(range, &holder_of(mr));
    if (key == 0) return STATUS_INSUFFICIENT_RESOURCES;
    set_keys(mr, key, region.access_ctrl);
    return STATUS_SUCCESS;
}

// Without memory, peers and work requests have no rights.
NTSTATUS allocate_frmr(HCA_MR* mr, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    if (mr->MaxPages > max_fast_pages) return STATUS_INVALID_PARAMETER;
    page_list pages = allocate_pages(mr->MaxPages);
    if (pages == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    const ULONG key =
        adapter_of(mr->Pd).keys().insert_paged(mr->Pd, pages.get(), mr->MaxPages, holder_of(mr));
    if (key == 0) return STATUS_INSUFFICIENT_RESOURCES;
    static_cast<void>(pages.release()); // until deregister_mr
    mr->Mr.LKey = mr->Mr.RKey = key;
    return STATUS_SUCCESS;
}

NTSTATUS register_pmr(HCA_MR* mr, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    const ib_phys_create_t& region = mr->Physical;
    if (const NTSTATUS status = check_limits(region); !NT_SUCCESS(status)) return status;
    page_list pages = list_pages(mr->Pd, region);
    if (pages == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    const key_range range{mr->Pd, region.vaddr, region.length, nullptr, region.access_ctrl};
    const ULONG key = adapter_of(mr->Pd).keys().insert_physical(range, pages.get(), holder_of(mr));
    if (key == 0) return STATUS_INSUFFICIENT_RESOURCES;
    static_cast<void>(pages.release()); // until deregister_mr
    set_keys(mr, key, mr->Create.access_ctrl);
    return STATUS_SUCCESS;
}

// The list of pages is read by offsets in pages, so that of the first byte stays.
NTSTATUS register_smr(HCA_MR* mr, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    const key_holder& other = holder_of(*mr->Sharing.h_mr);
    const ULONGLONG base = HcaMrBase(&mr->Create);
    if (other.kind == key_kind::physical) {
        if ((mr->Create.access_ctrl & ~rights_of_pages) != 0) return STATUS_NOT_SUPPORTED;
        if (((base ^ other.range.base) & (page_size - 1)) != 0) return STATUS_INVALID_PARAMETER;
    }
    const key_range range{mr->Pd, base, 0, nullptr, mr->Create.access_ctrl};
    const ULONG key = adapter_of(mr->Pd).keys().insert_shared(other, range, holder_of(mr));
    if (key == 0) return STATUS_INSUFFICIENT_RESOURCES;
    set_keys(mr, key, mr->Create.access_ctrl);
    return STATUS_SUCCESS;
}

// The key stays, so peers that know it need not learn another one.
NTSTATUS modify_mr(HCA_MR* mr, const ib_mr_mod_t* modify, CI_UDATA* user, PIRP irp) {
    HcaCopyUserData(user, nullptr, 0);
    const ib_mr_create_t region = HcaModifiedMr(mr, modify);
    key_range range{};
    const NTSTATUS status = find_range(HcaModifiedPd(mr, modify), region, irp, range);
    if (!NT_SUCCESS(status)) return status;
    adapter& self = adapter_of(mr->Pd);
    key_holder& holder = holder_of(mr);
    if (!self.keys().try_change(holder, range)) return STATUS_DEVICE_BUSY;
    self.accesses().wait();
    set_keys(mr, self.keys().key_of(holder), region.access_ctrl);
    return STATUS_SUCCESS;
}

// The key stays, too. No window is bound to pages. The former list is freed when the accesses that
// may have found it have ended.
NTSTATUS modify_pmr(HCA_MR* mr, const ib_phys_mod_t* modify, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    const ib_phys_create_t region = HcaModifiedPmr(mr, modify);
    if (const NTSTATUS status = check_limits(region); !NT_SUCCESS(status)) return status;
    const bool has_new_pages = (modify->opts & IB_MR_MOD_ADDR) != 0;
    page_list pages = has_new_pages ? list_pages(mr->Pd, region) : nullptr;
    if (has_new_pages && pages == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    const key_range range{HcaModifiedPmrPd(mr, modify), region.vaddr, region.length, nullptr,
                          region.access_ctrl};
    adapter& self = adapter_of(mr->Pd);
    key_holder& holder = holder_of(mr);
    const page_list former(self.keys().change_physical(range, pages.release(), holder));
    self.accesses().wait();
    set_keys(mr, self.keys().key_of(holder), region.access_ctrl);
    return STATUS_SUCCESS;
}

NTSTATUS deregister_mr(HCA_MR* mr, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    if (!adapter_of(mr->Pd).keys().try_remove(holder_of(mr))) return STATUS_DEVICE_BUSY;
    adapter_of(mr->Pd).accesses().wait();
    if (page_address* pages = holder_of(mr).pages) ExFreePoolWithTag(pages, page_tag);
    return STATUS_SUCCESS;
}

NTSTATUS query_mr(HCA_MR* mr, ib_mr_attr_t* attr, SIZE_T size, CI_UDATA* user, PIRP irp) {
    HcaCopyUserData(user, nullptr, 0);
    const key_holder now = adapter_of(mr->Pd).keys().state_of(holder_of(mr));
    const bool is_paged = now.kind == key_kind::paged;
    ib_mr_attr_t made{};
    made.size = sizeof(made);
    made.access_ctrl = is_paged ? now.range.access : mr->Create.access_ctrl;
    made.h_pd = &mr->Pd->Pd;
    made.local_lb = is_paged ? now.range.base : HcaMrBase(&mr->Create);
    made.local_ub = made.local_lb + (is_paged ? now.range.length : mr->Create.length);
    made.lkey = now.key;
    if ((made.access_ctrl & IB_AC_REMOTE) != 0) {
        made.remote_lb = made.local_lb;
        made.remote_ub = made.local_ub;
        made.rkey = made.lkey;
    }
    return HcaCopyAttributes(&made, sizeof(made), attr, size, irp);
}

} // namespace irpverbs::hca_software
