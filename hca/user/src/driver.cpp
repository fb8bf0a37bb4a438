// The registration of "user:" for HcaAttach.
#include "attachment.hpp"

#include <dispatch/machine.hpp>
#include <hca/user.h>

#include <cstdio>
#include <new>

namespace irpverbs::hca_user {

namespace {

NTSTATUS attach(const char* location, ULONG* count, void** handle, char* message,
                SIZE_T message_size) {
    NTSTATUS status = STATUS_NOT_SUPPORTED;
    std::string problem = "the machine is simulated, and has no sockets";
    try {
        std::unique_ptr<attachment> made;
        if (!dispatch::machine::current().simulated())
            made = attachment::make(location, status, problem);
        if (made == nullptr) {
            std::snprintf(message, message_size, "%s", problem.c_str());
            return status;
        }
        *count = made->count();
        *handle = made.release();
        return STATUS_SUCCESS;
    } catch (const std::bad_alloc&) {
        std::snprintf(message, message_size, "not enough memory");
        return STATUS_INSUFFICIENT_RESOURCES;
    }
}

NTSTATUS list(const char* location, PFN_HCA_USER_LISTED report, void* context,
              std::string& problem) {
    std::vector<ci::wire::hca> served;
    const NTSTATUS status = list_location(location, served, problem);
    if (!NT_SUCCESS(status)) return status;
    for (const ci::wire::hca& each : served)
        report(context, each.name.data(), each.guid);
    return STATUS_SUCCESS;
}

NTSTATUS detach(void* handle) {
    auto* const leaving = static_cast<attachment*>(handle);
    const NTSTATUS status = leaving->refuse_opens();
    if (NT_SUCCESS(status)) delete leaving;
    return status;
}

HCA_DRIVER user_driver = {"user", attach, detach, nullptr};

__attribute__((constructor)) void register_driver() { HcaRegisterDriver(&user_driver); }

} // namespace
} // namespace irpverbs::hca_user

extern "C" NTSTATUS HcaUserList(const char* location, PFN_HCA_USER_LISTED report, void* context,
                                char* message, SIZE_T message_size) try {
    std::string problem;
    const NTSTATUS status = irpverbs::hca_user::list(location, report, context, problem);
    if (!NT_SUCCESS(status)) std::snprintf(message, message_size, "%s", problem.c_str());
    return status;
} catch (const std::bad_alloc&) {
    std::snprintf(message, message_size, "not enough memory");
    return STATUS_INSUFFICIENT_RESOURCES;
}

// A linker option of each program with this package names this symbol. It forces the linker to keep
// this object file, and with it the registration.
extern "C" NT_API const char IrpverbsHcaUser;
const char IrpverbsHcaUser = 0;
