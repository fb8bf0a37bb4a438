// The conformance suite over the rdma driver, with a kernel module that raises the events that the
// cases need. Runs in the guest, with --events.
#include "raise_event.hpp"

#include "async_events.hpp"

#include <ci/ci.h>
#include <conformance/conformance.h>
#include <hca/hca.h>

#include <array>

namespace {

using namespace irpverbs;

std::string name_of(ib_guid_t guid) {
    std::array<char, 64> name{};
    HcaName(guid, name.data(), static_cast<ULONG>(name.size()));
    return name.data();
}

// Raises all port events but GID_CHANGE, which the kernel raises itself when the table changes.
NTSTATUS raise(ib_guid_t guid, UCHAR port, IB_ASYNC_EVENT event) {
    for (int type = IBV_EVENT_PORT_ACTIVE; type < IBV_EVENT_GID_CHANGE; ++type)
        if (hca_rdma::event_of(static_cast<ibv_event_type>(type)) == event) {
            irpverbs::testing::raise_event(name_of(guid), "port", port, type);
            return STATUS_SUCCESS;
        }
    return STATUS_NOT_SUPPORTED;
}

NTSTATUS fail(ib_guid_t guid) {
    irpverbs::testing::raise_event(name_of(guid), "port", 1, IBV_EVENT_DEVICE_FATAL);
    return STATUS_SUCCESS;
}

} // namespace

int main(int argc, char** argv) {
    CONFORMANCE_ADAPTER rdma{};
    rdma.Scheme = "rdma";
    rdma.RealOnly = TRUE;
    rdma.RaisePortEvent = raise;
    rdma.Fail = fail;
    return ConformanceMain(argc, argv, &rdma, 1);
}
