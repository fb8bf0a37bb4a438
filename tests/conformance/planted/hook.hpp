// HCAs with a known defect: the software HCA, with a hook between the verbs and its FDO. What goes
// wrong there may be a driver's mistake or one of the half that all drivers have in common.
#pragma once

#include <ci/driver.h>
#include <conformance/conformance.h>

#include <span>
#include <vector>

namespace planted {

struct client {
    IB_CA* ca;
    IB_CA_DISPATCH calls;
    void* context;
};

struct hook;

struct defect {
    const char* name;
    const char* found_by; // the case that is meant to
    /// In place of the FDO's dispatch routine; null: not touched.
    NTSTATUS (*dispatch)(hook& at, IRP* irp);
    /// In place of the adapter's hand; null: not touched.
    NTSTATUS (*raise)(hook& at, UCHAR port, IB_ASYNC_EVENT event);
};

/// An HCA that is hooked.
struct hook {
    DRIVER_OBJECT driver; // the FDO's, while it is hooked
    DEVICE_OBJECT* fdo;
    DRIVER_OBJECT* original;
    const defect* plan;
    ib_guid_t guid;
    KSPIN_LOCK lock;
    std::vector<client> clients; // those that opened through `forward`
    const void* closing;         // whose close pends, where a defect takes note of it

    /// As it should be.
    NTSTATUS pass(IRP* irp) const {
        return original->MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL](fdo, irp);
    }
    NTSTATUS raise(UCHAR port, IB_ASYNC_EVENT event) const;
};

/// The CA, queue or agent that a verb is sent to.
inline void* object_of(IRP* irp) {
    return IoGetCurrentIrpStackLocation(irp)->Parameters.Others.Argument1;
}

inline UCHAR minor_of(IRP* irp) { return IoGetCurrentIrpStackLocation(irp)->MinorFunction; }

struct outcome {
    NTSTATUS status;
    ULONG_PTR information;
};

/// Has the verb done with an IRP of our own, and waits for it: what then happens to the client's is
/// the defect's.
outcome forward(hook& at, IRP* irp);

NTSTATUS complete(IRP* irp, outcome with);

extern const std::span<const defect> verb_defects;
extern const std::span<const defect> event_defects;

/// The scheme "planted:NAME", and the hands for it.
extern HCA_DRIVER driver;
extern const CONFORMANCE_ADAPTER adapter;

std::vector<const defect*> all_defects();

} // namespace planted
