// The packets of an HCA's queue pairs: from the engines to the fabric and back, and the DPC that
// serves the engines.
#pragma once

#include "fabric.hpp"
#include "multicast_attachments.hpp"
#include "qp_table.hpp"

#include "transport/hooks.hpp"

namespace irpverbs::hca_software {

/// The part of a queue pair that its HCA's traffic uses. Guarded by the fabric's lock.
struct qp_service {
    packet_queue arrived;
    machine_time woken_until = 0;       // the time of the last wake
    queue_pair* next_waiting = nullptr; // link of a list
    bool waiting = false;               // it is on the list of those that are to be served
    bool served = false;
    ULONGLONG newest_multicast = 0; // the number of the last one of which it received a copy
    ULONG holders = 0;              // calls of `hold` without `release`
    PIRP destroyer = nullptr;       // completed when it is neither waiting nor served nor held

    bool is_used() const { return waiting || served || holders != 0; }
};

/// One of the paths of a connection.
struct qp_path {
    const ib_av_attr_t& av;
    UCHAR port;
    USHORT pkey_index;
};

inline qp_path primary_path_of(const ib_qp_attr_t& attr) {
    return {attr.primary_av, attr.primary_port, attr.pkey_index};
}
inline qp_path alternate_path_of(const ib_qp_attr_t& attr) {
    return {attr.alternate_av, attr.alternate_av.port_num, attr.alternate_pkey_index};
}

/// Locks are acquired in this order: a queue pair's, the fabric's, the table's.
class qp_traffic {
public:
    qp_traffic(fabric& where, const qp_table& qps);
    qp_traffic(const qp_traffic&) = delete;
    qp_traffic& operator=(const qp_traffic&) = delete;

    // Functions under the fabric's lock:

    /// False: there is no such queue pair. Ownership: otherwise `what` is the traffic's.
    bool deliver(packet* what);
    /// Delivers a copy to each queue pair that is attached to the group. Ownership: `what` stays
    /// the caller's.
    void deliver_to_group(const packet& what);
    void wake(ib_qpn_t number, machine_time due);

    // Functions without it:

    /// False: max_attachments exist.
    bool attach(attachment& added);
    void detach(attachment& removed);
    /// Serves the queue pair soon.
    void request(queue_pair& which);
    /// Sends a packet of an engine. The caller holds the queue pair's lock.
    transport::transmission transmit(queue_pair& by, const transport::packet& what);
    /// Checks path and partition of a packet that has arrived for a connection. The caller holds
    /// the queue pair's lock.
    bool accepts(const packet& what, const qp_path& by);
    /// Checks the keys of a datagram that has arrived, and returns its way; none: it is dropped.
    /// The caller holds the queue pair's lock.
    std::optional<transport::arrival> accept_datagram(const queue_pair& at, const packet& what);
    /// Returns the bytes that a datagram on this way has at most; 0: the port has no such way.
    ULONG datagram_limit(const queue_pair& by, const ib_av_attr_t& way);
    /// Reports a packet that a port of the HCA sends or receives to the capture of the HCA.
    static void capture(const port& at, const datagram& what);
    void free(packet_queue& list);
    /// Wakes the queue pair at `due`. The caller holds its lock.
    void wake_at(const queue_pair& which, machine_time due);
    /// Returns the queue pair, which is not destroyed before its `release`; null: there is none.
    queue_pair* hold(ib_qpn_t number);
    /// As above. The caller knows that it is not destroyed during the call.
    void hold(queue_pair& which);
    void release(queue_pair& which);
    /// Ends the service of a queue pair that is no longer in the table. STATUS_PENDING: its DPC
    /// destroys it and completes the IRP.
    NTSTATUS remove(queue_pair& which, PIRP irp);

private:
    void add(queue_pair& which);
    transport::transmission send_on_fabric(queue_pair& by, port& from,
                                           const transport::packet& what);
    transport::transmission send_on_ethernet(queue_pair& by, port& from,
                                             const transport::packet& what);
    static void capture_sent(const port& at, datagram& route, transport::const_bytes bytes);
    transport::transmission delay(queue_pair& which);
    queue_pair* next();
    void serve(queue_pair& which);
    PIRP end_service(queue_pair& which);
    static void serve_some(KDPC* dpc, void* context, void*, void*);

    static constexpr unsigned max_per_run = 64;

    fabric& fabric_;
    const qp_table& qps_;
    queue_pair* first_ = nullptr; // guarded by the fabric's lock, as the next two
    queue_pair* last_ = nullptr;
    bool serving_ = false; // the DPC is queued or runs
    KDPC dpc_{};
    multicast_attachments attachments_; // guarded by the fabric's lock, as the next
    ULONGLONG multicasts_ = 0;          // that have arrived
};

} // namespace irpverbs::hca_software
