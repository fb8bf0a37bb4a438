#include "attachment.hpp"

#include "adapter.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace irpverbs::hca_rdma {

namespace {

std::vector<std::string> names_in_umad(const os_interface& os) {
    std::array<char[UMAD_CA_NAME_LEN], UMAD_MAX_DEVICES> found{};
    const int count = os.get_cas_names(found.data(), static_cast<int>(found.size()));
    std::vector<std::string> all;
    for (const auto& each : std::span(found).first(static_cast<std::size_t>(std::max(count, 0)))) {
        std::string name(each, strnlen(each, UMAD_CA_NAME_LEN));
        // If there is no device, libibumad invents a name.
        if (!is_rnic(os, name) && !ca_snapshot(os, name).gone()) all.push_back(std::move(name));
    }
    return all;
}

// Sorted by name. If libibverbs can't list the devices, adapter::start reports the reason.
std::vector<std::string> names(const os_interface& os) {
    std::vector<std::string> all = names_in_umad(os);
    std::vector<verbs_device> verbs;
    find_devices(*os.verbs, verbs);
    for (const verbs_device& each : verbs)
        all.push_back(each.name);
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

std::string list(const std::vector<std::string>& all) {
    std::string text;
    for (const std::string& each : all)
        text += (text.empty() ? "" : ", ") + each;
    return text;
}

} // namespace

attachment::attachment() = default;
attachment::~attachment() = default;

NTSTATUS attachment::add(const os_interface& os, const std::string& name, std::string& problem) {
    auto made = std::make_unique<adapter>(os, name);
    const NTSTATUS status = made->start(problem);
    if (NT_SUCCESS(status)) adapters_.push_back(std::move(made));
    return status;
}

std::unique_ptr<attachment> attachment::make(const os_interface& os, const std::string& name,
                                             NTSTATUS& status, std::string& problem) {
    const std::vector<std::string> there = names(os);
    const bool known = std::find(there.begin(), there.end(), name) != there.end();
    status = STATUS_NO_SUCH_DEVICE;
    if (there.empty()) {
        problem = "no InfiniBand device: " SYS_INFINIBAND " has none (no driver of one is loaded)";
        return nullptr;
    }
    if (!name.empty() && !known) {
        problem = "no InfiniBand device '" + name + "': there is " + list(there);
        return nullptr;
    }
    std::unique_ptr<attachment> made(new attachment);
    for (const std::string& each : there) {
        if (!name.empty() && each != name) continue;
        status = made->add(os, each, problem);
        const bool skipped = name.empty() && status == STATUS_DEVICE_REMOVED;
        if (!NT_SUCCESS(status) && !skipped) return nullptr;
    }
    if (made->count() == 0) return nullptr;
    status = STATUS_SUCCESS;
    return made;
}

NTSTATUS attachment::refuse_opens() {
    const auto busy = std::find_if(adapters_.begin(), adapters_.end(), [](const auto& each) {
        return !NT_SUCCESS(HcaRefuseOpen(each->device()));
    });
    if (busy == adapters_.end()) return STATUS_SUCCESS;
    std::for_each(adapters_.begin(), busy, [](const auto& each) { HcaAllowOpen(each->device()); });
    return STATUS_DEVICE_BUSY;
}

} // namespace irpverbs::hca_rdma
