// The verbs of a connection: from the IRP to the message, from the reply to its completion.
#include "connection.hpp"

#include "adapter.hpp"
#include "provider/bracket.hpp"

#include <ci/support/common_buffers.hpp>
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
    made->location = IoGetCurrentIrpStackLocation(irp);
    made->reserved = ends;
    made->holds.store(ends ? 2 : 3); // an end is not cancellable
    return made;
}

void free_request(verb_request* request) {
    request->steps.reset();
    if (!request->reserved) delete request;
}

/// The verb that destroys what `creates` has created. Source: ci/verbs.def, whose codes are so.
const ci::crossing::traits& end_of(const ci::crossing::traits& creates) {
    return *ci::crossing::find(creates.code | 1);
}

// An address vector that its provider has created exists in this process only.
bool is_local(const verb_request& of) {
    return of.object->type == HCA_MN_CREATE_AV && of.verb->does != action::creates &&
           of.object->handle == 0;
}

/// Null: the verb is another one.
const ib_mr_mod_t* change_of_region(const verb_request& of) {
    return of.verb->code == HCA_MN_MODIFY_MR
               ? static_cast<const ib_mr_mod_t*>(of.location->Parameters.Others.Argument2)
               : nullptr;
}

/// Finds the common buffer with the memory that a region is about to have, if it lies in one, and
/// the offset of its first byte there.
ci::detail::unique_descriptor buffer_of_region(const verb_request& of, ULONGLONG& offset) {
    const ib_mr_mod_t* const change = change_of_region(of);
    if (change == nullptr && !is(of, HCA_MN_REGISTER_MR)) return {};
    const auto& mr = *static_cast<const HCA_MR*>(of.object->object);
    const ib_mr_create_t region = change != nullptr ? HcaModifiedMr(&mr, change) : mr.Create;
    return ci::common_buffer_of(region.vaddr, region.length, offset);
}

/// Calls the provider's pre function, if it has one. A CI_UDATA is the provider's alone.
bracket::decision take_first_step(verb_request& request, NTSTATUS& refused) {
    const uvp_interface_t* const functions = request.object->via->provider();
    if (functions == nullptr || !bracket::is_needed(*functions, request.verb->code))
        return is_local(request) ? bracket::decision::done : bracket::decision::crosses;
    refused = STATUS_INVALID_PARAMETER;
    if (ci::crossing::user_data_of(*request.location) != nullptr) return bracket::decision::vetoed;
    refused = STATUS_INSUFFICIENT_RESOURCES;
    request.steps.reset(new (std::nothrow) bracket(*functions, *request.location, *request.object));
    if (request.steps == nullptr) return bracket::decision::vetoed;
    const bracket::decision made = request.steps->before();
    refused = request.steps->veto();
    return made == bracket::decision::crosses && is_local(request) ? bracket::decision::done : made;
}

} // namespace

verb_request::verb_request() : expected_reply(false) {}
verb_request::~verb_request() = default;

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
    NTSTATUS refused = STATUS_SUCCESS;
    switch (take_first_step(*request, refused)) {
    case bracket::decision::crosses:
        return transmit(*request);
    case bracket::decision::done:
        return complete_unsent(*request, STATUS_SUCCESS);
    case bracket::decision::vetoed:
        break;
    }
    free_request(request);
    return refused;
}

NTSTATUS connection::write(verb_request& request, ci::crossing::outgoing& made) {
    request.id = next_id_.fetch_add(1);
    return ci::crossing::write_request(*request.location, *this, request.id,
                                       subject_of(*request.verb, *request.object), made);
}

NTSTATUS connection::transmit(verb_request& request) {
    ci::crossing::outgoing made;
    const NTSTATUS status = write(request, made);
    if (!NT_SUCCESS(status)) {
        if (request.steps != nullptr) return complete_unsent(request, status);
        free_request(&request);
        return status;
    }
    if (const ib_mr_mod_t* const wanted = change_of_region(request))
        begin_change(*request.object, *wanted);
    IoMarkIrpPending(request.irp);
    pend(request, made);
    return STATUS_PENDING;
}

// The post function completes the verb.
NTSTATUS connection::complete_unsent(verb_request& request, NTSTATUS status) {
    IoMarkIrpPending(request.irp);
    request.result = {status, 0};
    const bool exists = NT_SUCCESS(status) == (request.verb->does == action::creates);
    if (!exists && request.verb->does != action::submits) end(*request.object);
    complete(request);
    return STATUS_PENDING;
}

// A region whose buffer can't be passed at the moment is one of private memory.
void connection::send_request(const verb_request& request, ci::crossing::outgoing& made) {
    ci::detail::descriptors passed;
    passed[0] = buffer_of_region(request, made.head.offset);
    const int error = ci::detail::send_when_possible(control_.get(), made.message.list(), passed);
    if (error == ETOOMANYREFS) send_parts(made.message.list());
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
    send_request(request, made);
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
    wire::header made{wire::kind::cancel, 0, {}, 0, request.id};
    std::array<iovec, 1> part{{{&made, sizeof(made)}}};
    send_parts(part);
}

// ---- the reply

bool verb_request::on_reply(connection& from, message reply) {
    bool good = ci::crossing::read_reply(reply, *location, from, result);
    if (!good) {
        on_end(from);
        return false;
    }
    from.apply_all_stores(); // the memory is the caller's again, or its contents are
    if (const ib_mr_mod_t* const wanted = change_of_region(*this))
        from.finish_change(*object, *wanted, NT_SUCCESS(result.status));
    if (verb->does == action::creates && NT_SUCCESS(result.status)) {
        good = from.begin(*object, result.information);
        result.information = 0;
        if (!good) {
            result.status = STATUS_FILE_FORCED_CLOSED;
            from.end(*object);
        }
    } else if (verb->does == action::creates || verb->does == action::ends) {
        from.end(*object);
    } else if (NT_SUCCESS(result.status)) {
        good = from.change(*object, verb->code);
    }
    from.release_received(*this);
    return good;
}

void verb_request::on_end(connection& from) {
    from.apply_all_stores();
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

void connection::complete(verb_request& request) {
    if (request.steps == nullptr) return finish(request);
    ExInitializeWorkItem(&request.steps->work, run_post_step, &request);
    ExQueueWorkItem(&request.steps->work, DelayedWorkQueue);
}

// A creation whose post function fails is undone in the daemon before it completes.
void connection::run_post_step(void* context) {
    auto& request = *static_cast<verb_request*>(context);
    connection& self = connection_of(request.object->type, request.object->object);
    const bool creates = request.verb->does == action::creates;
    const bool existed = NT_SUCCESS(request.result.status);
    request.result.status = request.steps->finish(request.result.status);
    const bool good = NT_SUCCESS(request.result.status);
    if (existed && !good) request.result.information = 0;
    if (creates && existed && !good) return self.undo(request, request.result.status);
    if (creates && good) request.object->is_provided.store(true);
    self.finish(request);
}

void connection::undo(verb_request& created, NTSTATUS status) {
    user_object& object = *created.object;
    if (object.handle == 0) {
        end(object);
        return finish(created);
    }
    IRP* const irp = created.irp;
    const ci::crossing::traits& verb = end_of(*created.verb);
    std::unique_ptr<bracket> steps = std::move(created.steps);
    free_request(&created);
    verb_request& undone = *make_request(irp, verb, object); // reserved
    undone.location = &steps->make_undo(verb.code, object.object, status);
    undone.steps = std::move(steps);
    ci::crossing::outgoing made;
    write(undone, made); // a verb that ends has nothing that could fail
    pend(undone, made);
}

// The memory of the object, and with it a reserved request, may be gone when this returns.
void connection::finish(verb_request& request) {
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
