/// NTSTATUS as an error_code.
#pragma once

#include <dispatch/ntstatus.h>

#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

namespace irpverbs::dispatch {

/// The category of NTSTATUS values. A status is a failure when NT_SUCCESS is false for it. A status
/// that has a counterpart among the boost::system::errc conditions equals it (STATUS_CANCELLED:
/// operation_canceled, STATUS_IO_TIMEOUT: timed_out, ...).
NT_API const boost::system::error_category& status_category() noexcept;

/// Returns the status as an error_code, which is false when NT_SUCCESS holds.
inline boost::system::error_code make_error_code(NTSTATUS status) noexcept {
    return {status, status_category()};
}

/// Returns the status of an error_code: its own NTSTATUS, else the counterpart of its condition,
/// else STATUS_UNSUCCESSFUL.
NT_API NTSTATUS status_of(const boost::system::error_code& error) noexcept;

/// A status as an exception.
class status_error : public boost::system::system_error {
public:
    explicit status_error(NTSTATUS status)
        : system_error(dispatch::make_error_code(status)), status_(status) {}
    status_error(NTSTATUS status, const char* what)
        : system_error(dispatch::make_error_code(status), what), status_(status) {}
    NTSTATUS status() const noexcept { return status_; }

private:
    NTSTATUS status_;
};

} // namespace irpverbs::dispatch
