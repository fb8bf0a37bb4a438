#include "standard.hpp"

#include <windows/wdk/rtl.h>
#include <windows/wdk/status_codes.h>

namespace {

constexpr ULONG unknown = 317; // ERROR_MR_MID_NOT_FOUND: a status without an error

struct mapping {
    NTSTATUS status;
    ULONG error;
};

constexpr std::array mappings{mapping{STATUS_SUCCESS, 0},
                              mapping{STATUS_INVALID_DEVICE_REQUEST, 1},
                              mapping{STATUS_NOT_IMPLEMENTED, 1},
                              mapping{STATUS_NO_SUCH_FILE, 2},
                              mapping{STATUS_NO_SUCH_DEVICE, 2},
                              mapping{STATUS_OBJECT_NAME_NOT_FOUND, 2},
                              mapping{STATUS_OBJECT_PATH_NOT_FOUND, 3},
                              mapping{STATUS_ACCESS_DENIED, 5},
                              mapping{STATUS_DELETE_PENDING, 5},
                              mapping{STATUS_INVALID_HANDLE, 6},
                              mapping{STATUS_OBJECT_TYPE_MISMATCH, 6},
                              mapping{STATUS_NO_MEMORY, 8},
                              mapping{STATUS_MEDIA_WRITE_PROTECTED, 19},
                              mapping{STATUS_DEVICE_NOT_READY, 21},
                              mapping{STATUS_INFO_LENGTH_MISMATCH, 24},
                              mapping{STATUS_SHARING_VIOLATION, 32},
                              mapping{STATUS_END_OF_FILE, 38},
                              mapping{STATUS_NOT_SUPPORTED, 50},
                              mapping{STATUS_INVALID_PARAMETER, 87},
                              mapping{STATUS_PIPE_BROKEN, 109},
                              mapping{STATUS_DISK_FULL, 112},
                              mapping{STATUS_IO_TIMEOUT, 121},
                              mapping{STATUS_BUFFER_TOO_SMALL, 122},
                              mapping{STATUS_OBJECT_NAME_INVALID, 123},
                              mapping{STATUS_DEVICE_BUSY, 170},
                              mapping{STATUS_OBJECT_NAME_COLLISION, 183},
                              mapping{STATUS_BUFFER_OVERFLOW, 234},
                              mapping{STATUS_NO_MORE_ENTRIES, 259},
                              mapping{STATUS_UNSUCCESSFUL, 31},
                              mapping{STATUS_DEVICE_DOES_NOT_EXIST, 433},
                              mapping{STATUS_NOT_FOUND, 1168},
                              mapping{STATUS_DEVICE_NOT_CONNECTED, 1167},
                              mapping{STATUS_IO_DEVICE_ERROR, 1117},
                              mapping{STATUS_INSUFFICIENT_RESOURCES, 1450},
                              mapping{STATUS_CANCELLED, 995},
                              mapping{STATUS_PENDING, 997},
                              mapping{STATUS_PRIVILEGE_NOT_HELD, 1314},
                              mapping{STATUS_INVALID_SID, 1337},
                              mapping{STATUS_INVALID_SECURITY_DESCR, 1338},
                              mapping{STATUS_TIMEOUT, 1460}};

} // namespace

extern "C" {

ULONG RtlNtStatusToDosErrorNoTeb(NTSTATUS Status) noexcept {
    const auto* const found = std::find_if(mappings.begin(), mappings.end(),
                                           [=](mapping each) { return each.status == Status; });
    return found == mappings.end() ? unknown : found->error;
}
ULONG RtlNtStatusToDosError(NTSTATUS Status) noexcept { return RtlNtStatusToDosErrorNoTeb(Status); }

} // extern "C"
