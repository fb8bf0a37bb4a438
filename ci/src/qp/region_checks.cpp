// Checks of memory regions whose memory is physical pages, or that of another region.
#include "create_checks.hpp"

#include <limits>

namespace irpverbs::ci {

namespace {

// The bytes of the ranges, as far as `needed`; 0: one of them is wrong.
ULONGLONG size_of_ranges(const ib_phys_create_t& create, ULONGLONG needed) {
    const ULONGLONG offset_mask = create.hca_page_size - ULONGLONG{1};
    ULONGLONG size = 0;
    for (ULONG i = 0; i < create.num_ranges; ++i) {
        const ib_phys_range_t& range = create.range_array[i];
        const bool ends = range.size - 1 <= std::numeric_limits<ULONGLONG>::max() - range.base_addr;
        if (range.size == 0 || !ends || ((range.base_addr | range.size) & offset_mask) != 0)
            return 0;
        size = range.size < needed - size ? size + range.size : needed;
    }
    return size;
}

const HCA_MR* source_of(const ib_smr_create_t& create) {
    return reinterpret_cast<const HCA_MR*>(create.h_mr);
}

} // namespace

ib_mr_create_t virtual_part(const ib_phys_create_t& create) {
    return {reinterpret_cast<VOID*>(ULONG_PTR{create.vaddr}), create.length, create.access_ctrl, 0};
}

ib_mr_create_t virtual_part(const ib_smr_create_t& create) {
    return {create.vaddr, source_of(create)->Create.length, create.access_ctrl, 0};
}

NTSTATUS check_physical_region(const ib_phys_create_t& create) {
    const ULONG page = create.hca_page_size;
    if (create.range_array == nullptr || create.num_ranges == 0 || create.length == 0 ||
        page == 0 || (page & (page - 1)) != 0 || create.buf_offset >= page ||
        (create.vaddr & (page - 1)) != create.buf_offset)
        return STATUS_INVALID_PARAMETER;
    const NTSTATUS status = check_region(virtual_part(create));
    if (status == STATUS_INVALID_PARAMETER) return status;
    // The offset is at most the address, behind which the region ends: the sum may be 2^64, not
    // more.
    const ULONGLONG needed = create.buf_offset + create.length;
    const bool fits = needed != 0 && size_of_ranges(create, needed) == needed;
    return fits ? status : STATUS_INVALID_PARAMETER;
}

NTSTATUS check_shared_region(const HCA_PD& pd, const ib_smr_create_t& create) {
    const HCA_MR* const source = source_of(create);
    if (source == nullptr || source->Pd->Ca != pd.Ca) return STATUS_INVALID_PARAMETER;
    if (source->MaxPages != 0) return STATUS_INVALID_DEVICE_REQUEST;
    return check_region(virtual_part(create));
}

} // namespace irpverbs::ci
