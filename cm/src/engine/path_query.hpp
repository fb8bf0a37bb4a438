// The query of the SA for the path to a GID. A port of Ethernet makes the path itself.
#pragma once

#include "port_object.hpp"

#include <saa/sa_recs.h>
#include <saa/support/requests.hpp>

namespace irpverbs::cm::engine {

class cm_port;

/// A query of an object of a port. Its end is reported once, under the port's lock: `found` is null
/// unless `status` is STATUS_SUCCESS.
class path_query {
public:
    using end_function = void (*)(port_object& owner, NTSTATUS status,
                                  const sa_path_record_t* found, effects& fx);

    path_query(cm_port& at, port_object& owner, end_function ended)
        : at_(at), owner_(owner), ended_(ended) {}
    ~path_query();
    path_query(const path_query&) = delete;
    path_query& operator=(const path_query&) = delete;

    // Called under the lock.
    /// May report the end before it returns.
    void begin(const ib_gid_t& to, effects& fx);
    /// No effect on a query that has ended or was never begun.
    void cancel(effects& fx);

    // Called by effects, without the lock, while the owner is referenced.
    void send();
    void send_cancel();
    port_object& owner() { return owner_; }

private:
    static NTSTATUS completed(DEVICE_OBJECT*, IRP* irp, void* self);

    cm_port& at_; // as long as the owner
    port_object& owner_;
    const end_function ended_;
    ib_gid_t from_{};
    ib_gid_t to_{};
    IRP* irp_ = nullptr;
    saa::detail::access_request access_;
};

} // namespace irpverbs::cm::engine
