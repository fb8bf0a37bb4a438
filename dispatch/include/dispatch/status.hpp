/// NTSTATUS as an error_code.
#pragma once

#include <dispatch/ntstatus.h>

#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

namespace irpverbs::dispatch {

/// The category of NTSTATUS values. A status fails when NT_SUCCESS is false of it; those with a
/// counterpart there equal boost::system::errc conditions (STATUS_CANCELLED: operation_canceled,
/// STATUS_IO_TIMEOUT: timed_out, ...).
NT_API const boost::system::error_category& status_category() noexcept;

/// The status as an error_code, false when NT_SUCCESS.
inline boost::system::error_code make_error_code(NTSTATUS status) noexcept {
    return {status, status_category()};
}

/// The status behind an error_code: its own, else a like one, else STATUS_UNSUCCESSFUL.
NT_API NTSTATUS status_of(const boost::system::error_code& error) noexcept;

/// A status thrown.
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
