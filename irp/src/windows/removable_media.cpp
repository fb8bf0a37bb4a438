// Drivers of removable media use these: the device that a thread is to verify, the lock of volumes,
// and the numbers of devices.
#include "standard.hpp"

#include <dispatch/spin_lock.h>
#include <dispatch/support/locals.hpp>
#include <dispatch/support/spin_lock.hpp>
#include <irp/irp.h>
#include <map>
#include <windows/wdk/io.h>
#include <windows/wdk/resources.h>

namespace {

using irpverbs::dispatch::detail::machine_local;
using irpverbs::dispatch::detail::spin_guard;

struct media {
    media() {
        KeInitializeSpinLock(&lock);
        KeInitializeSpinLock(&volumes);
    }

    KSPIN_LOCK lock;
    std::map<PKTHREAD, PDEVICE_OBJECT> to_verify; // under the lock
    KSPIN_LOCK volumes;
    CONFIGURATION_INFORMATION counts{};
};

IRPVERBS_REGISTERED_EARLY const machine_local<media> media_of_machine(0);

} // namespace

extern "C" {

PDEVICE_OBJECT IoGetDeviceToVerify(PKTHREAD Thread) {
    media& here = media_of_machine.current();
    const spin_guard guard(here.lock);
    const auto found = here.to_verify.find(Thread);
    return found == here.to_verify.end() ? nullptr : found->second;
}

void IoSetDeviceToVerify(PKTHREAD Thread, PDEVICE_OBJECT DeviceObject) {
    media& here = media_of_machine.current();
    const spin_guard guard(here.lock);
    if (DeviceObject == nullptr)
        here.to_verify.erase(Thread);
    else
        here.to_verify[Thread] = DeviceObject;
}

void IoSetHardErrorOrVerifyDevice(PIRP Irp, PDEVICE_OBJECT DeviceObject) {
    if (Irp->Tail.Overlay.Thread != nullptr)
        IoSetDeviceToVerify(Irp->Tail.Overlay.Thread, DeviceObject);
}

void IoAcquireVpbSpinLock(PKIRQL Irql) {
    KeAcquireSpinLock(&media_of_machine.current().volumes, Irql);
}
void IoReleaseVpbSpinLock(KIRQL Irql) {
    KeReleaseSpinLock(&media_of_machine.current().volumes, Irql);
}

PCONFIGURATION_INFORMATION IoGetConfigurationInformation(void) {
    return &media_of_machine.current().counts;
}

} // extern "C"
