// The HCA that a verbs device and a management device form together, and the messages when they do
// not match.
#include "verbs_hcas.hpp"

#include "failure.hpp"

#include <cerrno>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;
using call = fake_verbs;

class VerbsAttach : public BothMachines {
protected:
    verbs_kernel kernel;
};

TEST_P(VerbsAttach, DeviceWithUmadAndVerbs_IsOneHca) {
    const rdma_hcas hcas;
    EXPECT_EQ(hcas.count(), 1u);
    IB_CA* ca = open_ca(rdma_hcas::fdo(kernel.guid));
    EXPECT_EQ(destroy_cq(create_cq(ca)), STATUS_SUCCESS);
    EXPECT_EQ(rdma_agent(ca).status, STATUS_SUCCESS);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

TEST_P(VerbsAttach, DevicesOfBothKinds_AreAllAttached) {
    kernel.cas["umad0"].guid = 0x5000;
    kernel.verbs.add("siw0", 0x4000);
    const rdma_hcas hcas;
    EXPECT_EQ(hcas.count(), 3u);
    for (const ib_guid_t guid : {kernel.guid, ib_guid_t{0x4000}, ib_guid_t{0x5000}})
        EXPECT_NE(rdma_hcas::fdo(guid), nullptr);
}

// Like siw: libibumad has no such device.
TEST_P(VerbsAttach, DeviceWithoutUmad_HasQueuesButNoAgents) {
    kernel.cas.clear();
    const rdma_hcas hcas("rxe0");
    EXPECT_EQ(hcas.count(), 1u);
    IB_CA* ca = open_ca(rdma_hcas::fdo(kernel.guid));
    EXPECT_EQ(rdma_agent(ca).status, STATUS_NOT_SUPPORTED);
    EXPECT_EQ(destroy_cq(create_cq(ca)), STATUS_SUCCESS);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

// libibumad would print a complaint about the device on standard error.
TEST_P(VerbsAttach, IwarpDevice_HasNoAgents) {
    kernel.files["/sys/class/infiniband/rxe0/node_type"] = "4: RNIC";
    const open_verbs hca;
    EXPECT_EQ(rdma_agent(hca.ca).status, STATUS_NOT_SUPPORTED);
}

// A kernel without ib_umad lists the device but has no file of it.
TEST_P(VerbsAttach, UmadModuleMissing_AgentsAreNotSupported) {
    kernel.has_umad = false;
    const open_verbs hca;
    EXPECT_EQ(rdma_agent(hca.ca).status, STATUS_NOT_SUPPORTED);
}

TEST_P(VerbsAttach, PortWithoutUmad_AgentsAreNotSupported) {
    kernel.cas["rxe0"].ports.resize(2);
    kernel.verbs.add("rxe0", kernel.guid, 2);
    kernel.port_without_umad = 2;
    const open_verbs hca;
    IB_MAD_AGENT_ATTR attr = sa_agent();
    EXPECT_EQ(rdma_agent(hca.ca, attr).status, STATUS_SUCCESS);
    attr.PortNumber = 2;
    EXPECT_EQ(rdma_agent(hca.ca, attr).status, STATUS_NOT_SUPPORTED);
    EXPECT_EQ(port_block(hca.ca, 2)->State, IB_PORT_ACTIVE);
}

TEST_P(VerbsAttach, DeviceWithoutVerbs_HasAgentsButNoQueues) {
    kernel.verbs.change([](fake_verbs& all) { all.at("rxe0").listed = false; });
    const open_verbs hca;
    EXPECT_EQ(status_of(creating(hca.ca)), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(rdma_agent(hca.ca).status, STATUS_SUCCESS);
}

TEST_P(VerbsAttach, KernelWithoutVerbs_HasManagementOnly) {
    kernel.verbs.fail(call::get_device_list, {call::by_errno(ENOSYS), call::by_errno(ENOSYS)});
    const open_verbs hca;
    EXPECT_EQ(status_of(creating(hca.ca)), STATUS_NOT_SUPPORTED);
}

// The name went to another device between the two reads.
TEST_P(VerbsAttach, SameNameWithOtherGuid_IsOtherDevice) {
    kernel.cas["rxe0"].guid = 0x7000;
    const rdma_hcas hcas;
    EXPECT_EQ(hcas.count(), 1u);
    EXPECT_EQ(rdma_hcas::fdo(0x7000), nullptr);
    IB_CA* ca = open_ca(rdma_hcas::fdo(kernel.guid));
    EXPECT_EQ(rdma_agent(ca).status, STATUS_NOT_SUPPORTED);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

TEST_P(VerbsAttach, VerbsFileNotAccessible_MessageNamesFile) {
    kernel.verbs.fail(call::open_device, {call::by_errno(EACCES)});
    const rdma_hcas hcas;
    EXPECT_EQ(hcas.status, STATUS_ACCESS_DENIED);
    EXPECT_EQ(hcas.problem, "/dev/infiniband/uverbs0: Permission denied: it must be readable and "
                            "writable (by root, or by a udev rule)");
}

// libibverbs searches elsewhere for a file that it may not open, and returns ENOENT.
TEST_P(VerbsAttach, InaccessibleFileReportedAsMissing_MessageNamesFile) {
    const rdma_hcas there;
    kernel.verbs_file_error = EPERM;
    for (int times = 0; times < 2; ++times) {
        kernel.verbs.fail(call::open_device, {call::by_errno(ENOENT)});
        const auto open = [](IRP* irp) {
            return CiOpenCa(rdma_hcas::fdo(verbs_kernel::guid), nullptr, nullptr, nullptr, irp);
        };
        EXPECT_EQ(status_of(open), STATUS_ACCESS_DENIED); // and the device is not marked as failed
    }
    kernel.verbs.fail(call::open_device, {call::by_errno(ENOENT)});
    const rdma_hcas hcas;
    EXPECT_EQ(hcas.status, STATUS_ACCESS_DENIED);
    EXPECT_EQ(hcas.problem, "/dev/infiniband/uverbs0: Operation not permitted: it must be readable "
                            "and writable (by root, or by a udev rule)");
}

TEST_P(VerbsAttach, OtherFailure_MessageNamesError) {
    kernel.verbs.fail(call::query_device, {call::negative(ENOMEM)});
    const rdma_hcas hcas;
    EXPECT_EQ(hcas.status, STATUS_INSUFFICIENT_RESOURCES);
    EXPECT_EQ(hcas.problem, "rxe0: /dev/infiniband/uverbs0: Cannot allocate memory");
}

TEST_P(VerbsAttach, DeviceRemovedDuringAttach_OthersAreAttached) {
    kernel.verbs.add("siw0", 0x4000);
    kernel.verbs.fail(call::open_device, {call::by_errno(ENODEV)});
    const rdma_hcas hcas;
    EXPECT_EQ(hcas.status, STATUS_SUCCESS);
    EXPECT_EQ(hcas.count(), 1u);
    EXPECT_NE(rdma_hcas::fdo(0x4000), nullptr);
}

TEST_P(VerbsAttach, NamedDeviceRemovedDuringAttach_IsReported) {
    kernel.verbs.fail(call::open_device, {call::by_errno(ENOENT)});
    const rdma_hcas hcas("rxe0");
    EXPECT_EQ(hcas.status, STATUS_DEVICE_REMOVED);
    EXPECT_EQ(hcas.problem, "rxe0: it has been removed");
}

// The device disappears between the attach and the open.
TEST_P(VerbsAttach, DeviceRemovedBeforeOpen_OpenFails) {
    const rdma_hcas hcas;
    kernel.remove("rxe0");
    const auto open = [](IRP* irp) {
        return CiOpenCa(rdma_hcas::fdo(verbs_kernel::guid), nullptr, nullptr, nullptr, irp);
    };
    EXPECT_EQ(status_of(open), STATUS_FILE_FORCED_CLOSED);
    EXPECT_EQ(status_of(open), STATUS_FILE_FORCED_CLOSED);
}

TEST_P(VerbsAttach, FailedOpen_ClosesContext) {
    const rdma_hcas hcas;
    const auto open = [](IRP* irp) {
        return CiOpenCa(rdma_hcas::fdo(verbs_kernel::guid), nullptr, nullptr, nullptr, irp);
    };
    kernel.verbs.fail(call::open_device, {call::by_errno(EMFILE)});
    EXPECT_EQ(status_of(open), STATUS_INSUFFICIENT_RESOURCES);
    kernel.verbs.fail(call::create_comp_channel, {call::by_errno(ENOMEM)});
    EXPECT_EQ(status_of(open), STATUS_INSUFFICIENT_RESOURCES);
    EXPECT_EQ(kernel.verbs.contexts(), 0u);
    EXPECT_EQ(close_ca(open_ca(rdma_hcas::fdo(kernel.guid))), STATUS_SUCCESS);
}

TEST_P(VerbsAttach, SeveralOpens_ShareOneContext) {
    const open_verbs one;
    IB_CA* two = open_ca(rdma_hcas::fdo(kernel.guid));
    EXPECT_EQ(kernel.verbs.contexts(), 1u);
    EXPECT_EQ(close_ca(two), STATUS_SUCCESS);
    EXPECT_EQ(kernel.verbs.contexts(), 1u);
}

IRPVERBS_ON_BOTH_MACHINES(VerbsAttach);

TEST(VerbsErrorCode, AnyErrorConvention_ErrorIsRecognized) {
    errno = 0;
    EXPECT_EQ(hca_rdma::failure_of(0L), 0);
    EXPECT_EQ(hca_rdma::failure_of(long{EINVAL}), EINVAL);
    EXPECT_EQ(hca_rdma::failure_of(long{-EINVAL}), EINVAL);
    EXPECT_EQ(hca_rdma::failure_of(-1L), EPERM);
    EXPECT_EQ(hca_rdma::failure_of(nullptr), ENOMEM);
    errno = EAGAIN;
    EXPECT_EQ(hca_rdma::failure_of(-1L), EAGAIN);
    EXPECT_EQ(hca_rdma::failure_of(nullptr), EAGAIN);
}

} // namespace
