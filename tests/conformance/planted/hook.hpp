// HCAs with a known defect: the software HCA, with a hook between the verbs and its FDO. A defect
// there may stand for a mistake of a driver or of the common half of all drivers.
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
    const char* found_by; // the case that must find it
    /// Replaces the FDO's dispatch routine; null: not replaced.
    NTSTATUS (*dispatch)(hook& at, IRP* irp);
    /// Replaces the adapter's RaisePortEvent; null: not replaced.
    NTSTATUS (*raise)(hook& at, UCHAR port, IB_ASYNC_EVENT event);
};

/// A hooked HCA.
struct hook {
    DRIVER_OBJECT driver; // the FDO's, while it is hooked
    DEVICE_OBJECT* fdo;
    DRIVER_OBJECT* original;
    const defect* plan;
    ib_guid_t guid;
    KSPIN_LOCK lock;
    std::vector<client> clients; // opened through `forward`
    const void* closing;         // object whose close pends, if the defect records it

    /// Passes the IRP to the original dispatch routine.
    NTSTATUS pass(IRP* irp) const {
        return original->MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL](fdo, irp);
    }
    NTSTATUS raise(UCHAR port, IB_ASYNC_EVENT event) const;
};

/// The object that a verb is sent to.
inline void* object_of(IRP* irp) {
    return IoGetCurrentIrpStackLocation(irp)->Parameters.Others.Argument1;
}

inline UCHAR minor_of(IRP* irp) { return IoGetCurrentIrpStackLocation(irp)->MinorFunction; }

struct outcome {
    NTSTATUS status;
    ULONG_PTR information;
};

/// Executes the verb with another IRP and waits for it; the defect then decides the completion of
/// the client's IRP.
outcome forward(hook& at, IRP* irp);

NTSTATUS complete(IRP* irp, outcome with);

/// Replaces the status Right by Wrong.
template <UCHAR Minor, NTSTATUS Right, NTSTATUS Wrong>
NTSTATUS confuses(hook& at, IRP* irp) {
    if (minor_of(irp) != Minor) return at.pass(irp);
    outcome seen = forward(at, irp);
    if (seen.status == Right) seen.status = Wrong;
    return complete(irp, seen);
}

extern const std::span<const defect> verb_defects;
extern const std::span<const defect> qp_defects;
extern const std::span<const defect> event_defects;

/// The scheme "planted:NAME", and its adapter.
extern HCA_DRIVER driver;
extern const CONFORMANCE_ADAPTER adapter;

std::vector<const defect*> all_defects();

} // namespace planted
