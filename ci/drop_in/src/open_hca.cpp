#include <drop_in/open_hca.hpp>

#include <drop_in/verb_call.hpp>

#include <dispatch/status.hpp>
#include <dispatch/support/spin_lock.hpp>

#include <map>
#include <memory>

namespace irpverbs::drop_in {

namespace {

DEVICE_OBJECT* attached(const device& which) {
    DEVICE_OBJECT* const fdo = fdo_of(which);
    if (fdo == nullptr) throw dispatch::status_error(STATUS_NO_SUCH_DEVICE);
    return fdo;
}

IB_CA* opened(DEVICE_OBJECT* fdo, void* context, const IB_CA_DISPATCH* up_calls) {
    const verb_result result =
        call_verb(fdo, [=](IRP* irp) { CiOpenCa(fdo, context, up_calls, nullptr, irp); });
    if (!NT_SUCCESS(result.status)) throw dispatch::status_error(result.status);
    return reinterpret_cast<IB_CA*>(result.information);
}

} // namespace

open_hca::open_hca(const device& which, void* context, const IB_CA_DISPATCH* up_calls)
    : fdo_(attached(which)), ca_(opened(fdo_, context, up_calls)) {}

open_hca::~open_hca() {
    call_verb(fdo_, [this](IRP* irp) { CiCloseCa(ca_, nullptr, irp); });
}

std::vector<UCHAR> open_hca::attributes() const {
    std::vector<UCHAR> block(2048);
    for (;;) {
        auto* const attr = reinterpret_cast<IB_CA_ATTR*>(block.data());
        const verb_result result =
            call_verb(fdo_, [&](IRP* irp) { CiQueryCa(ca_, block.size(), attr, irp); });
        if (result.status == STATUS_BUFFER_OVERFLOW) {
            block.resize(attr->Size);
            continue;
        }
        if (!NT_SUCCESS(result.status)) throw dispatch::status_error(result.status);
        return block;
    }
}

namespace {

/// The HCAs that are kept open. They are never closed: a program may call exit anywhere.
struct kept_hcas {
    KSPIN_LOCK lock = 0; // guards the map
    std::map<ib_guid_t, std::shared_ptr<open_hca>> all;
};

kept_hcas& kept() {
    static kept_hcas* const only = new kept_hcas;
    return *only;
}

std::shared_ptr<open_hca> find_kept(const device& which) {
    const dispatch::detail::spin_guard guard(kept().lock);
    return kept().all[which.guid];
}

void keep(const device& which, std::shared_ptr<open_hca> hca) {
    const dispatch::detail::spin_guard guard(kept().lock);
    kept().all[which.guid].swap(hca);
}

} // namespace

// The lock needs the machine, which the first device starts.
std::vector<UCHAR> attributes_of(const device& which) {
    attached(which);
    const std::shared_ptr<open_hca> before = find_kept(which);
    try {
        if (before != nullptr) return before->attributes();
    } catch (const dispatch::status_error&) {
        keep(which, nullptr);
    }
    auto opened = std::make_shared<open_hca>(which);
    std::vector<UCHAR> block = opened->attributes();
    keep(which, std::move(opened));
    return block;
}

} // namespace irpverbs::drop_in
