// Devices that are notified of the system's end.
#include <support/both_machines.hpp>

#include <irp/testing/shutdown.h>
#include <irp/wdm.h>

#include <vector>

namespace {

using namespace irpverbs::testing;

/// The devices that received IRP_MJ_SHUTDOWN, in order.
std::vector<DEVICE_OBJECT*>* notified = nullptr;
NTSTATUS status_of_requests = STATUS_SUCCESS;

NTSTATUS shut_down(DEVICE_OBJECT* device, IRP* irp) {
    notified->push_back(device);
    irp->IoStatus.Status = status_of_requests;
    irp->IoStatus.Information = 0;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return status_of_requests;
}

class Shutdown : public BothMachines {
protected:
    Shutdown() {
        driver.MajorFunction[IRP_MJ_SHUTDOWN] = shut_down;
        for (DEVICE_OBJECT*& each : devices)
            EXPECT_EQ(IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &each),
                      STATUS_SUCCESS);
        notified = &order;
        status_of_requests = STATUS_SUCCESS;
    }
    ~Shutdown() override {
        for (DEVICE_OBJECT* each : devices)
            if (each != nullptr) IoDeleteDevice(each);
    }

    DRIVER_OBJECT driver{};
    std::array<DEVICE_OBJECT*, 3> devices{};
    std::vector<DEVICE_OBJECT*> order;
};

TEST_P(Shutdown, RegisteredDevices_AreNotifiedOnceAndBackwards) {
    EXPECT_EQ(IoRegisterLastChanceShutdownNotification(devices[2]), STATUS_SUCCESS);
    EXPECT_EQ(IoRegisterShutdownNotification(devices[0]), STATUS_SUCCESS);
    EXPECT_EQ(IoRegisterShutdownNotification(devices[1]), STATUS_SUCCESS);
    EXPECT_EQ(IrpShutDown(), STATUS_SUCCESS);
    EXPECT_EQ(order, (std::vector{devices[1], devices[0], devices[2]}));
    EXPECT_EQ(IrpShutDown(), STATUS_SUCCESS);
    EXPECT_EQ(order.size(), 3u);
}

TEST_P(Shutdown, UnregisteredOrDeletedDevice_IsNotNotified) {
    for (DEVICE_OBJECT* each : devices)
        EXPECT_EQ(IoRegisterShutdownNotification(each), STATUS_SUCCESS);
    IoUnregisterShutdownNotification(devices[0]);
    IoDeleteDevice(std::exchange(devices[1], nullptr));
    EXPECT_EQ(IrpShutDown(), STATUS_SUCCESS);
    EXPECT_EQ(order, std::vector{devices[2]});
}

TEST_P(Shutdown, FailedRequest_GivesItsStatusAndTheOthersFollow) {
    status_of_requests = STATUS_DEVICE_BUSY;
    EXPECT_EQ(IoRegisterShutdownNotification(devices[0]), STATUS_SUCCESS);
    EXPECT_EQ(IoRegisterShutdownNotification(devices[1]), STATUS_SUCCESS);
    EXPECT_EQ(IrpShutDown(), STATUS_DEVICE_BUSY);
    EXPECT_EQ(order.size(), 2u);
}

IRPVERBS_ON_BOTH_MACHINES(Shutdown);

} // namespace
