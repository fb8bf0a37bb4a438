// The ends of connections.
#include "guarded.hpp"
#include "lock.hpp"

namespace irpverbs::rdmacm {

connection_end::connection_end(cm_id& its_owner)
    : owner(its_owner), wait(its_owner.operations, this, ended) {}

bool connection_end::reserve() {
    event.reset(new (std::nothrow) queued_event);
    return event != nullptr && wait.reserve(1);
}

void connection_end::start() {
    wait.start([&](IRP* irp) { CmGetEvent(owner.connection, &came, irp); });
}

void connection_end::ended(void* context, NTSTATUS status, ULONG_PTR) {
    connection_end& self = *static_cast<connection_end*>(context);
    cm_id& id = self.owner;
    if (!NT_SUCCESS(status)) return;
    if (self.came.type == IB_CM_EVENT_TIMEWAIT_EXIT) return id.report_exit(std::move(self.event));
    if (self.came.pdata_length != 0)
        self.event->set_private_data({self.came.pdata, self.came.pdata_length});
    id.report_disconnected(std::move(self.event));
}

void cm_id::await_ends() {
    for (connection_end& each : ends)
        each.start();
}

void cm_id::report_disconnected(event_ptr made) {
    const state_lock guard;
    if (std::exchange(has_reported_end, true)) return;
    add(std::move(made), RDMA_CM_EVENT_DISCONNECTED);
    add(std::move(early_exit), RDMA_CM_EVENT_TIMEWAIT_EXIT);
}

void cm_id::report_exit(event_ptr made) {
    const state_lock guard;
    if (is_connected && !has_reported_end)
        early_exit = std::move(made);
    else
        add(std::move(made), RDMA_CM_EVENT_TIMEWAIT_EXIT);
}

void cm_id::disconnect_ended(void* context, NTSTATUS status, ULONG_PTR) {
    cm_id& self = *static_cast<cm_id*>(context);
    if (NT_SUCCESS(status)) self.report_disconnected(std::move(self.disconnected));
}

} // namespace irpverbs::rdmacm

using namespace irpverbs::rdmacm;

extern "C" {

// The queue pair's sends and receives are flushed at once, as by the library of rdma-core. An id
// without a connection has no more to end, nor one that is being disconnected.
int irpverbs_rdma_disconnect(rdma_cm_id* shown) {
    return guarded([&] {
        cm_id& id = cm_id::of(shown);
        if (id.stage != progress::connecting) return EINVAL;
        if (id.qp != nullptr) to_error(id);
        if (id.connection == nullptr) return 0;
        auto event = std::make_unique<queued_event>();
        id.disconnect.start([&](IRP* irp) {
            id.disconnected = std::move(event);
            CmDisconnect(id.connection, nullptr, 0, irp);
        });
        return 0;
    });
}

} // extern "C"
