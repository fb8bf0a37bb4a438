// The registration of "software:" and "roce:" for HcaAttach.
#include "driver.hpp"

#include "adapter.hpp"
#include "fabric_uri.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace irpverbs::hca_software {

NTSTATUS start_adapters(fabric& where, ULONG& count, std::string& problem) {
    for (node& each : where.nodes()) {
        if (each.type != IB_NODE_CA) continue;
        auto made = std::make_unique<adapter>(where, each);
        if (const NTSTATUS status = made->start(); !NT_SUCCESS(status)) {
            problem = "\"" + each.id + "\": " + NtStatusMeaning(status);
            return status;
        }
        each.attached = std::move(made);
        ++count;
    }
    return STATUS_SUCCESS;
}

NTSTATUS detach_fabric(void* attachment) {
    auto* detached = static_cast<fabric*>(attachment);
    std::vector<DEVICE_OBJECT*> refusing;
    for (node& each : detached->nodes()) {
        if (each.attached == nullptr) continue;
        if (!NT_SUCCESS(HcaRefuseOpen(each.attached->device()))) {
            for (DEVICE_OBJECT* device : refusing)
                HcaAllowOpen(device);
            return STATUS_DEVICE_BUSY;
        }
        refusing.push_back(each.attached->device());
    }
    delete detached;
    return STATUS_SUCCESS;
}

NTSTATUS set_message(NTSTATUS status, char* message, SIZE_T size, std::string_view text) {
    if (size != 0) *std::copy_n(text.data(), std::min(text.size(), size - 1), message) = '\0';
    return status;
}

namespace {

// Returns false on failure; errno has the cause.
bool read_file(const std::string& name, std::string& text) {
    std::FILE* const file = std::fopen(name.c_str(), "rb");
    if (file == nullptr) return false;
    text.clear();
    std::array<char, 4096> part;
    while (const std::size_t count = std::fread(part.data(), 1, part.size(), file))
        text.append(part.data(), count);
    const int problem = std::ferror(file) != 0 ? errno : 0;
    std::fclose(file);
    errno = problem;
    return problem == 0;
}

NTSTATUS attach_text(std::string_view text, const fabric_uri& uri, ULONG& count, void** attachment,
                     std::string& problem) {
    const topology plan = parse_topology(text, uri.file.empty() ? "built-in" : uri.file, read_file);
    auto made = std::make_unique<fabric>(plan);
    if (uri.configured) made->bring_up(plan);
    if (uri.has_faults()) made->set_faults(uri.faults);
    if (uri.checked) made->check_memory();
    const NTSTATUS status = start_adapters(*made, count, problem);
    if (NT_SUCCESS(status)) *attachment = made.release();
    return status;
}

NTSTATUS attach(const char* where, ULONG* count, void** attachment, char* message,
                SIZE_T message_size) {
    try {
        const fabric_uri uri = parse_fabric_uri(where);
        std::string text(built_in_topology());
        if (!uri.file.empty() && !read_file(uri.file, text))
            return set_message(STATUS_NO_SUCH_FILE, message, message_size,
                               uri.file + ": " + std::strerror(errno));
        std::string problem;
        const NTSTATUS status = attach_text(text, uri, *count, attachment, problem);
        return set_message(status, message, message_size, problem);
    } catch (const uri_error& wrong) {
        return set_message(STATUS_OBJECT_NAME_INVALID, message, message_size, wrong.what());
    } catch (const topology_error& wrong) {
        return set_message(STATUS_DATA_ERROR, message, message_size, wrong.what());
    } catch (const std::bad_alloc&) {
        return set_message(STATUS_INSUFFICIENT_RESOURCES, message, message_size,
                           "not enough memory");
    }
}

HCA_DRIVER software_driver = {"software", attach, detach_fabric, nullptr};

__attribute__((constructor)) void register_drivers() {
    HcaRegisterDriver(&software_driver);
    HcaRegisterDriver(&roce_driver);
}

} // namespace
} // namespace irpverbs::hca_software

// A linker option of each program with this package names this symbol. It forces the linker to keep
// this object file, and with it the registration.
extern "C" NT_API const char IrpverbsHcaSoftware;
const char IrpverbsHcaSoftware = 0;
