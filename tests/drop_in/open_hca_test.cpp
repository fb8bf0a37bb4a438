// An HCA that the process keeps open for its queries. It is never closed, so each case runs in a
// child process.
#include <drop_in/open_hca.hpp>

#include <ci/driver.h>
#include <dispatch/asio_machine.hpp>
#include <dispatch/status.hpp>
#include <support/child_process.hpp>

#include <gtest/gtest.h>

namespace {

using irpverbs::dispatch::asio_machine;
using irpverbs::dispatch::machine;
using irpverbs::drop_in::attributes_of;
using irpverbs::testing::in_child;

int opened = 0;
NTSTATUS status_of_query = STATUS_SUCCESS;

HCA_OPERATIONS operations() {
    HCA_OPERATIONS given;
    HCA_OPERATIONS_INIT(&given);
    given.OpenCa = [](HCA_CA*, CI_UDATA*, IRP*) {
        ++opened;
        return STATUS_SUCCESS;
    };
    given.QueryCa = [](HCA_CA*, IB_CA_ATTR* attr, SIZE_T size, IRP* irp) {
        IB_CA_ATTR seen{};
        seen.Size = sizeof(seen);
        seen.PortCount = 1;
        return NT_SUCCESS(status_of_query) ? HcaCopyAttributes(&seen, sizeof(seen), attr, size, irp)
                                           : status_of_query;
    };
    return given;
}

/// A device of the drop-in libraries on an HCA that counts how often it is opened.
class counting_hca {
public:
    counting_hca() {
        HCA_DEVICE description;
        HCA_DEVICE_INIT(&description);
        description.Operations = &operations_;
        description.Name = "counting";
        description.NodeGuid = 0x77;
        description.PortCount = 1;
        HcaCreateDevice(&description, &shown.fdo);
    }

private:
    asio_machine machine_{{.processors = 2}};
    const machine::scope inside_{machine_};
    const HCA_OPERATIONS operations_ = operations();

public:
    irpverbs::drop_in::device shown{"irpverbs0", "host1", 0x77, nullptr};
};

TEST(OpenHca, AttributesAskedAgain_HcaIsOpenedOnce) {
    EXPECT_TRUE(in_child([] {
        auto& hca = *new counting_hca;
        for (int i = 0; i < 3; ++i)
            if (attributes_of(hca.shown).size() < sizeof(IB_CA_ATTR)) return false;
        return opened == 1;
    }));
}

TEST(OpenHca, QueryFails_HcaIsOpenedAnew) {
    EXPECT_TRUE(in_child([] {
        auto& hca = *new counting_hca;
        attributes_of(hca.shown);
        status_of_query = STATUS_FILE_FORCED_CLOSED; // as when its daemon has ended
        bool failed = false;
        try {
            attributes_of(hca.shown);
        } catch (const irpverbs::dispatch::status_error& error) {
            failed = error.status() == STATUS_FILE_FORCED_CLOSED;
        }
        status_of_query = STATUS_SUCCESS;
        attributes_of(hca.shown);
        attributes_of(hca.shown);
        return failed && opened == 3; // the failing call tried a second time
    }));
}

} // namespace
