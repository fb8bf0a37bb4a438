// The common half of every driver: its work before, around and after an operation.
#include "fake_hca.hpp"

#include <support/both_machines.hpp>
#include <support/verbs.hpp>

#include <ci/names.hpp>
#include <verbs/verb.hpp>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace {

using namespace irpverbs::testing;

class HcaDriver : public BothMachines {};

template <class Attr = IB_PORT_ATTR>
auto query_port(IB_CA* ca, Attr& attr) {
    return [&attr, ca](IRP* irp) { return CiQueryPort(ca, 1, sizeof(attr), &attr, irp); };
}

// The objects are created while the driver has operations for that.
TEST_P(HcaDriver, MissingOperations_ReturnNotSupportedExceptCloseAndDestroy) {
    fake_hca hca;
    hca.operations.RegisterMadAgent = [](HCA_MAD_AGENT*, IRP*) { return STATUS_SUCCESS; };
    IB_CA* ca = open_ca(hca.fdo);
    IB_CQ* cq = create_cq(ca);
    IB_MAD_AGENT_ATTR agent_attr{};
    agent_attr.PortNumber = 1;
    agent_attr.ManagementClass = 0x0A;
    const auto register_agent = [&](IRP* irp) {
        return CiRegisterMadAgent(ca, &agent_attr, nullptr, nullptr, irp);
    };
    auto* agent = verb_call(register_agent).object<IB_MAD_AGENT>();
    ASSERT_NE(agent, nullptr);
    agent_attr.ManagementClass = 0;
    agent_attr.QpKind = IB_MAD_QP_OWN_RAW;
    EXPECT_EQ(verb_call(register_agent).status(),
              STATUS_NOT_SUPPORTED); // without the next operation
    hca.operations.ModifyMadAgent = [](HCA_MAD_AGENT*, const IB_MAD_KEYS*, IRP*) {
        return STATUS_SUCCESS;
    };
    auto* with_qp = verb_call(register_agent).object<IB_MAD_AGENT>();
    ASSERT_NE(with_qp, nullptr);
    hca.operations = {};
    irpverbs::ci::complete_operations(hca.operations);

    IB_CA_ATTR ca_attr{};
    IB_PORT_ATTR port_attr{};
    IB_CQ_ATTR cq_attr{};
    const IB_MODIFY_CA modify_ca{};
    const IB_MODIFY_PORT modify_port{};
    IB_WC entry{};
    std::array<UCHAR, IB_MAD_SIZE> data{};
    IB_MAD_SEND mad{};
    mad.Data = data.data();
    mad.Length = IB_MAD_SIZE;
    const auto expect_not_supported = [](const char* name, const auto& verb) {
        EXPECT_STREQ(name_of(verb_call(verb).status()), "STATUS_NOT_SUPPORTED") << name;
    };
    expect_not_supported("QueryCa",
                         [&](IRP* irp) { return CiQueryCa(ca, sizeof(ca_attr), &ca_attr, irp); });
    expect_not_supported("QueryPort", query_port(ca, port_attr));
    expect_not_supported("ModifyCa", [&](IRP* irp) { return CiModifyCa(ca, 0, &modify_ca, irp); });
    expect_not_supported("ModifyPort",
                         [&](IRP* irp) { return CiModifyPort(ca, 1, 0, &modify_port, irp); });
    expect_not_supported(
        "CreateCq", [&](IRP* irp) { return CiCreateCq(ca, 1, nullptr, nullptr, nullptr, irp); });
    expect_not_supported("QueryCq",
                         [&](IRP* irp) { return CiQueryCq(cq, sizeof(cq_attr), &cq_attr, irp); });
    expect_not_supported("ResizeCq", [&](IRP* irp) { return CiResizeCq(cq, 2, nullptr, irp); });
    expect_not_supported("PollCq", [&](IRP* irp) { return CiPollCq(cq, 1, &entry, irp); });
    ULONG taken = 1;
    EXPECT_STREQ(name_of(CiGetCqResults(cq, 1, &entry, &taken)), "STATUS_NOT_SUPPORTED");
    EXPECT_EQ(taken, 0u);
    expect_not_supported("ArmCq", [&](IRP* irp) { return CiArmCq(cq, IB_CQ_ARM_NEXT, irp); });
    expect_not_supported("RegisterMadAgent", register_agent);
    const IB_MAD_KEYS keys{IB_PKEY_DEFAULT_FULL, 1};
    expect_not_supported("ModifyMadAgent",
                         [&](IRP* irp) { return CiModifyMadAgent(with_qp, &keys, irp); });
    expect_not_supported("SendMad", [&](IRP* irp) { return CiSendMad(agent, &mad, irp); });

    for (IB_MAD_AGENT* each : {agent, with_qp})
        EXPECT_EQ(verb_call([&](IRP* irp) { return CiDeregisterMadAgent(each, irp); }).status(),
                  STATUS_SUCCESS);
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    EXPECT_EQ(close_ca(open_ca(hca.fdo)), STATUS_SUCCESS);
}

// A success passes the operation's Information to the client, an error does not.
TEST_P(HcaDriver, OperationInformation_ReturnedOnSuccessAndWarningOnly) {
    fake_hca hca;
    IB_CA* ca = open_ca(hca.fdo);
    IB_PORT_ATTR attr{};
    for (const NTSTATUS status : {STATUS_SUCCESS, STATUS_BUFFER_OVERFLOW, STATUS_IO_DEVICE_ERROR}) {
        hca.on_query = [=](IRP* irp) {
            EXPECT_EQ(irp->IoStatus.Information, 0u);
            irp->IoStatus.Information = 9;
            return status;
        };
        verb_call query(query_port(ca, attr));
        EXPECT_EQ(query.status(), status);
        EXPECT_EQ(query.information(), NT_ERROR(status) ? 0u : 9u);
    }
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

// Law 3: an IRP that pends is marked, and no other.
TEST_P(HcaDriver, OperationPends_CloseWaitsForIt) {
    fake_hca hca;
    IRP* pended = nullptr;
    hca.on_query = [&](IRP* irp) {
        IoMarkIrpPending(irp);
        pended = irp;
        return STATUS_PENDING;
    };
    IB_CA* ca = open_ca(hca.fdo);
    IB_PORT_ATTR attr{};
    verb_call query(query_port(ca, attr));
    EXPECT_EQ(query.returned(), STATUS_PENDING);
    verb_call close([&](IRP* irp) { return CiCloseCa(ca, nullptr, irp); });
    EXPECT_EQ(close.returned(), STATUS_PENDING);
    EXPECT_FALSE(close.done());
    EXPECT_EQ(hca.closed, 0);
    EXPECT_EQ(verb_call(query_port(ca, attr)).status(), STATUS_FILE_CLOSED);
    HcaComplete(pended, STATUS_SUCCESS, 0);
    EXPECT_EQ(query.status(), STATUS_SUCCESS);
    EXPECT_EQ(close.status(), STATUS_SUCCESS);
    EXPECT_EQ(hca.closed, 1);
}

TEST(HcaCopyUserData, HcaReturnUserData_TruncatesToBufferAndSetsSize) {
    const std::array<UCHAR, 3> reply{1, 2, 3};
    for (const SIZE_T room : {0u, 1u, 3u, 4u}) {
        std::array<UCHAR, 4> buffer{9, 9, 9, 9};
        CI_UDATA user{nullptr, room != 0 ? buffer.data() : nullptr, 0, room};
        HcaCopyUserData(&user, reply.data(), reply.size());
        EXPECT_EQ(user.OutputSize, std::min(room, reply.size()));
        for (SIZE_T i = 0; i < buffer.size(); ++i)
            EXPECT_EQ(buffer[i], i < user.OutputSize ? reply[i] : 9) << "room " << room;
    }
    std::array<UCHAR, 1> untouched{9};
    CI_UDATA user{nullptr, untouched.data(), 0, untouched.size()};
    HcaCopyUserData(&user, nullptr, 0);
    EXPECT_EQ(user.OutputSize, 0u);
    EXPECT_EQ(untouched[0], 9);
    HcaCopyUserData(nullptr, reply.data(), reply.size());
}

TEST_P(HcaDriver, FailedOpen_NoCaRemainsOpen) {
    fake_hca hca;
    hca.operations.OpenCa = [](HCA_CA*, CI_UDATA*, IRP*) { return STATUS_IO_DEVICE_ERROR; };
    verb_call open([&](IRP* irp) { return CiOpenCa(hca.fdo, nullptr, nullptr, nullptr, irp); });
    EXPECT_EQ(open.status(), STATUS_IO_DEVICE_ERROR);
    EXPECT_EQ(open.information(), 0u);
} // the end of the HCA finds no open CA

TEST_P(HcaDriver, RegistryCallWithoutABuffer_ReturnsInvalidParameter) {
    const fake_hca hca;
    ULONG count = 1;
    EXPECT_EQ(HcaEnumerate(nullptr, &count), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(HcaEnumerate(nullptr, nullptr), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(HcaName(fake_hca::guid, nullptr, 5), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(HcaName(fake_hca::guid, nullptr, 0), STATUS_BUFFER_TOO_SMALL);
    EXPECT_EQ(HcaAttachEx("nowhere", nullptr, nullptr, 100), STATUS_OBJECT_NAME_INVALID);
}

TEST_P(HcaDriver, HcaRefuseOpen_FailsWhileOpenAndBlocksLaterOpens) {
    fake_hca hca;
    IB_CA* ca = open_ca(hca.fdo);
    EXPECT_EQ(HcaRefuseOpen(hca.fdo), STATUS_DEVICE_BUSY);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    EXPECT_EQ(HcaRefuseOpen(hca.fdo), STATUS_SUCCESS);
    const auto open = [&](IRP* irp) { return CiOpenCa(hca.fdo, nullptr, nullptr, nullptr, irp); };
    EXPECT_EQ(verb_call(open).status(), STATUS_DELETE_PENDING);
    HcaAllowOpen(hca.fdo);
    EXPECT_EQ(close_ca(open_ca(hca.fdo)), STATUS_SUCCESS);
}

// The verb fills only the location below the caller's own.
TEST_P(HcaDriver, Verb_PreservesCallersStackLocation) {
    fake_hca hca;
    IB_CA* ca = open_ca(hca.fdo);
    hca.on_query = [](IRP*) { return STATUS_SUCCESS; };
    IB_PORT_ATTR attr{};
    IRP* irp = IoAllocateIrp(2, FALSE);
    IoSetNextIrpStackLocation(irp);
    IO_STACK_LOCATION* own = IoGetCurrentIrpStackLocation(irp);
    own->MajorFunction = IRP_MJ_READ;
    own->MinorFunction = 7;
    own->Parameters.Read.Length = 123;
    const auto keep = [](DEVICE_OBJECT*, IRP*, void*) -> NTSTATUS {
        return STATUS_MORE_PROCESSING_REQUIRED;
    };
    IoSetCompletionRoutine(irp, keep, nullptr, TRUE, TRUE, TRUE);
    EXPECT_EQ(CiQueryPort(ca, 1, sizeof(attr), &attr, irp), STATUS_SUCCESS);
    EXPECT_EQ(IoGetCurrentIrpStackLocation(irp), own);
    EXPECT_EQ(own->MajorFunction, IRP_MJ_READ);
    EXPECT_EQ(own->MinorFunction, 7);
    EXPECT_EQ(own->Parameters.Read.Length, 123u);
    IoFreeIrp(irp);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

TEST_P(HcaDriver, UnknownMinorFunction_CompletesInvalidDeviceRequest) {
    fake_hca hca;
    for (unsigned code = 0; code < 256; ++code) {
        const auto minor = static_cast<UCHAR>(code);
        if (irpverbs::ci::verb_of(minor) != "?") continue;
        verb_call call([&](IRP* irp) {
            IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
            IoGetNextIrpStackLocation(irp)->MinorFunction = minor;
            return IoCallDriver(hca.fdo, irp);
        });
        EXPECT_EQ(call.status(), STATUS_INVALID_DEVICE_REQUEST);
    }
}

TEST_P(HcaDriver, DuplicateNodeGuid_ReturnsNameCollision) {
    fake_hca hca;
    HCA_DEVICE again;
    HCA_DEVICE_INIT(&again);
    again.Operations = &hca.operations;
    again.Name = "again";
    again.NodeGuid = fake_hca::guid;
    again.PortCount = 1;
    DEVICE_OBJECT* fdo = nullptr;
    EXPECT_EQ(HcaCreateDevice(&again, &fdo), STATUS_OBJECT_NAME_COLLISION);
    EXPECT_EQ(HcaFromGuid(fake_hca::guid), hca.fdo);
}

TEST_P(HcaDriver, QueuedCommand_RunsAtIrqlOfItsService) {
    for (const HCA_SERVICE service : {HcaServeByDpc, HcaServeByWorkItem}) {
        HCA_COMMAND_QUEUE queue;
        HcaInitializeCommandQueue(&queue, service, nullptr);
        {
            fake_hca hca(true);
            KIRQL level = HIGH_LEVEL;
            hca.on_submit = [&](IRP* irp) { return HcaQueueCommand(&queue, irp); };
            hca.on_query = [&](IRP*) {
                level = KeGetCurrentIrql();
                return STATUS_SUCCESS;
            };
            IB_CA* ca = open_ca(hca.fdo);
            IB_PORT_ATTR attr{};
            verb_call query(query_port(ca, attr));
            EXPECT_EQ(query.returned(), STATUS_PENDING);
            EXPECT_EQ(query.status(), STATUS_SUCCESS);
            EXPECT_EQ(level, service == HcaServeByDpc ? DISPATCH_LEVEL : PASSIVE_LEVEL);
            EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
        }
        HcaRundownCommandQueue(&queue);
    }
}

// At DISPATCH_LEVEL on the caller's processor the DPC waits, and so do the commands.
TEST_P(HcaDriver, CancelWhileQueued_CancelsQueryButNotClose) {
    HCA_COMMAND_QUEUE queue;
    HcaInitializeCommandQueue(&queue, HcaServeByDpc, nullptr);
    {
        fake_hca hca(true);
        int queries = 0;
        hca.on_submit = [&](IRP* irp) { return HcaQueueCommand(&queue, irp); };
        hca.on_query = [&](IRP*) {
            ++queries;
            return STATUS_SUCCESS;
        };
        IB_CA* ca = open_ca(hca.fdo);
        IB_PORT_ATTR attr{};
        std::unique_ptr<verb_call> query;
        std::unique_ptr<verb_call> close;
        {
            const at_dispatch_level here;
            query = std::make_unique<verb_call>(query_port(ca, attr));
            EXPECT_TRUE(query->cancel());
            EXPECT_TRUE(query->done());
            close =
                std::make_unique<verb_call>([&](IRP* irp) { return CiCloseCa(ca, nullptr, irp); });
            EXPECT_FALSE(close->cancel());
            EXPECT_FALSE(close->done());
        }
        EXPECT_EQ(query->status(), STATUS_CANCELLED);
        EXPECT_EQ(close->status(), STATUS_SUCCESS);
        EXPECT_EQ(queries, 0);
    }
    HcaRundownCommandQueue(&queue);
}

TEST_P(HcaDriver, CommandCancelledBeforeQueueing_NotExecuted) {
    HCA_COMMAND_QUEUE queue;
    HcaInitializeCommandQueue(&queue, HcaServeByDpc, nullptr);
    {
        fake_hca hca(true);
        int queries = 0;
        hca.on_submit = [&](IRP* irp) { return HcaQueueCommand(&queue, irp); };
        hca.on_query = [&](IRP*) {
            ++queries;
            return STATUS_SUCCESS;
        };
        IB_CA* ca = open_ca(hca.fdo);
        IB_PORT_ATTR attr{};
        verb_call query;
        query.cancel();
        query.send(query_port(ca, attr));
        EXPECT_EQ(query.returned(), STATUS_CANCELLED);
        EXPECT_EQ(query.status(), STATUS_CANCELLED);
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
        EXPECT_EQ(queries, 0);
    }
    HcaRundownCommandQueue(&queue);
}

/// A filter driver above an HCA's, which pends each verb and forwards it on request.
class holding_filter {
public:
    explicit holding_filter(DEVICE_OBJECT* fdo) : fdo_(fdo), below_(fdo->DriverObject) {
        filter_.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = hold;
        now_ = this;
        fdo->DriverObject = &filter_;
    }
    ~holding_filter() { fdo_->DriverObject = below_; }
    holding_filter(const holding_filter&) = delete;
    holding_filter& operator=(const holding_filter&) = delete;

    void forward() {
        IRP* irp = std::exchange(held_, nullptr);
        below_->MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL](fdo_, irp);
    }

private:
    static NTSTATUS hold(DEVICE_OBJECT*, IRP* irp) {
        IoMarkIrpPending(irp);
        now_->held_ = irp;
        return STATUS_PENDING;
    }
    static inline holding_filter* now_;

    DEVICE_OBJECT* fdo_;
    DRIVER_OBJECT* below_;
    DRIVER_OBJECT filter_{};
    IRP* held_ = nullptr;
};

[[gnu::noinline]] void overwrite_the_stack() {
    volatile unsigned char frames[4096];
    for (volatile unsigned char& each : frames)
        each = 0xEE;
}

// The parameters of a verb travel in its IRP: the frame of the call no longer exists when the
// driver reads them.
TEST_P(HcaDriver, Creation_ForwardedAfterTheCallReturned_HasItsParameters) {
    fake_hca hca;
    hca.operations.RegisterMadAgent = [](HCA_MAD_AGENT*, IRP*) { return STATUS_SUCCESS; };
    holding_filter filter(hca.fdo);
    const auto forwarded = [&](const auto& verb) {
        verb_call call(verb);
        EXPECT_EQ(call.returned(), STATUS_PENDING);
        overwrite_the_stack();
        filter.forward();
        EXPECT_EQ(call.status(), STATUS_SUCCESS);
        return call.information();
    };
    int context = 0;
    const IB_CA_DISPATCH ca_calls{
        nullptr, [](IB_CA*, VOID* mine, UCHAR, IB_ASYNC_EVENT) { ++*static_cast<int*>(mine); }};
    auto* ca = reinterpret_cast<IB_CA*>(
        forwarded([&](IRP* irp) { return CiOpenCa(hca.fdo, &context, &ca_calls, nullptr, irp); }));
    HcaReportPortEvent(hca.fdo, 1, IB_AE_SM_CHANGE);
    EXPECT_EQ(context, 1);
    const IB_CQ_DISPATCH cq_calls{nullptr,
                                  [](VOID* mine, IB_ASYNC_EVENT) { ++*static_cast<int*>(mine); }};
    auto* cq = reinterpret_cast<IB_CQ*>(
        forwarded([&](IRP* irp) { return CiCreateCq(ca, 77, &context, &cq_calls, nullptr, irp); }));
    EXPECT_EQ(cq->NumCqes, 77u);
    HcaReportCqEvent(reinterpret_cast<HCA_CQ*>(cq), IB_AE_CQ_ERROR);
    EXPECT_EQ(context, 2);
    IB_MAD_AGENT_ATTR attr{};
    attr.PortNumber = 1;
    attr.ManagementClass = 0x0A;
    auto* agent = reinterpret_cast<IB_MAD_AGENT*>(
        forwarded([&](IRP* irp) { return CiRegisterMadAgent(ca, &attr, &context, nullptr, irp); }));
    EXPECT_EQ(agent->Attr.ManagementClass, 0x0A);
    EXPECT_EQ(reinterpret_cast<HCA_MAD_AGENT*>(agent)->Context, &context);

    forwarded([&](IRP* irp) { return CiDeregisterMadAgent(agent, irp); });
    forwarded([&](IRP* irp) { return CiDestroyCq(cq, nullptr, irp); });
    forwarded([&](IRP* irp) { return CiCloseCa(ca, nullptr, irp); });
}

/// Reallocates memory that this thread has freed, and overwrites it.
class freed_memory_in_use {
public:
    freed_memory_in_use() {
        for (std::size_t size = 16; size <= 2048; size += 16)
            for (int i = 0; i < 64; ++i)
                blocks_.emplace_back(size, '\x5A');
    }

private:
    std::vector<std::vector<char>> blocks_;
};

// Devices that outlive their machine keep the driver object that they point at.
TEST(DriverAtTheEnd, MachineEnd_WithAnHcaThatIsOpen_LeavesItsDeviceWhole) {
    auto first = std::make_unique<irpverbs::dispatch::asio_machine>();
    std::unique_ptr<fake_hca> hca;
    IB_CA* ca = nullptr;
    {
        const irpverbs::dispatch::machine::scope inside(*first);
        hca = std::make_unique<fake_hca>();
        ca = open_ca(hca->fdo);
    }
    first.reset();
    const freed_memory_in_use overwritten;
    irpverbs::dispatch::asio_machine second;
    const irpverbs::dispatch::machine::scope inside(second);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    EXPECT_EQ(hca->closed, 1);
    hca.reset();
}

TEST_P(HcaDriver, OtherMachine_HasSeparateRegistry) {
    fake_hca hca;
    irpverbs::dispatch::asio_machine other;
    const irpverbs::dispatch::machine::scope inside(other);
    EXPECT_EQ(HcaFromGuid(fake_hca::guid), nullptr);
}

IRPVERBS_ON_BOTH_MACHINES(HcaDriver);

} // namespace
