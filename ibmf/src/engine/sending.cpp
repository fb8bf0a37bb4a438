// Sends to the driver, and their completion.
#include <engine/port.hpp>

namespace irpverbs::ibmf {

namespace {

constexpr ticks ticks_per_millisecond = 10'000;

ULONG milliseconds(ticks time) {
    return static_cast<ULONG>(
        std::min<ticks>((time + ticks_per_millisecond - 1) / ticks_per_millisecond, 1u << 30));
}

void give_to_driver(datagram& what, PIO_COMPLETION_ROUTINE home) {
    IoReuseIrp(what.irp, STATUS_SUCCESS);
    IoSetCompletionRoutine(what.irp, home, &what, TRUE, TRUE, TRUE);
    CiSendMad(what.by->mad, &what.send, what.irp);
}

} // namespace

void port::send(guard& under, datagram& what, const transaction& of, ticks answer_within) {
    client& who = *of.who;
    what.who = &who;
    what.qp = who.qp_of(of);
    what.by = what.qp != nullptr ? &what.qp->place : who.agent_of(of.mgmt_class);
    if (what.qp != nullptr) ++what.qp->sends;
    what.key = of.slot.key;
    const mad_bytes content = what.content();
    what.send = {of.peer, content.data(), static_cast<ULONG>(content.size()),
                 milliseconds(answer_within)};
    who.count(&ibmf_stats_t::st_sends_active);
    who.count(&ibmf_stats_t::st_datagrams_sent);
    under.later(what.start, start_send);
}

void port::start_send(deferred& start) {
    give_to_driver(*CONTAINING_RECORD(&start, datagram, start), sent);
}

void port::start_segment(deferred& start) {
    give_to_driver(*CONTAINING_RECORD(&start, datagram, start), segment_sent);
}

NTSTATUS port::sent(DEVICE_OBJECT*, IRP* irp, void* context) {
    datagram& what = *static_cast<datagram*>(context);
    guard under(*what.at);
    what.at->sent(under, what, irp->IoStatus.Status);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

// The transfer's timer continues the transfer: a driver that completes a send inside the call would
// recurse here.
NTSTATUS port::segment_sent(DEVICE_OBJECT*, IRP* irp, void* context) {
    datagram& what = *static_cast<datagram*>(context);
    port& self = *what.at;
    guard under(self);
    transaction* const of = self.find(what.key);
    if (of != nullptr && of->rmpp != nullptr && of->rmpp->came_back())
        self.set_due(*of, under.now_or_later());
    self.sent(under, what, irp->IoStatus.Status);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

// The client lives until its last send has completed.
void port::sent(guard& under, datagram& what, NTSTATUS status) {
    client& who = *what.who;
    alternate_qp* const qp = what.qp;
    transaction* const of = find(what.key);
    datagrams_.give_back(what);
    if (!NT_SUCCESS(status)) who.count(&ibmf_stats_t::st_send_failures);
    if (of != nullptr && of->irp != nullptr) {
        if (!NT_SUCCESS(status))
            end(under, *of, IBMF_TRANSPORT_FAILURE);
        else if (of->at == phase::sending)
            end(under, *of, IBMF_SUCCESS);
    }
    --counts.st_sends_active;
    const bool last_of_qp = qp != nullptr && --qp->sends == 0;
    if (--who.counts.st_sends_active == 0 || last_of_qp) who.changed();
}

} // namespace irpverbs::ibmf
