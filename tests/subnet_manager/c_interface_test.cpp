// The C interface of the subnet manager.
#include "managed_fabric.hpp"

#include <subnet_manager/subnet_manager.h>
#include <support/both_machines.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace {

using namespace irpverbs::testing;

class ManagerFromC : public BothMachines {
protected:
    ~ManagerFromC() override { SmDestroy(manager); }

    NTSTATUS create(const SM_OPTIONS& options) { return SmCreate(&options, &manager); }
    NTSTATUS status_of(NTSTATUS (*verb)(SM_MANAGER*, PIRP)) {
        return verb_call([&](IRP* irp) { return verb(manager, irp); }).status();
    }
    SM_OPTIONS usual() const {
        SM_OPTIONS options;
        SmInitializeOptions(&options, hcas.guid(0));
        return options;
    }

    attached hcas{unmanaged()};
    SM_MANAGER* manager = nullptr;
};

TEST_P(ManagerFromC, StartedAndUp_TheSubnetIsConfiguredAsTheOptionsSay) {
    SM_OPTIONS options = usual();
    options.Lmc = 2;
    options.Partitions = "Default=0x7fff : ALL=full ;\nOne=0x1 : ALL=full ;\n";
    ASSERT_EQ(create(options), STATUS_SUCCESS);
    EXPECT_EQ(status_of(SmStart), STATUS_SUCCESS);
    EXPECT_EQ(status_of(SmWaitUntilUp), STATUS_SUCCESS);
    const port_block port(open_hca(hcas.fdo(3)), 1);
    EXPECT_EQ(port->State, IB_PORT_ACTIVE);
    EXPECT_EQ(port->Lmc, 2);
    EXPECT_EQ(IbPortPKey(&*port, 1), 0x8001);
    EXPECT_EQ(status_of(SmStop), STATUS_SUCCESS);
    EXPECT_EQ(status_of(SmStart), STATUS_FILE_CLOSED);
}

TEST_P(ManagerFromC, OptionsOfAnEarlierVersion_HaveDefaultsForWhatTheyLack) {
    SM_OPTIONS options = usual();
    options.Size = offsetof(SM_OPTIONS, SmKey);
    options.SmpsInFlight = 0; // would be refused if it were read
    ASSERT_EQ(create(options), STATUS_SUCCESS);
    EXPECT_EQ(status_of(SmStart), STATUS_SUCCESS);
    EXPECT_EQ(status_of(SmStop), STATUS_SUCCESS);
}

TEST_P(ManagerFromC, OptionsOfNoOrALaterVersion_AreRefused) {
    SM_OPTIONS options = usual();
    for (const ULONG size : {ULONG{0}, ULONG{sizeof options + 1}}) {
        options.Size = size;
        EXPECT_EQ(create(options), STATUS_INVALID_PARAMETER);
    }
    EXPECT_EQ(SmCreate(nullptr, &manager), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(status_of(SmStart), STATUS_INVALID_PARAMETER) << "there is no manager";
}

TEST_P(ManagerFromC, NoSuchHca_StartFails) {
    SM_OPTIONS options = usual();
    options.Hca = 0x77;
    ASSERT_EQ(create(options), STATUS_SUCCESS);
    EXPECT_EQ(status_of(SmStart), STATUS_OBJECT_NAME_NOT_FOUND);
}

TEST_P(ManagerFromC, SmpsInFlightOutOfRange_StartFails) {
    SM_OPTIONS options = usual();
    for (const ULONG each : {ULONG{0}, ULONG{4097}}) {
        options.SmpsInFlight = each;
        ASSERT_EQ(create(options), STATUS_SUCCESS);
        EXPECT_EQ(status_of(SmStart), STATUS_INVALID_PARAMETER) << each;
        SmDestroy(std::exchange(manager, nullptr));
    }
}

TEST_P(ManagerFromC, PartitionsWithoutTextOrName_AreRefused) {
    EXPECT_EQ(SmCheckPartitions(nullptr, "f", nullptr, 0), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(SmCheckPartitions("", nullptr, nullptr, 0), STATUS_INVALID_PARAMETER);
}

TEST_P(ManagerFromC, MistakeInPartitions_IsNamedWithItsLine) {
    char message[64] = "";
    EXPECT_EQ(SmCheckPartitions("x=1 : ALL;", "f", message, sizeof message), STATUS_SUCCESS);
    EXPECT_EQ(SmCheckPartitions("\nx=1, sl=16 : ALL;", "f", message, sizeof message),
              STATUS_DATA_ERROR);
    EXPECT_EQ(std::string(message), "f:2: expected sl=0..15");
    EXPECT_EQ(SmCheckPartitions("x", "f", message, 4), STATUS_DATA_ERROR);
    EXPECT_EQ(std::string(message), "f:1");
    EXPECT_EQ(SmCheckPartitions("x", "f", nullptr, 0), STATUS_DATA_ERROR);
}

IRPVERBS_ON_BOTH_MACHINES(ManagerFromC);

} // namespace
