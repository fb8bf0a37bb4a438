// An internal access of the port, without a client.
#pragma once

#include <access/session.hpp>

namespace irpverbs::saa {

class own_access {
public:
    using ended_call = void (*)(port& of, own_access& which, const detail::access_request& told);

    /// `ended` is called once for each begin, at <= DISPATCH_LEVEL; it may begin the next access.
    own_access(port& of, ended_call ended) : of_(of), ended_(ended) {}
    own_access(const own_access&) = delete;
    own_access& operator=(const own_access&) = delete;

    /// Has no effect while an access is in progress. The port stays alive until the end of the
    /// access. IRQL: <= DISPATCH_LEVEL, without the lock.
    void begin(session& by, const ibmf_saa_access_args_t& args);

private:
    static NTSTATUS came_home(DEVICE_OBJECT*, IRP* irp, void* context);

    port& of_;
    ended_call ended_;
    std::atomic<bool> under_way_{false};
    detail::access_request request_;
};

} // namespace irpverbs::saa
