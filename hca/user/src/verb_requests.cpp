// The verbs of a connection: from the IRP to the message, from the reply to its completion.
#include "connection.hpp"

#include "adapter.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <array>
#include <cerrno>
#include <new>

namespace irpverbs::hca_user {

using ci::action;
using ci::crossing::message;
using dispatch::detail::spin_guard;
namespace wire = ci::wire;

namespace {

verb_request*& request_of(IRP* irp) {
    return reinterpret_cast<verb_request*&>(irp->Tail.Overlay.DriverContext[0]);
}

bool is(const verb_request& request, HCA_MINOR_FUNCTION verb) { return request.verb->code == verb; }

/// Argument1 of wire::request.
std::uint64_t subject_of(const ci::crossing::traits& verb, const user_object& object) {
    if (verb.does != action::creates) return object.handle;
    if (verb.parent == 0) return adapter::of(static_cast<HCA_CA*>(object.object)->Device).guid();
    return user_object::of(verb.parent, ci::crossing::parent_of(object.type, object.object)).handle;
}

/// The request of a verb: the one of the object for its end, otherwise a new one, or null.
verb_request* make_request(IRP* irp, const ci::crossing::traits& verb, user_object& object) {
    const bool ends = verb.does == action::ends;
    verb_request* const made = ends ? &object.end : new (std::nothrow) verb_request;
    if (made == nullptr) return nullptr;
    made->irp = irp;
    made->verb = &verb;
    made->object = &object;
    made->reserved = ends;
    made->holds.store(ends ? 2 : 3); // an end is not cancellable
    return made;
}

void free_request(verb_request* request) {
    if (!request->reserved) delete request;
}

} // namespace

// ---- sending

NTSTATUS connection::status_at_end(const verb_request& request) const {
    if (request.verb->does == action::ends) return STATUS_SUCCESS;
    return is(request, HCA_MN_OPEN_CA) ? failure_.load() : STATUS_FILE_FORCED_CLOSED;
}

void connection::send_parts(std::span<iovec> parts) {
    ci::detail::send_when_possible(control_.get(), parts); // a failure ends the watch, too
}

NTSTATUS connection::send(IRP* irp) {
    IO_STACK_LOCATION* const location = IoGetCurrentIrpStackLocation(irp);
    const ci::crossing::traits& verb = *ci::crossing::find(location->MinorFunction);
    user_object& object = user_object::of(verb.type(), location->Parameters.Others.Argument1);
    verb_request* const request = make_request(irp, verb, object);
    if (request == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    request->id = next_id_.fetch_add(1);
    ci::crossing::outgoing made;
    const NTSTATUS status =
        ci::crossing::write_request(*location, *this, request->id, subject_of(verb, object), made);
    if (!NT_SUCCESS(status)) {
        free_request(request);
        return status;
    }
    IoMarkIrpPending(irp);
    pend(*request, made);
    return STATUS_PENDING;
}

// The sender holds the request until the message, which names the IRP's buffers, was sent.
void connection::pend(verb_request& request, ci::crossing::outgoing& made) {
    request_of(request.irp) = &request;
    const bool cancellable = !request.reserved;
    if (cancellable) arm_cancel(request);
    if (!expect(request)) {
        request.on_end(*this);
        release(request);
        return;
    }
    send_parts(made.message.list());
    bool cancels = false;
    {
        const spin_guard guard(lock_);
        request.sent = true;
        cancels = request.cancel_wanted;
    }
    if (cancels) send_cancel(request);
    release(request);
}

// ---- cancellation: a request to the daemon, whose reply completes the IRP

void connection::arm_cancel(verb_request& request) {
    IoSetCancelRoutine(request.irp, cancel);
    const bool late = __atomic_load_n(&request.irp->Cancel, __ATOMIC_SEQ_CST) != 0;
    if (!late || IoSetCancelRoutine(request.irp, nullptr) == nullptr) return;
    {
        const spin_guard guard(lock_);
        request.cancel_wanted = true;
    }
    release(request);
}

void connection::cancel(DEVICE_OBJECT*, IRP* irp) {
    IoReleaseCancelSpinLock(irp->CancelIrql);
    verb_request& request = *request_of(irp);
    connection& self = connection_of(request.object->type, request.object->object);
    bool now = false;
    {
        const spin_guard guard(self.lock_);
        request.cancel_wanted = true;
        now = request.sent;
    }
    if (now) self.send_cancel(request);
    self.release(request);
}

void connection::send_cancel(const verb_request& request) {
    wire::header made{wire::kind::cancel, 0, {}, request.id};
    std::array<iovec, 1> part{{{&made, sizeof(made)}}};
    send_parts(part);
}

// ---- the reply

bool verb_request::on_reply(connection& from, message reply) {
    const bool good =
        ci::crossing::read_reply(reply, *IoGetCurrentIrpStackLocation(irp), from, result);
    if (!good) {
        on_end(from);
        return false;
    }
    if (verb->does == action::creates && NT_SUCCESS(result.status)) {
        from.begin(*object, result.information);
        result.information = 0;
    } else if (verb->does == action::creates || verb->does == action::ends) {
        from.end(*object);
    }
    from.release_received(*this);
    return true;
}

void verb_request::on_end(connection& from) {
    result = {from.status_at_end(*this), 0};
    if (verb->does == action::creates || verb->does == action::ends) from.end(*object);
    from.release_received(*this);
}

// Releases the hold of the receiver, and that of a cancel routine that was not called.
void connection::release_received(verb_request& request) {
    if (!request.reserved && IoSetCancelRoutine(request.irp, nullptr) != nullptr) release(request);
    release(request);
}

void connection::release(verb_request& request) {
    if (request.holds.fetch_sub(1, std::memory_order_acq_rel) == 1) complete(request);
}

// The memory of the object, and with it a reserved request, may be gone when this returns.
void connection::complete(verb_request& request) {
    IRP* const irp = request.irp;
    const ci::crossing::result result = request.result;
    const bool opens = is(request, HCA_MN_OPEN_CA);
    const bool closes = is(request, HCA_MN_CLOSE_CA) || (opens && !NT_SUCCESS(result.status));
    free_request(&request);
    if (closes) {
        closing_ = irp;
        closing_status_ = result.status;
        ExInitializeWorkItem(&work_, close, this);
        ExQueueWorkItem(&work_, DelayedWorkQueue);
        return;
    }
    HcaComplete(irp, result.status, result.information);
}

} // namespace irpverbs::hca_user
