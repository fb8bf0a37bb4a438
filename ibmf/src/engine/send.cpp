// Sends to the driver, and their completion.
#include <engine/port_context.hpp>

namespace irpverbs::ibmf {

namespace {

constexpr ticks ticks_per_millisecond = 10'000;

ULONG milliseconds(ticks time) {
    return static_cast<ULONG>(
        std::min<ticks>((time + ticks_per_millisecond - 1) / ticks_per_millisecond, 1u << 30));
}

void give_to_driver(datagram& what, PIO_COMPLETION_ROUTINE routine) {
    IoReuseIrp(what.irp, STATUS_SUCCESS);
    IoSetCompletionRoutine(what.irp, routine, &what, TRUE, TRUE, TRUE);
    CiSendMad(what.by->mad, &what.send, what.irp);
}

} // namespace

void port_context::send(guard& locked, datagram& what, const transaction& of,
                        ticks response_timeout) {
    client& who = *of.who;
    what.who = &who;
    what.qp = who.qp_of(of);
    what.by = what.qp != nullptr ? &what.qp->slot : who.agent_of(of.mgmt_class);
    if (what.qp != nullptr) ++what.qp->sends;
    what.key = of.slot.key;
    const mad_bytes content = what.content();
    what.send = {of.peer, content.data(), static_cast<ULONG>(content.size()),
                 milliseconds(response_timeout)};
    who.count(&ibmf_stats_t::st_sends_active);
    who.count(&ibmf_stats_t::st_datagrams_sent);
    locked.defer(what.start, start_send);
}

void port_context::start_send(deferred& start) {
    give_to_driver(*CONTAINING_RECORD(&start, datagram, start), sent);
}

void port_context::start_segment(deferred& start) {
    give_to_driver(*CONTAINING_RECORD(&start, datagram, start), segment_sent);
}

NTSTATUS port_context::sent(DEVICE_OBJECT*, IRP* irp, void* context) {
    datagram& what = *static_cast<datagram*>(context);
    guard locked(*what.at);
    what.at->sent(locked, what, irp->IoStatus.Status);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

// The transfer's timer continues the transfer: a driver that completes a send inside the call would
// recurse here.
NTSTATUS port_context::segment_sent(DEVICE_OBJECT*, IRP* irp, void* context) {
    datagram& what = *static_cast<datagram*>(context);
    port_context& self = *what.at;
    guard locked(self);
    transaction* const of = self.find(what.key);
    if (of != nullptr && of->rmpp != nullptr && of->rmpp->segment_completed())
        self.set_due(*of, locked.clock_upper_bound());
    self.sent(locked, what, irp->IoStatus.Status);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

// The client lives until its last send has completed.
void port_context::sent(guard& locked, datagram& what, NTSTATUS status) {
    client& who = *what.who;
    alternate_qp* const qp = what.qp;
    transaction* const of = find(what.key);
    datagrams_.free(what);
    if (!NT_SUCCESS(status)) who.count(&ibmf_stats_t::st_send_failures);
    if (of != nullptr && of->irp != nullptr) {
        if (!NT_SUCCESS(status))
            end(locked, *of, IBMF_TRANSPORT_FAILURE);
        else if (of->state == transaction_state::sending)
            end(locked, *of, IBMF_SUCCESS);
    }
    --counts.st_sends_active;
    const bool last_of_qp = qp != nullptr && --qp->sends == 0;
    if (--who.counts.st_sends_active == 0 || last_of_qp) who.wake_waiters();
}

} // namespace irpverbs::ibmf
