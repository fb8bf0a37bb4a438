#include "failure.hpp"

#include <cerrno>
#include <cstdlib>

namespace irpverbs::hca_rdma {

int failure_of(long result) {
    if (result == -1 && errno != 0) return errno;
    return static_cast<int>(std::labs(result));
}

int failure_of(const void* result) {
    if (result != nullptr) return 0;
    return errno != 0 ? errno : ENOMEM;
}

bool is_gone(int error) {
    return error == ENODEV || error == ENXIO || error == ENOENT || error == EIO;
}

NTSTATUS status_of(int error) {
    if (is_gone(error)) return STATUS_FILE_FORCED_CLOSED;
    switch (error) {
    case 0:
        return STATUS_SUCCESS;
    case EINVAL:
        return STATUS_INVALID_PARAMETER;
    case EFAULT:
        return STATUS_ACCESS_VIOLATION;
    case EACCES:
    case EPERM:
        return STATUS_ACCESS_DENIED;
    case EBUSY:
        return STATUS_DEVICE_BUSY;
    case ENOMEM:
    case ENOBUFS:
    case ENOSPC:
    case EAGAIN:
    case EMFILE:
    case ENFILE:
        return STATUS_INSUFFICIENT_RESOURCES;
    case ENOSYS:
    case EOPNOTSUPP:
    case ENOTTY:
    case EPROTONOSUPPORT:
        return STATUS_NOT_SUPPORTED;
    default:
        return STATUS_IO_DEVICE_ERROR;
    }
}

} // namespace irpverbs::hca_rdma
