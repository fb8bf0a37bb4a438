// A driver of one HCA with two ports, whose operations a test sets.
#pragma once

#include <objects/hca_device.hpp>

#include <ci/driver.h>
#include <hca/hca.h>

#include <gtest/gtest.h>

#include <functional>

namespace irpverbs::testing {

struct fake_hca {
    static constexpr ib_guid_t guid = 0x77;

    DEVICE_OBJECT* const fdo;
    HCA_OPERATIONS& operations;             // the device's copy
    std::function<NTSTATUS(IRP*)> on_query; // called by QueryPort
    std::function<NTSTATUS(IRP*)> on_submit;
    int opened = 0;
    int closed = 0;
    int queues = 0; // created and not destroyed

    explicit fake_hca(bool submits = false)
        : fdo(make_device(submits)), operations(ci::device_of(fdo).operations) {
        *static_cast<fake_hca**>(HcaDeviceExtension(fdo)) = this;
    }
    ~fake_hca() {
        EXPECT_EQ(HcaRefuseOpen(fdo), STATUS_SUCCESS);
        HcaDeleteDevice(fdo);
    }
    fake_hca(const fake_hca&) = delete;
    fake_hca& operator=(const fake_hca&) = delete;

    static fake_hca& of(DEVICE_OBJECT* device) {
        return **static_cast<fake_hca**>(HcaDeviceExtension(device));
    }

private:
    static DEVICE_OBJECT* make_device(bool submits) {
        HCA_OPERATIONS given;
        HCA_OPERATIONS_INIT(&given);
        given.OpenCa = [](HCA_CA* ca, CI_UDATA*, IRP*) {
            ++of(ca->Device).opened;
            return STATUS_SUCCESS;
        };
        given.CloseCa = [](HCA_CA* ca, CI_UDATA*, IRP*) {
            EXPECT_EQ(of(ca->Device).queues, 0);
            ++of(ca->Device).closed;
            return STATUS_SUCCESS;
        };
        given.QueryPort = [](HCA_CA* ca, UCHAR, IB_PORT_ATTR*, SIZE_T, IRP* irp) {
            return of(ca->Device).on_query(irp);
        };
        given.CreateCq = [](HCA_CQ* cq, CI_UDATA*, IRP*) {
            ++of(cq->Ca->Device).queues;
            return STATUS_SUCCESS;
        };
        given.DestroyCq = [](HCA_CQ* cq, CI_UDATA*, IRP*) {
            --of(cq->Ca->Device).queues;
            return STATUS_SUCCESS;
        };
        if (submits)
            given.Submit = [](DEVICE_OBJECT* device, IRP* irp) {
                return of(device).on_submit(irp);
            };
        HCA_DEVICE description;
        HCA_DEVICE_INIT(&description);
        description.Operations = &given;
        description.Name = "fake";
        description.NodeGuid = guid;
        description.PortCount = 2;
        description.ExtensionSize = sizeof(fake_hca*);
        DEVICE_OBJECT* made = nullptr;
        EXPECT_EQ(HcaCreateDevice(&description, &made), STATUS_SUCCESS);
        return made;
    }
};

} // namespace irpverbs::testing
