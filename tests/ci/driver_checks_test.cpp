// The common half checks the values that a driver passes to it; a wrong one is a bug check whose
// text names the device.
#include "fake_hca.hpp"

#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/verbs.hpp>

namespace {

using namespace irpverbs::testing;

class DriverChecks : public BothMachines {};

/// Expects that `call` emits a report about a driver, whose text has all of `words`.
template <class Call>
void expect_report(const Call& call, std::initializer_list<const char*> words) {
    const std::optional<broken_rule> report = report_of(call);
    ASSERT_TRUE(report.has_value()) << "nothing was reported";
    EXPECT_EQ(report->code, DRIVER_VERIFIER_DETECTED_VIOLATION);
    for (const char* each : words)
        EXPECT_NE(report->text.find(each), std::string::npos) << report->text;
}

TEST_P(DriverChecks, PortEvent_PortThatTheDeviceLacks_IsABugCheck) {
    fake_hca hca;
    IB_CA* ca = open_ca(hca.fdo);
    for (const UCHAR port : {UCHAR{0}, UCHAR{3}, UCHAR{255}})
        expect_report([&] { HcaReportPortEvent(hca.fdo, port, IB_AE_SM_CHANGE); },
                      {"HcaReportPortEvent", "'fake'", "port"});
    verb_call fatal([&](IRP* irp) { return CiGetCaFatalEvent(ca, irp); });
    EXPECT_FALSE(fatal.done());
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

TEST_P(DriverChecks, PortEvent_CodeThatIsNoPortsEvent_IsABugCheck) {
    fake_hca hca;
    for (const int code : {0, 1, int{IB_AE_CQ_ERROR}, 63, int{IB_AE_CLIENT_REREGISTER} + 1,
                           int{IB_AE_LOCAL_FATAL}, 256 + int{IB_AE_SM_CHANGE}})
        expect_report([&] { HcaReportPortEvent(hca.fdo, 1, static_cast<IB_ASYNC_EVENT>(code)); },
                      {"HcaReportPortEvent", "'fake'", "event"});
}

TEST_P(DriverChecks, CqEvent_CodeThatIsNoQueuesEvent_IsABugCheck) {
    fake_hca hca;
    IB_CA* ca = open_ca(hca.fdo);
    IB_CQ* cq = create_cq(ca);
    for (const int code : {0, int{IB_AE_CQ_ERROR} + 1, int{IB_AE_PORT_ACTIVE}})
        expect_report(
            [&] {
                HcaReportCqEvent(reinterpret_cast<HCA_CQ*>(cq), static_cast<IB_ASYNC_EVENT>(code));
            },
            {"HcaReportCqEvent", "'fake'", "event"});
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

// The driver still owns the IRP after the report, and completes it correctly.
TEST_P(DriverChecks, Information_MoreThanTheBufferHolds_IsABugCheck) {
    fake_hca hca;
    IRP* pended = nullptr;
    hca.on_query = [&](IRP* irp) {
        IoMarkIrpPending(irp);
        pended = irp;
        return STATUS_PENDING;
    };
    IB_CA* ca = open_ca(hca.fdo);
    for (const KPROCESSOR_MODE mode : {KernelMode, UserMode}) {
        IB_PORT_ATTR attr{};
        verb_call query([&](IRP* irp) {
            irp->RequestorMode = mode;
            return CiQueryPort(ca, 1, sizeof(attr), &attr, irp);
        });
        for (const NTSTATUS status : {STATUS_SUCCESS, STATUS_BUFFER_OVERFLOW})
            expect_report([&] { HcaComplete(pended, status, sizeof(attr) + 1); },
                          {"CiQueryPort", "'fake'", "Information"});
        HcaComplete(pended, STATUS_SUCCESS, sizeof(attr));
        EXPECT_EQ(query.status(), STATUS_SUCCESS);
        EXPECT_EQ(query.information(), sizeof(attr));
    }
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

TEST_P(DriverChecks, Poll_MoreEntriesThanAsked_IsABugCheck) {
    fake_hca hca;
    hca.operations.PollCq = [](HCA_CQ*, ULONG count, IB_WC*, ULONG* taken) {
        *taken = count + 1;
        return STATUS_SUCCESS;
    };
    IB_CA* ca = open_ca(hca.fdo);
    IB_CQ* cq = create_cq(ca);
    IB_WC entry{};
    ULONG taken = 0;
    expect_report([&] { CiGetCqResults(cq, 1, &entry, &taken); }, {"CiPollCq", "'fake'"});
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(DriverChecks);

} // namespace
