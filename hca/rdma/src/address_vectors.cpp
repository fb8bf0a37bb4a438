#include "address_vectors.hpp"

#include "adapter.hpp"
#include "failure.hpp"
#include "memory_verbs.hpp"

#include <climits>
#include <cstring>
#include <endian.h>
#include <new>

namespace irpverbs::hca_rdma {

namespace {

verbs_context& context_of(const HCA_AV* av) { return adapter::of(av->Pd->Ca->Device).context(); }

bool equal(const ibv_ah_attr& one, const ibv_ah_attr& other) {
    return std::memcmp(&one, &other, sizeof(one)) == 0;
}

} // namespace

bool has_good_gid(const ib_av_attr_t& way) {
    return way.grh_valid == FALSE || way.grh.sgid_index <= UCHAR_MAX;
}

ibv_gid as_libibverbs(const ib_gid_t& from) {
    ibv_gid made{};
    made.global.subnet_prefix = htobe64(from.gid_prefix);
    made.global.interface_id = htobe64(from.gid_guid);
    return made;
}

// Padding is 0, since attributes are compared.
ibv_ah_attr as_libibverbs(const ib_av_attr_t& from) {
    ibv_ah_attr made;
    std::memset(&made, 0, sizeof(made));
    made.dlid = from.dlid;
    made.sl = from.sl;
    made.src_path_bits = from.path_bits;
    made.static_rate = from.static_rate;
    made.port_num = from.port_num;
    if (from.grh_valid == FALSE) return made;
    made.is_global = 1;
    made.grh.dgid = as_libibverbs(from.grh.dest_gid);
    made.grh.flow_label = from.grh.flow_label;
    made.grh.sgid_index = static_cast<std::uint8_t>(from.grh.sgid_index);
    made.grh.hop_limit = from.grh.hop_limit;
    made.grh.traffic_class = from.grh.traffic_class;
    return made;
}

ib_av_attr_t from_libibverbs(const ibv_ah_attr& from) {
    ib_av_attr_t made{};
    made.dlid = from.dlid;
    made.sl = from.sl;
    made.path_bits = from.src_path_bits;
    made.static_rate = from.static_rate;
    made.port_num = from.port_num;
    if (from.is_global == 0) return made;
    made.grh_valid = TRUE;
    made.grh.dest_gid = {be64toh(from.grh.dgid.global.subnet_prefix),
                         be64toh(from.grh.dgid.global.interface_id)};
    made.grh.flow_label = from.grh.flow_label;
    made.grh.sgid_index = from.grh.sgid_index;
    made.grh.hop_limit = from.grh.hop_limit;
    made.grh.traffic_class = from.grh.traffic_class;
    return made;
}

/// The handles of an address vector: libibverbs can't modify one, and work requests that were
/// posted with an earlier one may still be outstanding. One call at a time.
class address_handles {
public:
    address_handles(const verbs_context& context, ibv_pd* domain)
        : context_(context), domain_(domain) {}
    ~address_handles() {
        for (const entry& each : entries_)
            context_.verbs().destroy_ah(each.handle);
    }
    address_handles(const address_handles&) = delete;
    address_handles& operator=(const address_handles&) = delete;

    NTSTATUS find(const ib_av_attr_t& way, ibv_ah*& found) {
        if (!has_good_gid(way)) return STATUS_INVALID_PARAMETER;
        ibv_ah_attr attr = as_libibverbs(way);
        for (const entry& each : entries_)
            if (equal(each.attr, attr)) {
                found = each.handle;
                return STATUS_SUCCESS;
            }
        entries_.reserve(entries_.size() + 1);
        found = context_.verbs().create_ah(domain_, &attr);
        if (const int error = failure_of(found); error != 0) return context_.failure(error);
        entries_.push_back({as_libibverbs(way), found}); // libibverbs may have changed `attr`
        return STATUS_SUCCESS;
    }

private:
    struct entry {
        ibv_ah_attr attr;
        ibv_ah* handle;
    };

    const verbs_context& context_;
    ibv_pd* domain_;
    std::vector<entry> entries_;
};

NTSTATUS create_av(HCA_AV* av, CI_UDATA* user, PIRP irp) try {
    HcaCopyUserData(user, nullptr, 0);
    auto handles = std::make_unique<address_handles>(context_of(av), extension_of(av->Pd).domain);
    ibv_ah* found = nullptr;
    const NTSTATUS status = handles->find(av->Av.Attr, found);
    if (!NT_SUCCESS(status)) return status;
    if (irp->Cancel != FALSE) return STATUS_CANCELLED; // during the call of the kernel
    extension_of(av).current = found;
    extension_of(av).handles = handles.release();
    return STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS destroy_av(HCA_AV* av, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    delete extension_of(av).handles;
    return STATUS_SUCCESS;
}

NTSTATUS modify_av(HCA_AV* av, const ib_av_attr_t* attr, CI_UDATA* user, PIRP) try {
    HcaCopyUserData(user, nullptr, 0);
    ibv_ah* found = nullptr;
    const NTSTATUS status = extension_of(av).handles->find(*attr, found);
    if (!NT_SUCCESS(status)) return status;
    extension_of(av).current.store(found, std::memory_order_release);
    av->Av.Attr = *attr;
    return STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS query_av(HCA_AV* av, ib_av_query_t* attr, SIZE_T size, CI_UDATA* user, PIRP irp) {
    HcaCopyUserData(user, nullptr, 0);
    const ib_av_query_t made{sizeof(made), &av->Pd->Pd, av->Av.Attr};
    return HcaCopyAttributes(&made, sizeof(made), attr, size, irp);
}

} // namespace irpverbs::hca_rdma
