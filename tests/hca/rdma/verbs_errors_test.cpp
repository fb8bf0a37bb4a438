// Each call of libibverbs fails in each way: verbs complete, and no object is left. The fake's
// destructor checks for left objects.
#include "verbs_hcas.hpp"

#include <cerrno>

namespace {

using namespace irpverbs::testing;
using call = fake_verbs;

/// Makes every call that a client makes, as far as it gets.
class client {
public:
    void run() {
        const rdma_hcas hcas;
        const DEVICE_OBJECT* fdo = rdma_hcas::fdo(verbs_kernel::guid);
        if (hcas.count() == 0 || fdo == nullptr) {
            EXPECT_FALSE(hcas.problem.empty() && hcas.status != STATUS_SUCCESS);
            return;
        }
        verb_call open([](IRP* irp) {
            return CiOpenCa(rdma_hcas::fdo(verbs_kernel::guid), nullptr, nullptr, nullptr, irp);
        });
        if (open.status() != STATUS_SUCCESS) return;
        use(open.object<IB_CA>());
        EXPECT_EQ(close_ca(open.object<IB_CA>()), STATUS_SUCCESS);
    }

private:
    static void use(IB_CA* ca) {
        IB_CA_ATTR attr{};
        status_of([&](IRP* irp) { return CiQueryCa(ca, sizeof(attr), &attr, irp); });
        std::array<std::uint64_t, 512> block{};
        status_of([&](IRP* irp) {
            return CiQueryPort(ca, 1, sizeof(block), reinterpret_cast<IB_PORT_ATTR*>(block.data()),
                               irp);
        });
        verb_call create(creating(ca));
        if (create.status() != STATUS_SUCCESS) return;
        use(create.object<IB_CQ>());
        EXPECT_EQ(destroy_cq(create.object<IB_CQ>()), STATUS_SUCCESS);
    }
    static void use(IB_CQ* cq) {
        IB_WC entry{};
        status_of(resizing(cq, 8));
        status_of(arming(cq));
        status_of([&](IRP* irp) { return CiPollCq(cq, 1, &entry, irp); });
    }
};

class VerbsErrors : public BothMachines {};

TEST_P(VerbsErrors, FailureOfAnyCall_ReleasesAllObjects) {
    for (int which = 0; which < call::call_count; ++which)
        for (const int error : {EINVAL, ENOMEM, ENOSYS, EACCES, EIO, ENODEV, EPERM, 524})
            for (const call::failure& reported :
                 {call::by_errno(error), call::positive(error), call::negative(error)}) {
                verbs_kernel kernel;
                // One failure only, since an object that the kernel never destroys stays.
                kernel.verbs.fail(static_cast<call::call>(which), {reported});
                client().run();
                kernel.verbs.fail(static_cast<call::call>(which), {{}, reported});
                client().run();
            }
}

IRPVERBS_ON_BOTH_MACHINES(VerbsErrors);

} // namespace
