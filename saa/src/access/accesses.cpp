// Accesses are IRPs in one cancel-safe queue. Each is also in the list of the query whose response
// it waits for, so that it can be cancelled alone.
#include <access/session.hpp>

#include <ibmf/detail/requests.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace irpverbs::saa {

using detail::access_request;
using detail::waiter;
using dispatch::detail::acquire_raising;
using dispatch::detail::this_processor;

namespace {

access_request& request_of(IRP* irp) {
    return *static_cast<access_request*>(
        IoGetCurrentIrpStackLocation(irp)->Parameters.Others.Argument1);
}

answer copy_of(const path_cache::answer& known) {
    answer made{known.status, {}};
    if (known.records.empty()) return made;
    made.records.length = known.records.size_bytes();
    made.records.bytes.reset(std::malloc(made.records.length));
    if (made.records.bytes == nullptr) return {IBMF_NO_MEMORY, {}};
    std::memcpy(made.records.bytes.get(), known.records.data(), made.records.length);
    return made;
}

// Completes the IRP. The references of the request are released after the completion, since the
// release may free the session or the port.
void complete(IRP* irp, answer&& told, NTSTATUS status) {
    access_request& request = request_of(irp);
    const session_ref who(request.keeps_session ? nullptr : request.waits.by, false);
    const query_ref answered_by(request.waits.waits_for, false);
    request.status = told.status;
    request.answer = std::move(told.records);
    irp->IoStatus.Status = status;
    irp->IoStatus.Information = static_cast<ULONG_PTR>(told.status);
    IoCompleteRequest(irp, IO_NO_INCREMENT); // the request may be freed here
    if (who != nullptr) who->leave();
}

} // namespace

/// An access that joins or begins a query.
struct port::arrival {
    access_request& request;
    session& who;
    query& own; // used if there is no equal query
    int refused = IBMF_SUCCESS;
};

/// The search key for an IRP: its query or its session.
struct port::wanted {
    const query* of_query;
    const session* of_session;
    bool was_last = false; // no access waits for the query any more
};

// The caller holds the lock.
int port::admit(const arrival& here) {
    if (here.who.closing) return IBMF_BAD_HANDLE;
    return usable() ? IBMF_SUCCESS : IBMF_BAD_PORT_STATE;
}

query& port::join_or_begin(const arrival& here) {
    query* const known = here.own.stream ? nullptr : lines_.find_equal(here.own);
    if (known != nullptr) {
        ++counts_.ss_merged;
        if (!here.own.bulk) lines_.promote(*known);
        return *known;
    }
    intrusive_ptr_add_ref(&here.own); // until it is settled
    here.own.counted = true;
    begin_use();
    lines_.add(here.own);
    return here.own;
}

NTSTATUS port::insert(IO_CSQ* csq, IRP*, void* context) {
    port& self = of(csq);
    arrival& here = *static_cast<arrival*>(context);
    here.refused = self.admit(here);
    if (here.refused != IBMF_SUCCESS) return STATUS_UNSUCCESSFUL;
    query& which = self.join_or_begin(here);
    waiter& fresh = here.request.waits;
    fresh.waits_for = &which;
    fresh.by = &here.who;
    intrusive_ptr_add_ref(&which);
    intrusive_ptr_add_ref(&here.who);
    InsertTailList(&which.waiters, &fresh.of_query);
    InsertTailList(&here.who.waiters, &fresh.of_session);
    here.who.enter();
    ++self.counts_.ss_accesses;
    ++self.counts_.ss_waiting;
    return STATUS_SUCCESS;
}

// Removes an access. The last access of a query withdraws the query.
void port::remove(IO_CSQ* csq, IRP* irp) {
    port& self = of(csq);
    waiter& gone = request_of(irp).waits;
    query& which = *gone.waits_for;
    RemoveEntryList(&gone.of_query);
    RemoveEntryList(&gone.of_session);
    --self.counts_.ss_waiting;
    if (!IsListEmpty(&which.waiters) || which.phase == query_phase::settled) return;
    which.withdrawn = true;
    ++self.counts_.ss_withdrawn;
    self.lines_.close(which);
    if (which.phase == query_phase::queued) self.lines_.take_out(which);
    self.make_due(which);
}

// Returns the first IRP of a list, or the next one after `irp`.
IRP* port::peek_next(IO_CSQ*, IRP* irp, void* context) {
    wanted& what = *static_cast<wanted*>(context);
    const bool by_query = what.of_query != nullptr;
    const LIST_ENTRY* at = by_query ? &what.of_query->waiters : &what.of_session->waiters;
    const LIST_ENTRY* const head = at;
    if (irp != nullptr)
        at = by_query ? &request_of(irp).waits.of_query : &request_of(irp).waits.of_session;
    at = at->Flink;
    if (at == head) return nullptr;
    what.was_last = at->Flink == head;
    return by_query ? CONTAINING_RECORD(at, waiter, of_query)->irp
                    : CONTAINING_RECORD(at, waiter, of_session)->irp;
}

void port::acquire(IO_CSQ* csq, KIRQL* level) {
    *level = acquire_raising(this_processor(), of(csq).lock_);
}

void port::release(IO_CSQ* csq, KIRQL level) { of(csq).let_go(this_processor(), level); }

void port::complete_cancelled(IO_CSQ*, IRP* irp) {
    complete(irp, {IBMF_TRANS_FAILURE, {}}, STATUS_CANCELLED);
}

// The IRP keeps the session busy until its completion.
bool port::recall(IRP* irp, access_request& request, session& who, const path_key& path) {
    answer told;
    {
        const guard under(*this);
        if (who.closing || !usable()) return false;
        const path_cache::answer known = paths_.recall(path);
        if (known.what == path_cache::outcome::miss) return false;
        told = copy_of(known);
        who.enter();
        ++counts_.ss_accesses;
    }
    intrusive_ptr_add_ref(&who);
    request.waits.irp = irp;
    request.waits.by = &who;
    IoMarkIrpPending(irp);
    const NTSTATUS status = ibmf::status_of(told.status);
    complete(irp, std::move(told), status);
    return true;
}

int port::recall(const session& who, const path_key& path, std::span<sa_path_record_t> places,
                 uint_t& count) {
    const guard under(*this);
    if (who.closing) return IBMF_BAD_HANDLE;
    if (!usable()) return IBMF_BAD_PORT_STATE;
    const path_cache::answer known = paths_.recall(path);
    if (known.what == path_cache::outcome::miss) return IBMF_FAILURE;
    count = static_cast<uint_t>(known.records.size());
    std::ranges::copy_n(known.records.begin(),
                        static_cast<std::ptrdiff_t>(std::min(places.size(), known.records.size())),
                        places.begin());
    return known.status;
}

int port::ask(IRP* irp, access_request& request, session& who, question&& what, bool bulk) {
    if (who.remembers() && what.path && recall(irp, request, who, *what.path)) return IBMF_SUCCESS;
    const query_ref own(query::make(*this, std::move(what), bulk));
    if (own == nullptr) return IBMF_NO_MEMORY;
    if (request.sink != nullptr && !own->hand_on(request.sink)) return IBMF_NO_MEMORY;
    request.waits.irp = irp;
    arrival here{request, who, *own};
    IoCsqInsertIrpEx(&waiting_.csq, irp, nullptr, &here);
    return here.refused;
}

void port::cancel_all(session& who) {
    wanted of_it{nullptr, &who};
    while (IRP* const irp = IoCsqRemoveNextIrp(&waiting_.csq, &of_it))
        complete_cancelled(&waiting_.csq, irp);
}

// The last access receives the records, the others receive copies.
void port::settle(query& which, answer&& told) {
    {
        const guard under(*this);
        if (which.phase == query_phase::settled) return;
        lines_.close(which);
        which.phase = query_phase::settled;
        lines_.landed();
        if (!which.stream) paths_.keep(which.asked, which.asked_at, told);
    }
    wanted of_it{&which, nullptr};
    IRP* next = IoCsqRemoveNextIrp(&waiting_.csq, &of_it);
    while (IRP* const irp = next) {
        next = of_it.was_last ? nullptr : IoCsqRemoveNextIrp(&waiting_.csq, &of_it);
        answer part = next != nullptr ? copy_of(told) : std::exchange(told, {});
        const NTSTATUS status = ibmf::status_of(part.status);
        complete(irp, std::move(part), status);
    }
    intrusive_ptr_release(&which);
}

} // namespace irpverbs::saa
