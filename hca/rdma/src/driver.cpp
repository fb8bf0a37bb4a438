// The registration of "rdma:" for HcaAttach.
#include "attachment.hpp"

#include <cstdio>
#include <new>

namespace irpverbs::hca_rdma {

namespace {

NTSTATUS attach(const char* location, ULONG* count, void** handle, char* message,
                SIZE_T message_size) {
    NTSTATUS status = STATUS_INSUFFICIENT_RESOURCES;
    std::string problem;
    try {
        auto made = attachment::make(real_os, location, status, problem);
        if (made == nullptr) {
            std::snprintf(message, message_size, "%s", problem.c_str());
            return status;
        }
        *count = made->count();
        *handle = made.release();
    } catch (const std::bad_alloc&) {
        std::snprintf(message, message_size, "not enough memory");
    }
    return status;
}

NTSTATUS detach(void* handle) {
    auto* leaving = static_cast<attachment*>(handle);
    const NTSTATUS status = leaving->refuse_opens();
    if (NT_SUCCESS(status)) delete leaving;
    return status;
}

HCA_DRIVER rdma_driver = {"rdma", attach, detach, nullptr};

__attribute__((constructor)) void register_driver() { HcaRegisterDriver(&rdma_driver); }

} // namespace
} // namespace irpverbs::hca_rdma

// A linker option of each program with this package names this symbol. It forces the linker to keep
// this object file, and with it the registration.
extern "C" NT_API const char IrpverbsHcaRdma;
const char IrpverbsHcaRdma = 0;
