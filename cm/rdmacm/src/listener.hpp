// A service on one port.
#pragma once

#include "cm_id.hpp"

namespace irpverbs::rdmacm {

/// One request at a time is fetched from cm, whose backlog keeps the others: the next one when the
/// program has taken the event of the last.
struct listener {
    listener(cm_id& its_owner, local_port& port)
        : owner(its_owner), at(port), next(its_owner.operations, this, came), use(its_owner) {
        use.begin(*port.device);
    }
    ~listener();
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;

    /// Begins to listen. Returns an errno value.
    int open(int backlog);
    /// Waits for the next request. Returns an errno value.
    int wait();
    /// Ends the service. No operation is in progress.
    void close();

    cm_id& owner;
    local_port& at;
    operation next;
    device_use use;

private:
    static void came(void* self, NTSTATUS status, ULONG_PTR information);
    void take_connection(ULONG_PTR object);
    void take_datagram(ULONG_PTR object);
    void describe(const ib_cm_ip_t& ip);

    IB_CM_LISTENER* object_ = nullptr;
    ib_cm_request_t request_{};
    ib_cm_ud_request_t ud_request_{};
    std::unique_ptr<cm_id> child_; // of the next request
    event_ptr event_;
};

} // namespace irpverbs::rdmacm
