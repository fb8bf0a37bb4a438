// The captured copy of the data that a user-mode provider exchanges with a driver.
#include <ci/user_data.h>

#include "user_memory.hpp"

#include <array>
#include <bit>
#include <new>

namespace {

using irpverbs::ci::read_user;
using irpverbs::ci::write_user;

constexpr ULONG data_tag = 0x61647543; // "Cuda"

struct captured_data {
    CI_UDATA data; // for the driver, whose output lies behind this
    VOID* user_output;
    SIZE_T user_output_size;
};

bool sizes_are_sane(const CI_UDATA& user) {
    return user.InputSize <= CI_UDATA_MAXIMUM_SIZE && user.OutputSize <= CI_UDATA_MAXIMUM_SIZE &&
           (user.InputSize == 0 || user.pInputBuffer != nullptr) &&
           (user.OutputSize == 0 || user.pOutputBuffer != nullptr);
}

} // namespace

extern "C" {

NTSTATUS CiCaptureUserData(const CI_UDATA* User, KPROCESSOR_MODE Mode, CI_UDATA** Captured) {
    std::array<char, sizeof(CI_UDATA)> copy; // the user may change *User at any time
    if (!read_user(copy.data(), User, copy.size(), Mode)) return STATUS_ACCESS_VIOLATION;
    const auto user = std::bit_cast<CI_UDATA>(copy);
    if (!sizes_are_sane(user)) return STATUS_INVALID_PARAMETER;
    const SIZE_T size = sizeof(captured_data) + user.InputSize + user.OutputSize;
    auto* memory = static_cast<char*>(ExAllocatePool2(POOL_FLAG_NON_PAGED, size, data_tag));
    if (memory == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    char* input = memory + sizeof(captured_data);
    if (!read_user(input, user.pInputBuffer, user.InputSize, Mode)) {
        ExFreePoolWithTag(memory, data_tag);
        return STATUS_ACCESS_VIOLATION;
    }
    auto* made =
        new (memory) captured_data{{input, input + user.InputSize, user.InputSize, user.OutputSize},
                                   user.pOutputBuffer,
                                   user.OutputSize};
    *Captured = &made->data;
    return STATUS_SUCCESS;
}

NTSTATUS CiReturnUserData(CI_UDATA* Captured, KPROCESSOR_MODE Mode, SIZE_T* Returned) {
    auto* held = reinterpret_cast<captured_data*>(Captured);
    NTSTATUS status = STATUS_SUCCESS;
    SIZE_T size = held->data.OutputSize;
    if (size > held->user_output_size) {
        size = held->user_output_size;
        status = STATUS_BUFFER_OVERFLOW;
    }
    if (!write_user(held->user_output, held->data.pOutputBuffer, size, Mode)) {
        size = 0;
        status = STATUS_ACCESS_VIOLATION;
    }
    if (Returned != nullptr) *Returned = size;
    ExFreePoolWithTag(held, data_tag);
    return status;
}

} // extern "C"
