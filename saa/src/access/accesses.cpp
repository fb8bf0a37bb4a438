// Accesses are IRPs in one cancel-safe queue. Each is also in the list of the query whose response
// it waits for, so that it can be cancelled alone.
#include <access/session.hpp>

#include <ibmf/support/requests.hpp>

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

sa_response copy_of(const path_cache::lookup_result& known) {
    sa_response made{known.status, {}};
    if (known.records.empty()) return made;
    made.records.length = known.records.size_bytes();
    made.records.bytes.reset(std::malloc(made.records.length));
    if (made.records.bytes == nullptr) return {IBMF_NO_MEMORY, {}};
    std::memcpy(made.records.bytes.get(), known.records.data(), made.records.length);
    return made;
}

// Completes the IRP. The references of the request are released after the completion, since the
// release may free the session or the port.
void complete(IRP* irp, sa_response&& response, NTSTATUS status) {
    access_request& request = request_of(irp);
    const session_ref who(request.keeps_session ? nullptr : request.waits.by, false);
    const query_ref keeps_query(request.waits.waits_for, false);
    request.status = response.status;
    request.records = std::move(response.records);
    irp->IoStatus.Status = status;
    irp->IoStatus.Information = static_cast<ULONG_PTR>(response.status);
    IoCompleteRequest(irp, IO_NO_INCREMENT); // the request may be freed here
    if (who != nullptr) who->end_operation();
}

} // namespace

/// An access that joins or begins a query.
struct session_port::new_access {
    access_request& request;
    session& who;
    query_ref own; // used if there is no equal query
    int refused = IBMF_SUCCESS;
};

/// The search key for an IRP: its query or its session.
struct session_port::irp_search {
    const query* of_query;
    const session* of_session;
    bool was_last = false; // no access waits for the query any more
};

// The caller holds the lock.
int session_port::admit(const new_access& here) {
    if (here.who.closing) return IBMF_BAD_HANDLE;
    return usable() ? IBMF_SUCCESS : IBMF_BAD_PORT_STATE;
}

query& session_port::join_or_begin(new_access& here) {
    query* const known = here.own->stream ? nullptr : queues_.find_equal(*here.own);
    if (known != nullptr) {
        ++counts_.ss_merged;
        if (!here.own->bulk) queues_.promote(*known);
        return *known;
    }
    query& begun = *here.own.detach(); // referenced until it is completed
    begun.counted = true;
    begin_use();
    queues_.add(begun);
    return begun;
}

NTSTATUS session_port::insert(IO_CSQ* csq, IRP*, void* context) {
    session_port& self = of(csq);
    new_access& here = *static_cast<new_access*>(context);
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
    here.who.begin_operation();
    ++self.counts_.ss_accesses;
    ++self.counts_.ss_waiting;
    return STATUS_SUCCESS;
}

// Removes an access. The last access of a query cancels the query.
void session_port::remove(IO_CSQ* csq, IRP* irp) {
    session_port& self = of(csq);
    waiter& gone = request_of(irp).waits;
    query& which = *gone.waits_for;
    RemoveEntryList(&gone.of_query);
    RemoveEntryList(&gone.of_session);
    --self.counts_.ss_waiting;
    if (!IsListEmpty(&which.waiters) || which.phase == query_phase::completed) return;
    which.cancelled = true;
    ++self.counts_.ss_cancelled;
    self.queues_.stop_sharing(which);
    if (which.phase == query_phase::queued) self.queues_.dequeue(which);
    self.make_due(which);
}

// Returns the first IRP of a list, or the next one after `irp`.
IRP* session_port::peek_next(IO_CSQ*, IRP* irp, void* context) {
    irp_search& what = *static_cast<irp_search*>(context);
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

void session_port::acquire(IO_CSQ* csq, KIRQL* level) {
    *level = acquire_raising(this_processor(), of(csq).lock_);
}

void session_port::release(IO_CSQ* csq, KIRQL level) {
    of(csq).release_lock(this_processor(), level);
}

void session_port::complete_cancelled(IO_CSQ*, IRP* irp) {
    complete(irp, {IBMF_TRANS_FAILURE, {}}, STATUS_CANCELLED);
}

// The IRP keeps the session busy until its completion.
bool session_port::look_up(IRP* irp, access_request& request, session& who, const path_key& path) {
    sa_response response;
    {
        const guard locked(*this);
        if (who.closing || !usable()) return false;
        const path_cache::lookup_result known = paths_.look_up(path);
        if (known.what == path_cache::outcome::miss) return false;
        response = copy_of(known);
        who.begin_operation();
        ++counts_.ss_accesses;
    }
    intrusive_ptr_add_ref(&who);
    request.waits.irp = irp;
    request.waits.by = &who;
    IoMarkIrpPending(irp);
    const NTSTATUS status = ibmf::status_of(response.status);
    complete(irp, std::move(response), status);
    return true;
}

int session_port::look_up(const session& who, const path_key& path,
                          std::span<sa_path_record_t> places, uint_t& count) {
    const guard locked(*this);
    if (who.closing) return IBMF_BAD_HANDLE;
    if (!usable()) return IBMF_BAD_PORT_STATE;
    const path_cache::lookup_result known = paths_.look_up(path);
    if (known.what == path_cache::outcome::miss) return IBMF_FAILURE;
    count = static_cast<uint_t>(known.records.size());
    std::ranges::copy_n(known.records.begin(),
                        static_cast<std::ptrdiff_t>(std::min(places.size(), known.records.size())),
                        places.begin());
    return known.status;
}

int session_port::begin_access(IRP* irp, access_request& request, session& who, wire_query&& what,
                               bool bulk) {
    if (who.caches_paths() && what.path && look_up(irp, request, who, *what.path))
        return IBMF_SUCCESS;
    new_access here{request, who, query_ref(query::make(*this, std::move(what), bulk))};
    if (here.own == nullptr) return IBMF_NO_MEMORY;
    if (request.sink != nullptr && !here.own->stream_to(request.sink)) return IBMF_NO_MEMORY;
    request.waits.irp = irp;
    IoCsqInsertIrpEx(&waiting_.csq, irp, nullptr, &here);
    return here.refused;
}

void session_port::cancel_all(session& who) {
    irp_search search{nullptr, &who};
    while (IRP* const irp = IoCsqRemoveNextIrp(&waiting_.csq, &search))
        complete_cancelled(&waiting_.csq, irp);
}

// The last access receives the records, the others receive copies.
void session_port::complete_query(query& which, sa_response&& response) {
    {
        const guard locked(*this);
        if (which.phase == query_phase::completed) return;
        queues_.stop_sharing(which);
        which.phase = query_phase::completed;
        queues_.completed();
        if (!which.stream) paths_.store(which.request, which.cache_ticket, response);
    }
    irp_search search{&which, nullptr};
    IRP* next = IoCsqRemoveNextIrp(&waiting_.csq, &search);
    while (IRP* const irp = next) {
        next = search.was_last ? nullptr : IoCsqRemoveNextIrp(&waiting_.csq, &search);
        sa_response part = next != nullptr ? copy_of(response) : std::exchange(response, {});
        const NTSTATUS status = ibmf::status_of(part.status);
        complete(irp, std::move(part), status);
    }
    intrusive_ptr_release(&which);
}

} // namespace irpverbs::saa
