// The shadow of what a user-mode provider exchanges with a driver.
#include <ci/user_data.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <sys/uio.h>
#include <unistd.h>

namespace {

constexpr ULONG tag = 0x61647543; // "Cuda"

struct shadow {
    CI_UDATA seen; // by the driver; its output is written behind this
    VOID* user_output;
    SIZE_T user_output_size;
};

// The kernel does the copy, and so tells of memory that is not there in place of a signal.
bool copy_across(ssize_t (*copy)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                                 unsigned long),
                 void* own, void* users, SIZE_T size) {
    const iovec here{own, size};
    const iovec there{users, size};
    return copy(getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(size);
}

bool read_user(void* to, const void* from, SIZE_T size, KPROCESSOR_MODE mode) {
    if (size == 0) return true;
    if (mode == UserMode) return copy_across(process_vm_readv, to, const_cast<void*>(from), size);
    std::memcpy(to, from, size);
    return true;
}

bool write_user(void* to, void* from, SIZE_T size, KPROCESSOR_MODE mode) {
    if (size == 0) return true;
    if (mode == UserMode) return copy_across(process_vm_writev, from, to, size);
    std::memcpy(to, from, size);
    return true;
}

bool sizes_are_sane(const CI_UDATA& user) {
    return user.InputSize <= CI_UDATA_MAXIMUM_SIZE && user.OutputSize <= CI_UDATA_MAXIMUM_SIZE &&
           (user.InputSize == 0 || user.pInputBuffer != nullptr) &&
           (user.OutputSize == 0 || user.pOutputBuffer != nullptr);
}

} // namespace

extern "C" {

NTSTATUS CiShadowUserData(const CI_UDATA* User, KPROCESSOR_MODE Mode, CI_UDATA** Shadow) {
    if (!sizes_are_sane(*User)) return STATUS_INVALID_PARAMETER;
    const SIZE_T size = sizeof(shadow) + User->InputSize + User->OutputSize;
    auto* memory = static_cast<char*>(ExAllocatePool2(POOL_FLAG_NON_PAGED, size, tag));
    if (memory == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    char* input = memory + sizeof(shadow);
    if (!read_user(input, User->pInputBuffer, User->InputSize, Mode)) {
        ExFreePoolWithTag(memory, tag);
        return STATUS_ACCESS_VIOLATION;
    }
    auto* made =
        new (memory) shadow{{input, input + User->InputSize, User->InputSize, User->OutputSize},
                            User->pOutputBuffer,
                            User->OutputSize};
    *Shadow = &made->seen;
    return STATUS_SUCCESS;
}

NTSTATUS CiReturnUserData(CI_UDATA* Shadow, KPROCESSOR_MODE Mode, SIZE_T* Returned) {
    auto* held = reinterpret_cast<shadow*>(Shadow);
    NTSTATUS status = STATUS_SUCCESS;
    SIZE_T size = held->seen.OutputSize;
    if (size > held->user_output_size) {
        size = held->user_output_size;
        status = STATUS_BUFFER_OVERFLOW;
    }
    if (!write_user(held->user_output, held->seen.pOutputBuffer, size, Mode)) {
        size = 0;
        status = STATUS_ACCESS_VIOLATION;
    }
    if (Returned != nullptr) *Returned = size;
    ExFreePoolWithTag(held, tag);
    return status;
}

} // extern "C"
