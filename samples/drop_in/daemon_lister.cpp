// The HCAs of a daemon, which are listed without attaching them.
#include <drop_in/devices.hpp>
#include <hca/user.h>

#include <irp/wdm.h>

#include <stdexcept>
#include <string_view>

namespace {

using irpverbs::drop_in::listed_hca;

bool list(const std::string& uri, std::vector<listed_hca>& found) {
    constexpr std::string_view scheme = "user:";
    if (!uri.starts_with(scheme)) return false;
    const auto add = [](void* all, const char* name, ib_guid_t guid) {
        static_cast<std::vector<listed_hca>*>(all)->push_back({name, guid});
    };
    char message[512] = "";
    const NTSTATUS status =
        HcaUserList(uri.c_str() + scheme.size(), add, &found, message, sizeof message);
    if (!NT_SUCCESS(status)) throw std::runtime_error(message);
    return true;
}

__attribute__((constructor)) void choose() { irpverbs::drop_in::set_lister(list); }

} // namespace
