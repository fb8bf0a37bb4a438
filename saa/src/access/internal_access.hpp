// An internal access of the port, without a client.
#pragma once

#include <access/session.hpp>

namespace irpverbs::saa {

class internal_access {
public:
    using completion_callback = void (*)(session_port& of, internal_access& which,
                                         const detail::access_request& ended);

    /// `ended` is called once for each begin, at <= DISPATCH_LEVEL; it may begin the next access.
    internal_access(session_port& of, completion_callback ended) : of_(of), ended_(ended) {}
    internal_access(const internal_access&) = delete;
    internal_access& operator=(const internal_access&) = delete;

    /// Has no effect while an access is in progress. The port stays alive until the end of the
    /// access. IRQL: <= DISPATCH_LEVEL, without the lock.
    void begin(session& by, const ibmf_saa_access_args_t& args);

private:
    static NTSTATUS access_completed(DEVICE_OBJECT*, IRP* irp, void* context);

    session_port& of_;
    completion_callback ended_;
    std::atomic<bool> in_progress_{false};
    detail::access_request request_;
};

} // namespace irpverbs::saa
