#include "planted.hpp"

#include <support/reference_drivers.hpp>

namespace planted {
namespace {

using namespace irpverbs::testing;

// A device that pends its requests in a cancel-safe queue, one of them under a key.
class keyed_device : public queue_driver {
public:
    keyed_device() { driver_.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = pend; }

    void complete_keyed() {
        if (IRP* const irp = IoCsqRemoveIrp(&csq_, &key_)) complete(irp, STATUS_SUCCESS);
    }

private:
    static NTSTATUS pend(DEVICE_OBJECT* device, IRP* irp) {
        auto& mine =
            static_cast<keyed_device&>(**static_cast<queue_driver**>(device->DeviceExtension));
        IO_CSQ_IRP_CONTEXT on_stack{};
        IoCsqInsertIrp(&mine.csq_, irp, planted("CsqContextOnStack") ? &on_stack : &mine.key_);
        return STATUS_PENDING;
    }

    IO_CSQ_IRP_CONTEXT key_{};
};

} // namespace

void queues_requests(sim_machine& sim) {
    keyed_device driver;
    request only;
    sim.spawn("send", [&] { IoCallDriver(driver.device(), only.irp()); });
    sim.spawn("serve", [&] { driver.complete_keyed(); });
    sim.run();
    driver.serve();
}

} // namespace planted
