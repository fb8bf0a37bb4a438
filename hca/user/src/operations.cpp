// The driver's operations: all verbs cross in the same way, so ci/verbs.def makes the table.
#include "adapter.hpp"
#include "connection.hpp"
#include "provider/data_path.hpp"

#include <new>
#include <tuple>

namespace irpverbs::hca_user {

namespace {

const ci::crossing::traits& verb_in(const IO_STACK_LOCATION& location) {
    return *ci::crossing::find(location.MinorFunction);
}

NTSTATUS create(const ci::crossing::traits& verb, void* object, IRP* irp) {
    connection& via = connection_of(verb.type(), object);
    if (user_object::make(verb.type(), object, via) == nullptr)
        return STATUS_INSUFFICIENT_RESOURCES;
    const NTSTATUS status = via.send(irp);
    if (status != STATUS_PENDING) user_object::of(verb.type(), object).discard();
    return status;
}

NTSTATUS open(HCA_CA& ca, IRP* irp) try {
    auto made = std::make_unique<connection>(ca);
    if (user_object::make(HCA_MN_OPEN_CA, &ca, *made) == nullptr)
        return STATUS_INSUFFICIENT_RESOURCES;
    return made.release()->open(irp); // which deletes it, too, when it ends
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS cross(IRP* irp) {
    const IO_STACK_LOCATION& location = *IoGetCurrentIrpStackLocation(irp);
    if (ci::crossing::find(location.MinorFunction) == nullptr) return STATUS_NOT_SUPPORTED;
    const ci::crossing::traits& verb = verb_in(location);
    void* const object = location.Parameters.Others.Argument1;
    if (verb.code == HCA_MN_OPEN_CA) return open(*static_cast<HCA_CA*>(object), irp);
    if (verb.does == ci::action::creates) return create(verb, object, irp);
    return connection_of(verb.type(), object).send(irp);
}

// The daemon alone knows the state of a queue pair: HcaExecute would check it against the state of
// this process's object.
NTSTATUS submit(PDEVICE_OBJECT, PIRP irp) {
    const UCHAR code = IoGetCurrentIrpStackLocation(irp)->MinorFunction;
    if (code != HCA_MN_MODIFY_QP && code != HCA_MN_FLUSH_QP) return HcaExecute(irp);
    const NTSTATUS status = cross(irp);
    if (status != STATUS_PENDING) HcaComplete(irp, status, 0);
    return status;
}

template <class... Arguments>
NTSTATUS operation(Arguments... arguments) {
    return cross(std::get<sizeof...(Arguments) - 1>(std::tuple(arguments...)));
}

template <class... Arguments>
void set(NTSTATUS (*&which)(Arguments...)) {
    which = operation<Arguments...>;
}

IO_STACK_LOCATION location_of(HCA_MINOR_FUNCTION verb, HCA_CQ* cq, void* buffer, ULONG number) {
    IO_STACK_LOCATION made{};
    made.MinorFunction = static_cast<UCHAR>(verb);
    made.Parameters.Others.Argument1 = cq;
    made.Parameters.Others.Argument2 = buffer;
    made.Parameters.Others.Argument3 = reinterpret_cast<PVOID>(ULONG_PTR{number});
    return made;
}

NTSTATUS poll_cq(HCA_CQ* cq, ULONG count, IB_WC* entries, ULONG* taken) {
    const uvp_interface_t* const by = connection_of(HCA_MN_CREATE_CQ, cq).provider();
    if (provided::polls(by)) return provided::poll_cq(*by, cq, count, entries, taken);
    if (shared_queue* const queue = user_object::of(HCA_MN_CREATE_CQ, cq).queue.get()) {
        *taken = queue->poll(count, entries);
        queue->enable_direct_poll();
        return STATUS_SUCCESS;
    }
    IO_STACK_LOCATION location = location_of(HCA_MN_POLL_CQ, cq, entries, count);
    ULONG_PTR information = 0;
    const NTSTATUS status = connection_of(HCA_MN_CREATE_CQ, cq).call(location, information);
    *taken = static_cast<ULONG>(information);
    return status;
}

// The common half also arms without an IRP.
NTSTATUS arm_cq(HCA_CQ* cq, ULONG flags, PIRP) {
    const uvp_interface_t* const by = connection_of(HCA_MN_CREATE_CQ, cq).provider();
    if (by != nullptr && by->enable_cq_notify != nullptr) return provided::arm_cq(*by, cq, flags);
    if (shared_queue* const queue = user_object::of(HCA_MN_CREATE_CQ, cq).queue.get()) {
        if (queue->arm(flags)) HcaReportCqCompletion(cq);
        return STATUS_SUCCESS;
    }
    IO_STACK_LOCATION location = location_of(HCA_MN_ARM_CQ, cq, nullptr, flags);
    ULONG_PTR information = 0;
    return connection_of(HCA_MN_CREATE_CQ, cq).call(location, information);
}

#define SET_creates(Name) set(made.Name)
#define SET_ends(Name) set(made.Name)
#define SET_submits(Name) set(made.Name)
#define SET_calls(Name) static_cast<void>(0)
#define SET_waits(Name) static_cast<void>(0)

HCA_OPERATIONS make_operations() {
    HCA_OPERATIONS made;
    HCA_OPERATIONS_INIT(&made);
    made.Submit = submit;
#define CI_OBJECT(object, block)
#define CI_VERB(NAME, Name, code, object, does, ...) SET_##does(Name);
#include <ci/verbs.def>
    made.PollCq = poll_cq;
    made.ArmCq = arm_cq;
    made.BindMw = bind_mw;
    return made;
}

} // namespace

const HCA_OPERATIONS& operations() {
    static const HCA_OPERATIONS made = make_operations();
    return made;
}

} // namespace irpverbs::hca_user
