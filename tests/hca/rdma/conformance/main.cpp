// The conformance suite over the rdma driver with the scripted kernel: "rdma-fake:".
#include "../verbs_hcas.hpp"

#include "async_events.hpp"

#include <ci/driver.h>
#include <conformance/conformance.h>

#include <cstdio>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

/// A kernel with one device of two ports, and the HCA on it. No wire carries datagrams, so the HCA
/// has no management side, like siw's.
struct fake_machine {
    fake_machine() {
        kernel.cas.clear();
        kernel.verbs.add("rxe0", verbs_kernel::guid, 2);
        now = this;
    }
    ~fake_machine() { now = nullptr; }
    fake_machine(const fake_machine&) = delete;
    fake_machine& operator=(const fake_machine&) = delete;

    static inline fake_machine* now = nullptr;
    verbs_kernel kernel;
    std::unique_ptr<hca_rdma::attachment> made;
};

NTSTATUS attach(const char* location, ULONG* count, void** handle, char* message, SIZE_T size) {
    auto fake = std::make_unique<fake_machine>();
    NTSTATUS status = STATUS_UNSUCCESSFUL;
    std::string problem;
    fake->made =
        hca_rdma::attachment::make(fake_umad::as_os_interface(), location, status, problem);
    std::snprintf(message, size, "%s", problem.c_str());
    if (fake->made == nullptr) return status;
    *count = fake->made->count();
    *handle = fake.release();
    return STATUS_SUCCESS;
}

NTSTATUS detach(void* handle) {
    auto* leaving = static_cast<fake_machine*>(handle);
    const NTSTATUS status = leaving->made->refuse_opens();
    if (!NT_SUCCESS(status)) return status;
    leaving->made.reset();
    delete leaving;
    return STATUS_SUCCESS;
}

HCA_DRIVER driver = {"rdma-fake", attach, detach, nullptr};

NTSTATUS raise(ib_guid_t, UCHAR port, IB_ASYNC_EVENT event) {
    for (int type = IBV_EVENT_PORT_ACTIVE; type <= IBV_EVENT_GID_CHANGE; ++type)
        if (hca_rdma::event_of(static_cast<ibv_event_type>(type)) == event) {
            fake_machine::now->kernel.raise(static_cast<ibv_event_type>(type), port);
            return STATUS_SUCCESS;
        }
    return STATUS_NOT_SUPPORTED;
}

NTSTATUS fail(ib_guid_t) {
    fake_machine::now->kernel.remove("rxe0");
    return STATUS_SUCCESS;
}

NTSTATUS complete(IB_CQ* cq, const IB_WC* completion) {
    ibv_wc entry = wc(completion->WrId, static_cast<ibv_wc_status>(completion->Status));
    entry.qp_num = completion->QpNumber;
    const bool solicited = (completion->Flags & IB_WC_SOLICITED) != 0;
    const bool taken =
        fake_machine::now->kernel.verbs.complete(name_of_queue(cq), entry, solicited);
    return taken ? STATUS_SUCCESS : STATUS_BUFFER_OVERFLOW;
}

} // namespace

int main(int argc, char** argv) {
    HcaRegisterDriver(&driver);
    constexpr CONFORMANCE_ADAPTER adapter = {
        .Scheme = "rdma-fake",
        .Variants = nullptr,
        .VariantCount = 0,
        .RealOnly = FALSE,
        .RaisePortEvent = raise,
        .Fail = fail,
        .Complete = complete,
    };
    return ConformanceMain(argc, argv, &adapter, 1);
}
