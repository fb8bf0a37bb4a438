// Every status of every verb, on the software HCA, over each of its command layers.
#include <support/both_machines.hpp>
#include <support/verbs.hpp>

#include <dispatch/fault_sweep.hpp>
#include <hca/software.h>

#include <cstring>

namespace {

using namespace irpverbs::testing;

class Verbs : public BothMachines {
protected:
    Verbs() : ca(open_ca(hcas.fdo())) {}
    ~Verbs() override {
        if (ca != nullptr) {
            EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
        }
    }

    NTSTATUS modify_port(IB_CA* by, ULONG flags, const IB_MODIFY_PORT& modify, UCHAR port = 1) {
        return verb_call([&](IRP* irp) { return CiModifyPort(by, port, flags, &modify, irp); })
            .status();
    }

    attached hcas;
    IB_CA* ca;
};

// A driver's verbs answer for port 0 and ports beyond the last with the same status.
TEST_P(Verbs, RefuseAPortThatDoesNotExist) {
    for (const UCHAR port : {UCHAR{0}, UCHAR{3}, UCHAR{255}}) {
        IB_PORT_ATTR attr{};
        IB_MODIFY_PORT modify{};
        EXPECT_EQ(verb_call([&](IRP* irp) {
                      return CiQueryPort(ca, port, sizeof(attr), &attr, irp);
                  }).status(),
                  STATUS_INVALID_PARAMETER);
        EXPECT_EQ(modify_port(ca, 0, modify, port), STATUS_INVALID_PARAMETER);
        EXPECT_EQ(verb_call([&](IRP* irp) { return CiGetCaPortEvent(ca, port, irp); }).status(),
                  STATUS_INVALID_PARAMETER);
    }
}

TEST_P(Verbs, RefuseNoObjectAndStillCompleteTheIrp) {
    EXPECT_EQ(verb_call([](IRP* irp) {
                  return CiOpenCa(nullptr, nullptr, nullptr, nullptr, irp);
              }).status(),
              STATUS_INVALID_PARAMETER);
    EXPECT_EQ(close_ca(nullptr), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(destroy_cq(nullptr), STATUS_INVALID_PARAMETER);
}

// The size protocol, with every size from 0 to more than enough.
TEST_P(Verbs, QueryPortWritesWhatFitsAndSaysWhatIsNeeded) {
    const port_block whole(ca, 1);
    const ULONG needed = whole->Size;
    ASSERT_GT(needed, sizeof(IB_PORT_ATTR));
    for (ULONG size = 0; size <= needed + 8; ++size) {
        std::vector<UCHAR> buffer(size + 8u, 0xEE);
        verb_call query([&](IRP* irp) {
            return CiQueryPort(ca, 1, size, reinterpret_cast<IB_PORT_ATTR*>(buffer.data()), irp);
        });
        const ULONG written = size < 4 ? 0 : std::min(size, needed);
        EXPECT_EQ(query.status(), size < 4        ? STATUS_BUFFER_TOO_SMALL
                                  : size < needed ? STATUS_BUFFER_OVERFLOW
                                                  : STATUS_SUCCESS);
        EXPECT_EQ(query.information(), written);
        EXPECT_EQ(std::memcmp(buffer.data(), &*whole, written), 0);
        for (std::size_t i = written; i < buffer.size(); ++i)
            ASSERT_EQ(buffer[i], 0xEE) << "written beyond what is told, size " << size;
    }
}

TEST_P(Verbs, QueryCaHoldsItsPortsAndTheirTables) {
    std::vector<std::uint64_t> buffer(1024);
    auto* attr = reinterpret_cast<IB_CA_ATTR*>(buffer.data());
    verb_call query([&](IRP* irp) { return CiQueryCa(ca, 8192, attr, irp); });
    ASSERT_EQ(query.status(), STATUS_SUCCESS);
    EXPECT_EQ(query.information(), attr->Size);
    EXPECT_EQ(attr->NodeGuid, hcas.guid());
    ASSERT_EQ(attr->PortCount, 2u);
    for (UCHAR number = 1; number <= 2; ++number) {
        const port_block alone(ca, number);
        const IB_PORT_ATTR* inside = IbCaPort(attr, number);
        EXPECT_EQ(inside->PortNumber, number);
        EXPECT_EQ(inside->Lid, alone->Lid);
        EXPECT_EQ(inside->Size, alone->Size);
        EXPECT_EQ(IbPortGid(inside, 0)->gid_guid, inside->PortGuid);
        EXPECT_EQ(IbPortGid(&*alone, 0)->gid_guid, inside->PortGuid);
        EXPECT_EQ(IbPortPKey(inside, 0), IB_PKEY_DEFAULT_FULL);
    }
}

TEST_P(Verbs, QueryCaKeepsTheSizeProtocol) {
    std::vector<std::uint64_t> buffer(1024);
    auto* attr = reinterpret_cast<IB_CA_ATTR*>(buffer.data());
    EXPECT_EQ(verb_call([&](IRP* irp) { return CiQueryCa(ca, 3, attr, irp); }).status(),
              STATUS_BUFFER_TOO_SMALL);
    verb_call cut([&](IRP* irp) { return CiQueryCa(ca, 4, attr, irp); });
    EXPECT_EQ(cut.status(), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(cut.information(), 4u);
    const ULONG needed = attr->Size;
    EXPECT_EQ(verb_call([&](IRP* irp) { return CiQueryCa(ca, needed - 1, attr, irp); }).status(),
              STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(verb_call([&](IRP* irp) { return CiQueryCa(ca, needed, attr, irp); }).status(),
              STATUS_SUCCESS);
}

TEST_P(Verbs, ModifyCaChangesWhatFlagsNameAndNothingWithUnknownOnes) {
    IB_MODIFY_CA modify{};
    modify.SystemImageGuid = 42;
    std::memcpy(modify.NodeDescription, "renamed", 8);
    const auto change = [&](ULONG flags) {
        return verb_call([&](IRP* irp) { return CiModifyCa(ca, flags, &modify, irp); }).status();
    };
    const auto image = [&] {
        IB_CA_ATTR attr{};
        verb_call([&](IRP* irp) { return CiQueryCa(ca, sizeof(attr), &attr, irp); }).status();
        return std::pair(attr.SystemImageGuid, attr.NodeDescription[0]);
    };
    EXPECT_EQ(change(0x80 | IB_MODIFY_CA_SYSTEM_IMAGE_GUID), STATUS_INVALID_PARAMETER);
    EXPECT_NE(image().first, 42u);
    EXPECT_EQ(change(IB_MODIFY_CA_SYSTEM_IMAGE_GUID), STATUS_SUCCESS);
    EXPECT_EQ(image(), std::pair(ib_guid_t{42}, UCHAR{'h'}));
    EXPECT_EQ(change(IB_MODIFY_CA_NODE_DESCRIPTION), STATUS_SUCCESS);
    EXPECT_EQ(image().second, 'r');
}

// A capability is held by one IB_CA at a time, until it clears it or is closed.
TEST_P(Verbs, ModifyPortConflictsWithAnotherHolder) {
    IB_CA* other = open_ca(hcas.fdo());
    const IB_MODIFY_PORT set{IB_PORT_CAP_IS_SM | IB_PORT_CAP_CM_SUP, 0, 0};
    const IB_MODIFY_PORT clear{0, IB_PORT_CAP_IS_SM, 0};
    EXPECT_EQ(modify_port(ca, IB_MODIFY_PORT_CAPABILITIES, set), STATUS_SUCCESS);
    EXPECT_NE(port_block(ca, 1)->CapabilityMask & IB_PORT_CAP_IS_SM, 0u);
    EXPECT_EQ(modify_port(ca, IB_MODIFY_PORT_CAPABILITIES, set), STATUS_SUCCESS);
    EXPECT_EQ(modify_port(other, IB_MODIFY_PORT_CAPABILITIES, set), STATUS_FILE_LOCK_CONFLICT);
    EXPECT_EQ(modify_port(other, IB_MODIFY_PORT_CAPABILITIES, clear), STATUS_FILE_LOCK_CONFLICT);
    EXPECT_EQ(modify_port(ca, IB_MODIFY_PORT_CAPABILITIES, clear), STATUS_SUCCESS);
    EXPECT_EQ(port_block(ca, 1)->CapabilityMask & IB_PORT_CAP_IS_SM, 0u);
    const IB_MODIFY_PORT sm{IB_PORT_CAP_IS_SM, 0, 0};
    EXPECT_EQ(modify_port(other, IB_MODIFY_PORT_CAPABILITIES, sm), STATUS_SUCCESS);
    EXPECT_EQ(close_ca(other), STATUS_SUCCESS);
    EXPECT_EQ(port_block(ca, 1)->CapabilityMask & IB_PORT_CAP_IS_SM, 0u);
}

TEST_P(Verbs, ModifyPortRefusesWhatCannotBeModified) {
    const IB_MODIFY_PORT foreign{IB_PORT_CAP_TRAP_SUP, 0, 0};
    const IB_MODIFY_PORT both{IB_PORT_CAP_IS_SM, IB_PORT_CAP_IS_SM, 0};
    EXPECT_EQ(modify_port(ca, 0x100, {}), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(modify_port(ca, IB_MODIFY_PORT_CAPABILITIES, foreign), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(modify_port(ca, IB_MODIFY_PORT_CAPABILITIES, both), STATUS_INVALID_PARAMETER);
}

TEST_P(Verbs, AShutPortLosesItsLinkOnBothEnds) {
    EXPECT_EQ(modify_port(ca, IB_MODIFY_PORT_SHUTDOWN, {}, 2), STATUS_SUCCESS);
    EXPECT_EQ(port_block(ca, 2)->State, IB_PORT_DOWN);
    EXPECT_EQ(port_block(ca, 2)->PhysicalState, IB_PORT_PHYS_DISABLED);
    EXPECT_EQ(port_block(ca, 1)->State, IB_PORT_ACTIVE);
}

TEST_P(Verbs, ACaWithACompletionQueueIsBusy) {
    IB_CQ* cq = create_cq(ca);
    EXPECT_EQ(close_ca(ca), STATUS_DEVICE_BUSY);
    EXPECT_EQ(port_block(ca, 1)->PortNumber, 1); // nothing changed
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

TEST_P(Verbs, ACompletionQueueHasAtLeastWhatWasAskedFor) {
    IB_CQ* cq = create_cq(ca, 5);
    EXPECT_EQ(cq->NumCqes, 8u);
    IB_CQ_ATTR attr{};
    verb_call query([&](IRP* irp) { return CiQueryCq(cq, sizeof(attr), &attr, irp); });
    EXPECT_EQ(query.status(), STATUS_SUCCESS);
    EXPECT_EQ(attr.NumCqes, 8u);
    EXPECT_EQ(attr.Size, sizeof(attr));
    EXPECT_EQ(verb_call([&](IRP* irp) { return CiQueryCq(cq, 4, &attr, irp); }).status(),
              STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(verb_call([&](IRP* irp) { return CiQueryCq(cq, 3, &attr, irp); }).status(),
              STATUS_BUFFER_TOO_SMALL);
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

TEST_P(Verbs, ACompletionQueueOfNoOrTooManyEntriesIsRefused) {
    for (const ULONG entries : {0u, 65537u, ~0u}) {
        EXPECT_EQ(verb_call([&](IRP* irp) {
                      return CiCreateCq(ca, entries, nullptr, nullptr, nullptr, irp);
                  }).status(),
                  STATUS_INVALID_PARAMETER);
    }
}

// NULL, or nothing known: as IB_CQ_ARM has no zero, it is no request.
TEST_P(Verbs, ArmRefusesUnknownFlags) {
    IB_CQ* cq = create_cq(ca);
    for (const ULONG flags : {0u, 3u, 4u})
        EXPECT_EQ(verb_call([&](IRP* irp) { return CiArmCq(cq, flags, irp); }).status(),
                  STATUS_INVALID_PARAMETER);
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

TEST_P(Verbs, WorkOverEveryCommandLayer) {
    for (int layer = HcaCommandsInline; layer < HcaCommandsCount; ++layer) {
        HcaSoftwareSetCommands(hcas.guid(), static_cast<HCA_SOFTWARE_COMMANDS>(layer));
        IB_CA* own = open_ca(hcas.fdo());
        IB_CQ* cq = create_cq(own);
        EXPECT_EQ(port_block(own, 1)->State, IB_PORT_ACTIVE);
        EXPECT_EQ(close_ca(own), STATUS_DEVICE_BUSY);
        EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
        EXPECT_EQ(close_ca(own), STATUS_SUCCESS);
    }
    HcaSoftwareSetCommands(hcas.guid(), HcaCommandsInline);
}

// All but the layer that blocks serve a caller at DISPATCH_LEVEL.
TEST_P(Verbs, ServeCallersAtDispatchLevel) {
    for (const auto layer : {HcaCommandsInline, HcaCommandsByDpc, HcaCommandsBlockingWorker}) {
        HcaSoftwareSetCommands(hcas.guid(), layer);
        const auto raised = [](const auto& verb) {
            return [&verb](IRP* irp) {
                const at_dispatch_level here;
                return verb(irp);
            };
        };
        const auto create = [&](IRP* irp) {
            return CiCreateCq(ca, 4, nullptr, nullptr, nullptr, irp);
        };
        verb_call made(raised(create));
        ASSERT_EQ(made.status(), STATUS_SUCCESS);
        auto* cq = made.object<IB_CQ>();
        const auto destroy = [&](IRP* irp) { return CiDestroyCq(cq, nullptr, irp); };
        EXPECT_EQ(verb_call(raised(destroy)).status(), STATUS_SUCCESS);
    }
    HcaSoftwareSetCommands(hcas.guid(), HcaCommandsInline);
}

TEST_P(Verbs, FailForcedClosedAfterAFatalEventButCloseAndDestroy) {
    IB_CQ* cq = create_cq(ca);
    EXPECT_EQ(HcaSoftwareFail(hcas.guid()), STATUS_SUCCESS);
    IB_PORT_ATTR attr{};
    IB_CA_ATTR ca_attr{};
    IB_WC entry{};
    const IB_MODIFY_PORT modify{};
    const auto dead = [](const auto& verb) {
        EXPECT_STREQ(name_of(verb_call(verb).status()), "STATUS_FILE_FORCED_CLOSED");
    };
    dead([&](IRP* irp) { return CiOpenCa(hcas.fdo(), nullptr, nullptr, nullptr, irp); });
    dead([&](IRP* irp) { return CiQueryPort(ca, 1, sizeof(attr), &attr, irp); });
    dead([&](IRP* irp) { return CiQueryCa(ca, sizeof(ca_attr), &ca_attr, irp); });
    dead([&](IRP* irp) { return CiModifyPort(ca, 1, 0, &modify, irp); });
    dead([&](IRP* irp) { return CiCreateCq(ca, 1, nullptr, nullptr, nullptr, irp); });
    dead([&](IRP* irp) { return CiGetCaPortEvent(ca, 1, irp); });
    dead([&](IRP* irp) { return CiPollCq(cq, 1, &entry, irp); });
    dead([&](IRP* irp) { return CiArmCq(cq, IB_CQ_ARM_NEXT, irp); });
    dead([&](IRP* irp) { return CiResizeCq(cq, 8, nullptr, irp); });
    dead([&](IRP* irp) { return CiGetCqCompEvent(cq, irp); });
    EXPECT_EQ(verb_call([&](IRP* irp) { return CiGetCaFatalEvent(ca, irp); }).status(),
              STATUS_SUCCESS);
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
    EXPECT_EQ(close_ca(std::exchange(ca, nullptr)), STATUS_SUCCESS);
}

// Wherever memory runs short, the verb says so, and what was there before it is there after it.
TEST_P(Verbs, FailWithInsufficientResourcesAndLeaveNothing) {
    int failed = 0;
    const auto good = [&failed](NTSTATUS status) {
        if (status == STATUS_INSUFFICIENT_RESOURCES) ++failed;
        EXPECT_TRUE(status == STATUS_SUCCESS || status == STATUS_INSUFFICIENT_RESOURCES);
        return status == STATUS_SUCCESS;
    };
    struct sent {
        IRP* irp = IoAllocateIrp(1, FALSE);
        ~sent() {
            if (irp != nullptr) IoFreeIrp(irp);
        }
        IRP* again() {
            IoReuseIrp(irp, STATUS_SUCCESS);
            const auto keep = [](DEVICE_OBJECT*, IRP*, void*) -> NTSTATUS {
                return STATUS_MORE_PROCESSING_REQUIRED;
            };
            IoSetCompletionRoutine(irp, keep, nullptr, TRUE, TRUE, TRUE);
            return irp;
        }
    };
    const auto summary = irpverbs::dispatch::fault_sweep([&] {
        sent by;
        if (by.irp == nullptr) return;
        if (!good(CiOpenCa(hcas.fdo(), nullptr, nullptr, nullptr, by.again()))) return;
        auto* own = reinterpret_cast<IB_CA*>(by.irp->IoStatus.Information);
        if (good(CiCreateCq(own, 4, nullptr, nullptr, nullptr, by.again()))) {
            auto* cq = reinterpret_cast<IB_CQ*>(by.irp->IoStatus.Information);
            good(CiResizeCq(cq, 16, nullptr, by.again()));
            EXPECT_EQ(CiDestroyCq(cq, nullptr, by.again()), STATUS_SUCCESS);
        }
        EXPECT_EQ(CiCloseCa(own, nullptr, by.again()), STATUS_SUCCESS);
    });
    EXPECT_GE(summary.stacks, 4u); // CA, CQ, its ring, a new ring
    EXPECT_GE(failed, 4);
}

IRPVERBS_ON_BOTH_MACHINES(Verbs);

} // namespace
