// The conformance suite over "user:": each attach starts a daemon of its own in this process, so
// that the verbs cross real sockets to another machine.
#include "../test_daemon.hpp"

#include <attachment.hpp>
#include <ci/driver.h>
#include <conformance/conformance.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace {

using namespace irpverbs;
using irpverbs::testing::await;
using irpverbs::testing::test_daemon;

struct served {
    served() { now = this; }
    ~served() {
        made.reset();
        now = nullptr;
    }
    served(const served&) = delete;
    served& operator=(const served&) = delete;

    static inline served* now = nullptr;
    test_daemon serving;
    std::unique_ptr<hca_user::attachment> made;
};

NTSTATUS attach(const char*, ULONG* count, void** handle, char* message, SIZE_T size) {
    auto fresh = std::make_unique<served>();
    NTSTATUS status = STATUS_UNSUCCESSFUL;
    std::string problem;
    fresh->made = hca_user::attachment::make(fresh->serving.socket(), status, problem);
    std::snprintf(message, size, "%s", problem.c_str());
    if (fresh->made == nullptr) return status;
    *count = fresh->made->count();
    *handle = fresh.release();
    return STATUS_SUCCESS;
}

NTSTATUS detach(void* handle) {
    auto* leaving = static_cast<served*>(handle);
    const NTSTATUS status = leaving->made->refuse_opens();
    if (NT_SUCCESS(status)) delete leaving;
    return status;
}

HCA_DRIVER driver = {"served", attach, detach, nullptr};

template <class Body>
NTSTATUS in_daemon(const Body& body) {
    NTSTATUS status = STATUS_UNSUCCESSFUL;
    served::now->serving.run([&] { status = body(); });
    return status;
}

template <HCA_SOFTWARE_COMMANDS Commands>
NTSTATUS prepare(ib_guid_t guid) {
    return in_daemon([&] { return HcaSoftwareSetCommands(guid, Commands); });
}

constexpr CONFORMANCE_VARIANT variants[] = {
    {"inline", prepare<HcaCommandsInline>, FALSE},
    {"dpc", prepare<HcaCommandsByDpc>, FALSE},
    {"worker", prepare<HcaCommandsBlockingWorker>, FALSE},
};

NTSTATUS change(ib_guid_t guid, UCHAR port, IB_ASYNC_EVENT event) {
    switch (event) {
    case IB_AE_PORT_ERROR:
        return HcaSoftwareSetLink(guid, port, FALSE);
    case IB_AE_PORT_ACTIVE:
        return HcaSoftwareSetLink(guid, port, TRUE);
    case IB_AE_LID_CHANGE:
        return HcaSoftwareChangeLid(guid, port, 7);
    case IB_AE_PKEY_CHANGE:
        return HcaSoftwareChangePKey(guid, port, 1, 0x8001);
    case IB_AE_GID_CHANGE:
        return HcaSoftwareChangePrefix(guid, port, 0xFEC0000000000001);
    case IB_AE_SM_CHANGE:
        return HcaSoftwareChangeSm(guid, port, 9, 0);
    case IB_AE_CLIENT_REREGISTER:
        return HcaSoftwareClientReregister(guid, port);
    default:
        return STATUS_NOT_SUPPORTED;
    }
}

// Handlers of the machine's context run in turn: what it had begun has ended.
void await_context() {
    KEVENT ran;
    KeInitializeEvent(&ran, NotificationEvent, FALSE);
    boost::asio::post(dispatch::machine::current().context(),
                      [&] { KeSetEvent(&ran, IO_NO_INCREMENT, FALSE); });
    KeWaitForSingleObject(&ran, Executive, KernelMode, FALSE, nullptr);
}

// The daemon has the waits of each client: for the fatal event and those of two ports. A client
// that closes at this time waits no more, and ends the patience.
void await_waits(ULONG least) {
    constexpr int patience = 100;
    await(
        [=] {
            const UAL_COUNTERS now = served::now->serving.counters();
            return now.Waits >= std::max(least, 3 * now.Connections);
        },
        patience);
}

// Returns when the clients have received the event and wait for the next one.
NTSTATUS raise(ib_guid_t guid, UCHAR port, IB_ASYNC_EVENT event) {
    await_waits(0);
    const ULONG waits = served::now->serving.counters().Waits;
    const NTSTATUS status = in_daemon([&] { return change(guid, port, event); });
    await_waits(waits);
    await_context();
    return status;
}

NTSTATUS fail(ib_guid_t guid) {
    return in_daemon([&] { return HcaSoftwareFail(guid); });
}

} // namespace

int main(int argc, char** argv) {
    HcaRegisterDriver(&driver);
    // The test's process has no pointers to the daemon's completion queues.
    const CONFORMANCE_ADAPTER adapter = {
        .Scheme = "served",
        .Variants = variants,
        .VariantCount = sizeof(variants) / sizeof(variants[0]),
        .RealOnly = TRUE,
        .RaisePortEvent = raise,
        .Fail = fail,
        .Complete = nullptr,
    };
    return ConformanceMain(argc, argv, &adapter, 1);
}
