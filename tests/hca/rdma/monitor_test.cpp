// Port events, which libibumad does not have: polling finds them.
#include "rdma_hcas.hpp"

#include <support/both_machines.hpp>

namespace {

using namespace irpverbs::testing;

class RdmaPortMonitor : public BothMachines {
protected:
    RdmaPortMonitor() {
        EXPECT_EQ(HcaRdmaSetPollInterval(0x1000, 2), STATUS_SUCCESS);
        ca = open_ca(rdma_hcas::fdo());
    }
    ~RdmaPortMonitor() override { EXPECT_EQ(close_ca(ca), STATUS_SUCCESS); }

    template <class Change>
    void change_port(const Change& what) {
        kernel.change([&](fake_umad& all) { what(all.cas.at("fake0").ports[0]); });
    }
    int next_event() {
        verb_call waiting([&](IRP* irp) { return CiGetCaPortEvent(ca, 1, irp); });
        EXPECT_EQ(waiting.status(), STATUS_SUCCESS);
        return static_cast<int>(waiting.information());
    }

    fake_umad kernel;
    rdma_hcas hcas;
    IB_CA* ca = nullptr;
};

TEST_P(RdmaPortMonitor, PortChange_RaisesItsEvent) {
    change_port([](auto& port) { port.lid = 8; });
    EXPECT_EQ(next_event(), IB_AE_LID_CHANGE);
    change_port([](auto& port) { port.sm_lid = 8; });
    EXPECT_EQ(next_event(), IB_AE_SM_CHANGE);
    change_port([](auto& port) { port.pkeys[1] = 0x8002; });
    EXPECT_EQ(next_event(), IB_AE_PKEY_CHANGE);
    change_port([](auto& port) { port.prefix = 1; });
    EXPECT_EQ(next_event(), IB_AE_GID_CHANGE);
    change_port([](auto& port) { port.state = IB_PORT_DOWN; });
    EXPECT_EQ(next_event(), IB_AE_PORT_ERROR);
    change_port([](auto& port) { port.state = IB_PORT_INIT; }); // no event
    change_port([](auto& port) { port.state = IB_PORT_ACTIVE; });
    EXPECT_EQ(next_event(), IB_AE_PORT_ACTIVE);
}

// IB_AE_PORT_ACTIVE is reported last, since its receiver may continue with the port's present
// attributes.
TEST_P(RdmaPortMonitor, SeveralChanges_PortActiveIsReportedLast) {
    change_port([](auto& port) { port.state = IB_PORT_DOWN; });
    EXPECT_EQ(next_event(), IB_AE_PORT_ERROR);
    change_port([](auto& port) {
        port.state = IB_PORT_ACTIVE;
        port.lid = 77;
        port.sm_lid = 78;
    });
    EXPECT_EQ(next_event(), IB_AE_LID_CHANGE);
    EXPECT_EQ(next_event(), IB_AE_SM_CHANGE);
    EXPECT_EQ(next_event(), IB_AE_PORT_ACTIVE);
    EXPECT_EQ(port_block(ca, 1)->Lid, 77);
}

// The device has one port. An event of another one is a bug check.
TEST_P(RdmaPortMonitor, PortListedLater_RaisesNoEvent) {
    kernel.change([](fake_umad& all) { all.cas.at("fake0").ports.resize(2); });
    for (unsigned lid = 8; lid < 11; ++lid) {
        kernel.change([&](fake_umad& all) {
            for (fake_umad::port& each : all.cas.at("fake0").ports)
                each.lid = lid;
        });
        EXPECT_EQ(next_event(), IB_AE_LID_CHANGE);
    }
}

TEST_P(RdmaPortMonitor, DeviceRemoved_RaisesFatalEvent) {
    verb_call waiting([&](IRP* irp) { return CiGetCaFatalEvent(ca, irp); });
    kernel.remove("fake0");
    EXPECT_EQ(waiting.status(), STATUS_SUCCESS);
    const auto query = [&](IRP* irp) {
        IB_PORT_ATTR attr{};
        return CiQueryPort(ca, 1, sizeof(attr), &attr, irp);
    };
    EXPECT_EQ(verb_call(query).status(), STATUS_FILE_FORCED_CLOSED);
}

// An event's up-call closes the HCA, which ends the polling; changes before the next open raise no
// event.
TEST_P(RdmaPortMonitor, LastClose_StopsPollingUntilNextOpen) {
    struct ending {
        KEVENT closed;
        std::unique_ptr<verb_call> call;
    } reported;
    KeInitializeEvent(&reported.closed, NotificationEvent, FALSE);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    const IB_CA_DISPATCH calls{nullptr, [](IB_CA* which, void* context, UCHAR, IB_ASYNC_EVENT) {
                                   auto& self = *static_cast<ending*>(context);
                                   self.call = std::make_unique<verb_call>(
                                       [&](IRP* irp) { return CiCloseCa(which, nullptr, irp); });
                                   KeSetEvent(&self.closed, IO_NO_INCREMENT, FALSE);
                               }};
    open_ca(rdma_hcas::fdo(), &calls, &reported);
    change_port([](auto& port) { port.lid = 8; });
    KeWaitForSingleObject(&reported.closed, Executive, KernelMode, FALSE, nullptr);
    EXPECT_EQ(reported.call->status(), STATUS_SUCCESS);
    change_port([](auto& port) { port.sm_lid = 9; });
    ca = open_ca(rdma_hcas::fdo());
    change_port([](auto& port) { port.lid = 10; });
    EXPECT_EQ(next_event(), IB_AE_LID_CHANGE);
}

TEST_P(RdmaPortMonitor, InvalidIntervalOrGuid_IsRefused) {
    EXPECT_EQ(HcaRdmaSetPollInterval(0x1000, 0), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(HcaRdmaSetPollInterval(0x9999, 5), STATUS_OBJECT_NAME_NOT_FOUND);
}

IRPVERBS_ON_BOTH_MACHINES(RdmaPortMonitor);

} // namespace
