// Drivers that were compiled with another version of ci/driver.h.
#include "fake_hca.hpp"

#include <support/both_machines.hpp>
#include <support/verbs.hpp>

#include <cstddef>
#include <string>

namespace {

using namespace irpverbs::testing;

class DriverTables : public BothMachines {};

/// A driver whose device has the description that a test sets.
struct described {
    HCA_OPERATIONS operations;
    HCA_DEVICE device;

    described() {
        HCA_OPERATIONS_INIT(&operations);
        HCA_DEVICE_INIT(&device);
        device.Operations = &operations;
        device.Name = "described";
        device.NodeGuid = 0x99;
        device.PortCount = 1;
        now = this;
        HcaRegisterDriver(&driver);
    }

    /// Attaches the device; returns the status, and its message.
    static NTSTATUS attach(std::string& message) {
        char text[512] = "";
        const NTSTATUS status = HcaAttachEx("described:", nullptr, text, sizeof(text));
        message = text;
        return status;
    }

    static inline described* now;
    static HCA_DRIVER driver;
};

HCA_DRIVER described::driver{"described",
                             [](const char*, ULONG* count, VOID** handle, char*, SIZE_T) {
                                 *count = 1;
                                 return HcaCreateDevice(&now->device,
                                                        reinterpret_cast<PDEVICE_OBJECT*>(handle));
                             },
                             [](VOID* handle) {
                                 auto* fdo = static_cast<PDEVICE_OBJECT>(handle);
                                 const NTSTATUS status = HcaRefuseOpen(fdo);
                                 if (NT_SUCCESS(status)) HcaDeleteDevice(fdo);
                                 return status;
                             },
                             nullptr};

void expect_mismatch(std::initializer_list<const char*> words) {
    std::string message;
    EXPECT_STREQ(name_of(described::attach(message)), "STATUS_REVISION_MISMATCH");
    for (const char* each : words)
        EXPECT_NE(message.find(each), std::string::npos) << message;
    EXPECT_EQ(HcaFromGuid(0x99), nullptr);
}

TEST_P(DriverTables, Attach_TableOfAnotherVersion_IsRefusedWithAMessage) {
    described by;
    by.operations.Version = HCA_DRIVER_VERSION + 1;
    expect_mismatch({"described:", "HCA_OPERATIONS", "Version 2", "ci/driver.h"});
    by.operations.Version = HCA_DRIVER_VERSION;
    by.device.Version = 0;
    expect_mismatch({"HCA_DEVICE", "Version 0", "HCA_DEVICE_INIT"});
    by.device.Version = HCA_DRIVER_VERSION;
    std::string message;
    EXPECT_EQ(described::attach(message), STATUS_SUCCESS);
    EXPECT_EQ(message, "");
    EXPECT_EQ(HcaDetach("described:"), STATUS_SUCCESS);
}

TEST_P(DriverTables, Attach_TableLongerOrShorterThanAnyKnown_IsRefusedWithAMessage) {
    described by;
    by.operations.Size = sizeof(HCA_OPERATIONS) + sizeof(void*);
    expect_mismatch({"HCA_OPERATIONS", "Size"});
    by.operations.Size = sizeof(ULONG);
    expect_mismatch({"HCA_OPERATIONS", "Size"});
    by.operations.Size = sizeof(HCA_OPERATIONS);
    by.device.Size = sizeof(HCA_DEVICE) + 1;
    expect_mismatch({"HCA_DEVICE", "Size"});
}

// The table's memory ends there: bytes behind it do not belong to it.
TEST_P(DriverTables, Verb_BehindTheEndOfAnOlderTable_IsNotSupported) {
    described by;
    by.operations.QueryPort = [](HCA_CA*, UCHAR, IB_PORT_ATTR*, SIZE_T, IRP*) {
        ADD_FAILURE() << "is no member of the driver's table";
        return STATUS_SUCCESS;
    };
    by.operations.Size = offsetof(HCA_OPERATIONS, QueryPort);
    std::string message;
    ASSERT_EQ(described::attach(message), STATUS_SUCCESS);
    IB_CA* ca = open_ca(HcaFromGuid(0x99));
    IB_PORT_ATTR attr{};
    verb_call query([&](IRP* irp) { return CiQueryPort(ca, 1, sizeof(attr), &attr, irp); });
    EXPECT_EQ(query.status(), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    EXPECT_EQ(HcaDetach("described:"), STATUS_SUCCESS);
}

TEST_P(DriverTables, Create_WithoutOperationsOrName_IsAnInvalidParameter) {
    described by;
    DEVICE_OBJECT* fdo = nullptr;
    by.device.Name = nullptr;
    EXPECT_EQ(HcaCreateDevice(&by.device, &fdo), STATUS_INVALID_PARAMETER);
    by.device.Name = "described";
    by.device.Operations = nullptr;
    EXPECT_EQ(HcaCreateDevice(&by.device, &fdo), STATUS_INVALID_PARAMETER);
}

// The public structures of objects hold only the client's fields.
TEST_P(DriverTables, PublicQueue_OfACq_HasNoWordsOfTheDriver) {
    static_assert(sizeof(IB_CQ) == sizeof(IB_CQ_DISPATCH) + sizeof(void*));
    static_assert(offsetof(HCA_CQ, Direct) == sizeof(IB_CQ));
}

IRPVERBS_ON_BOTH_MACHINES(DriverTables);

} // namespace
