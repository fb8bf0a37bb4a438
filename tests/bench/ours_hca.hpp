// The software HCAs of the built-in fabric, and IRPs for their verbs.
#pragma once

#include "harness.hpp"

#include <ci/ci.h>
#include <hca/hca.h>
#include <irp/wdm.h>

#include <array>

namespace irpverbs::bench {

// The built-in fabric.
class software_hca {
public:
    software_hca() {
        expect(NT_SUCCESS(HcaAttach("software:", nullptr)), "HcaAttach");
        std::array<ib_guid_t, 16> guids;
        auto count = static_cast<ULONG>(guids.size());
        expect(NT_SUCCESS(HcaEnumerate(guids.data(), &count)) && count != 0, "HcaEnumerate");
        guid_ = guids[0];
        last_ = guids[count - 1];
    }
    ~software_hca() { HcaDetach("software:"); }
    software_hca(const software_hca&) = delete;
    software_hca& operator=(const software_hca&) = delete;

    // The first HCA, and the last, which is behind another switch.
    ib_guid_t guid() const { return guid_; }
    DEVICE_OBJECT* device() const { return HcaFromGuid(guid_); }
    DEVICE_OBJECT* last_device() const { return HcaFromGuid(last_); }

private:
    ib_guid_t guid_;
    ib_guid_t last_;
};

BENCH_OPAQUE inline NTSTATUS keep_irp(PDEVICE_OBJECT, PIRP, PVOID) {
    return STATUS_MORE_PROCESSING_REQUIRED;
}

inline PIRP prepared(PIRP irp) {
    IoReuseIrp(irp, STATUS_SUCCESS);
    IoSetCompletionRoutine(irp, keep_irp, nullptr, TRUE, TRUE, TRUE);
    return irp;
}

inline IB_CA* open(DEVICE_OBJECT* device, PIRP irp) {
    CiOpenCa(device, nullptr, nullptr, nullptr, prepared(irp));
    expect(NT_SUCCESS(irp->IoStatus.Status), "CiOpenCa");
    return reinterpret_cast<IB_CA*>(irp->IoStatus.Information);
}

inline void close(IB_CA* ca, PIRP irp) {
    CiCloseCa(ca, nullptr, prepared(irp));
    expect(NT_SUCCESS(irp->IoStatus.Status), "CiCloseCa");
}

// An open CA and an IRP for its verbs.
class open_ca {
public:
    explicit open_ca(DEVICE_OBJECT* device) : ca_(open(device, irp_)) {}
    ~open_ca() {
        close(ca_, irp_);
        IoFreeIrp(irp_);
    }
    open_ca(const open_ca&) = delete;
    open_ca& operator=(const open_ca&) = delete;

    IB_CA* get() const { return ca_; }
    PIRP irp() const { return irp_; }

private:
    PIRP irp_ = IoAllocateIrp(1, FALSE);
    IB_CA* ca_;
};

} // namespace irpverbs::bench
