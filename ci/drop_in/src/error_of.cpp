#include <drop_in/devices.hpp>

#include <cerrno>

namespace irpverbs::drop_in {

int error_of(NTSTATUS status) noexcept {
    if (NT_SUCCESS(status)) return 0;
    switch (status) {
    case STATUS_INVALID_PARAMETER:
    case STATUS_INVALID_DEVICE_REQUEST:
    case STATUS_INVALID_DEVICE_STATE:
        return EINVAL;
    case STATUS_ACCESS_VIOLATION:
        return EFAULT;
    case STATUS_ACCESS_DENIED:
        return EACCES;
    case STATUS_SHARING_VIOLATION:
    case STATUS_DEVICE_BUSY:
    case STATUS_FILE_LOCK_CONFLICT:
        return EBUSY;
    case STATUS_INSUFFICIENT_RESOURCES:
        return ENOMEM;
    case STATUS_NOT_SUPPORTED:
        return EOPNOTSUPP;
    case STATUS_NO_SUCH_DEVICE:
    case STATUS_OBJECT_NAME_NOT_FOUND:
    case STATUS_DELETE_PENDING:
        return ENODEV;
    default:
        return EIO;
    }
}

} // namespace irpverbs::drop_in
