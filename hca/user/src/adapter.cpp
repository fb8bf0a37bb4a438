#include "adapter.hpp"

#include "user_object.hpp"

#include <hca/hca.h>
#include <hca/user.h>

#include <algorithm>

namespace irpverbs::hca_user {

adapter::adapter(std::string socket, const ci::wire::hca& served,
                 std::unique_ptr<provider_library> provider, bool checks_memory)
    : socket_(std::move(socket)), served_(served), provider_(std::move(provider)),
      checks_memory_(checks_memory) {}

adapter::~adapter() {
    if (device_ != nullptr) HcaDeleteDevice(device_);
}

NTSTATUS adapter::start(std::string& problem) {
    HCA_DEVICE description;
    HCA_DEVICE_INIT(&description);
    description.Operations = &operations();
    description.Name = served_.name.data();
    description.NodeGuid = served_.guid;
    description.PortCount = static_cast<UCHAR>(served_.ports);
    description.ExtensionSize = sizeof(adapter*);
    for (SIZE_T* each :
         {&description.CaExtensionSize, &description.CqExtensionSize,
          &description.MadAgentExtensionSize, &description.PdExtensionSize,
          &description.MrExtensionSize, &description.QpExtensionSize, &description.AvExtensionSize,
          &description.McastExtensionSize, &description.SrqExtensionSize,
          &description.MwExtensionSize, &description.XrcdExtensionSize})
        *each = sizeof(user_object);
    DEVICE_OBJECT* made = nullptr;
    const NTSTATUS status = HcaCreateDevice(&description, &made);
    if (!NT_SUCCESS(status)) {
        problem =
            std::string(served_.name.data()) + ": " +
            (status == STATUS_OBJECT_NAME_COLLISION ? "another HCA of this process has its GUID"
                                                    : NtStatusMeaning(status));
        return status;
    }
    *static_cast<adapter**>(HcaDeviceExtension(made)) = this;
    device_ = made;
    return STATUS_SUCCESS;
}

} // namespace irpverbs::hca_user

extern "C" NTSTATUS HcaUserSocket(ib_guid_t guid, char* path, SIZE_T size) {
    using namespace irpverbs::hca_user;
    DEVICE_OBJECT* const device = HcaFromGuid(guid);
    if (device == nullptr || HcaDeviceOperations(device) != &operations())
        return STATUS_OBJECT_NAME_NOT_FOUND;
    if (size == 0) return STATUS_BUFFER_TOO_SMALL;
    const std::string& whole = adapter::of(device).socket();
    *std::copy_n(whole.data(), std::min<std::size_t>(whole.size(), size - 1), path) = '\0';
    return whole.size() < size ? STATUS_SUCCESS : STATUS_BUFFER_OVERFLOW;
}
