// Events between a daemon and its clients, and the end of either.
#include "client.hpp"

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

verb_call port_event(IB_CA* ca, UCHAR port) {
    return verb_call([=](IRP* irp) { return CiGetCaPortEvent(ca, port, irp); });
}

TEST(Boundary, PortEvents_CrossOnceEachAndAreLatched) {
    test_daemon serving;
    const client here(serving.uri());
    const opened_ca ca;
    serving.run([&] {
        HcaSoftwareClientReregister(ca.guid(), 1);
        HcaSoftwareChangeSm(ca.guid(), 1, 9, 0);
        HcaSoftwareChangeLid(ca.guid(), 1, 7);
    });
    for (const IB_ASYNC_EVENT each : {IB_AE_CLIENT_REREGISTER, IB_AE_SM_CHANGE, IB_AE_LID_CHANGE}) {
        verb_call event = port_event(ca.get(), 1);
        EXPECT_EQ(event.status(), STATUS_SUCCESS);
        EXPECT_EQ(event.information(), static_cast<ULONG_PTR>(each));
    }
    verb_call none = port_event(ca.get(), 1);
    EXPECT_FALSE(none.done());
    none.cancel();
    EXPECT_EQ(none.status(), STATUS_CANCELLED);
}

TEST(Boundary, TwoClientsOfOneProcess_EachReceivesAnEventOnce) {
    test_daemon serving;
    const client here(serving.uri());
    const opened_ca first;
    const opened_ca second;
    verb_call at_first = port_event(first.get(), 1);
    verb_call at_second = port_event(second.get(), 1);
    serving.run([&] { HcaSoftwareClientReregister(first.guid(), 1); });
    EXPECT_EQ(at_first.information(), static_cast<ULONG_PTR>(IB_AE_CLIENT_REREGISTER));
    EXPECT_EQ(at_second.information(), static_cast<ULONG_PTR>(IB_AE_CLIENT_REREGISTER));
    verb_call again = port_event(first.get(), 1);
    verb_call query([&](IRP* irp) { return CiQueryPort(first.get(), 1, 0, nullptr, irp); });
    query.status(); // what was sent before it has arrived
    EXPECT_FALSE(again.done());
    again.cancel();
}

TEST(Boundary, DaemonEnds_FatalEventAndEverythingCompletes) {
    test_daemon serving;
    const client here(serving.uri());
    const opened_ca ca;
    verb_call create(
        [&](IRP* irp) { return CiCreateCq(ca.get(), 8, nullptr, nullptr, nullptr, irp); });
    auto* const cq = create.object<IB_CQ>();
    verb_call completion([&](IRP* irp) { return CiGetCqCompEvent(cq, irp); });
    verb_call fatal([&](IRP* irp) { return CiGetCaFatalEvent(ca.get(), irp); });
    serving.stop();
    EXPECT_EQ(fatal.status(), STATUS_SUCCESS);
    IB_CA_ATTR attr;
    verb_call query([&](IRP* irp) { return CiQueryCa(ca.get(), sizeof(attr), &attr, irp); });
    EXPECT_EQ(query.status(), STATUS_FILE_FORCED_CLOSED);
    IB_WC entry;
    ULONG taken = 0;
    EXPECT_EQ(CiGetCqResults(cq, 1, &entry, &taken), STATUS_FILE_FORCED_CLOSED);
    verb_call destroy([&](IRP* irp) { return CiDestroyCq(cq, nullptr, irp); });
    EXPECT_EQ(destroy.status(), STATUS_SUCCESS);
    EXPECT_EQ(completion.status(), STATUS_CANCELLED);
}

TEST(Boundary, DaemonEnded_OpenFails) {
    test_daemon serving;
    const client here(serving.uri());
    serving.stop();
    ib_guid_t guid = 0;
    ULONG count = 1;
    HcaEnumerate(&guid, &count);
    verb_call open(
        [&](IRP* irp) { return CiOpenCa(HcaFromGuid(guid), nullptr, nullptr, nullptr, irp); });
    EXPECT_EQ(open.status(), STATUS_DEVICE_NOT_CONNECTED);
}

// The child has copies of all descriptors.
TEST(Boundary, ChildOfFork_KeepsNoConnection) {
    test_daemon serving;
    const client here(serving.uri());
    pid_t child = 0;
    {
        const opened_ca ca;
        child = fork();
        while (child == 0)
            pause();
    }
    ASSERT_GT(child, 0);
    EXPECT_TRUE(serving.becomes_idle());
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

// ---- a client that is killed at each step of a script

/// The status of killed_client, which ends by SIGKILL before step `step`, or normally.
int run_client(const std::string& uri, int step) {
    const std::string number = std::to_string(step);
    const pid_t child = fork();
    if (child == 0) {
        execl(KILLED_CLIENT, KILLED_CLIENT, uri.c_str(), number.c_str(), nullptr);
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

TEST(Boundary, ClientKilledAtAnyStep_NothingRemains) {
    test_daemon serving;
    const client here(serving.uri());
    const opened_ca other;
    const ULONG own = serving.counters().Objects;
    int step = 0;
    for (int status = SIGKILL; status != 0; ++step) {
        status = run_client(serving.uri(), step);
        ASSERT_TRUE(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) << step;
        EXPECT_TRUE(await([&] {
            const UAL_COUNTERS now = serving.counters();
            return now.Connections == 1 && now.Objects == own && now.Requests == 0;
        })) << "killed before step "
            << step;
    }
    EXPECT_GT(step, 10);
    IB_CA_ATTR attr;
    verb_call query([&](IRP* irp) { return CiQueryCa(other.get(), sizeof(attr), &attr, irp); });
    EXPECT_NE(query.status(), STATUS_FILE_FORCED_CLOSED);
}

} // namespace
