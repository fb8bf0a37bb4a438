#include <drop_in/open_hca.hpp>

#include <drop_in/verb_call.hpp>

#include <dispatch/status.hpp>

namespace irpverbs::drop_in {

namespace {

IB_CA* opened(DEVICE_OBJECT* fdo) {
    const verb_result result =
        call_verb(fdo, [fdo](IRP* irp) { CiOpenCa(fdo, nullptr, nullptr, nullptr, irp); });
    if (!NT_SUCCESS(result.status)) throw dispatch::status_error(result.status);
    return reinterpret_cast<IB_CA*>(result.information);
}

} // namespace

open_hca::open_hca(const device& which) : fdo_(which.fdo), ca_(opened(which.fdo)) {}

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

} // namespace irpverbs::drop_in
