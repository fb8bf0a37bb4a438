// From the port to the driver and back.
#include <engine/port.hpp>

namespace irpverbs::ibmf {

namespace {

constexpr ticks ticks_per_millisecond = 10'000;

ULONG milliseconds(ticks time) {
    return static_cast<ULONG>(
        std::min<ticks>((time + ticks_per_millisecond - 1) / ticks_per_millisecond, 1u << 30));
}

} // namespace

void port::send(guard& under, datagram& what, const transaction& of, ticks answer_within) {
    client& who = *of.who;
    what.who = &who;
    what.by = who.agent_of(of.mgmt_class);
    what.key = of.slot.key;
    what.send = {of.peer, what.bytes.data(), IB_MAD_SIZE, milliseconds(answer_within)};
    if (of.whole) {
        what.send.Data = what.whole.bytes.get();
        what.send.Length = static_cast<ULONG>(what.whole.size);
    }
    who.count(&ibmf_stats_t::st_sends_active);
    who.count(&ibmf_stats_t::st_datagrams_sent);
    under.later(what.start, start_send);
}

void port::start_send(deferred& start) {
    datagram& what = *CONTAINING_RECORD(&start, datagram, start);
    IoReuseIrp(what.irp, STATUS_SUCCESS);
    IoSetCompletionRoutine(what.irp, sent, &what, TRUE, TRUE, TRUE);
    CiSendMad(what.by->mad, &what.send, what.irp);
}

NTSTATUS port::sent(DEVICE_OBJECT*, IRP* irp, void* context) {
    datagram& what = *static_cast<datagram*>(context);
    what.at->sent(what, irp->IoStatus.Status);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

// The client stays until its last send is back.
void port::sent(datagram& what, NTSTATUS status) {
    guard under(*this);
    client& who = *what.who;
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
    if (--who.counts.st_sends_active == 0) KeSetEvent(&who.changed_, IO_NO_INCREMENT, FALSE);
}

} // namespace irpverbs::ibmf
