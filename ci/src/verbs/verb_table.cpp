// The table of verbs, generated from ci/verbs.def: each row has the functions that begin, call and
// end the verb.
#include "objects/av_object.hpp"
#include "objects/mad_agent.hpp"
#include "objects/mcast_object.hpp"
#include "objects/qp_object.hpp"
#include "objects/srq_object.hpp"
#include "objects/xrcd_object.hpp"
#include "roles.hpp"
#include "user/user_buffer.hpp"
#include "verb.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace irpverbs::ci {

namespace {

using namespace roles;

// ---- the checks of all roles, in their order

template <class... Roles, class Given>
NTSTATUS check_all(const hca_device& device, const Given& given) {
    NTSTATUS status = STATUS_SUCCESS;
    static_cast<void>((NT_SUCCESS(status = Roles::check(device, given)) && ...));
    return status;
}

// True if the verb's pointers are those of a user. With IRP_BUFFERED_IO the caller has captured all
// that they name.
bool has_user_pointers(const IRP* irp) {
    return irp->RequestorMode == UserMode && (irp->Flags & IRP_BUFFERED_IO) == 0;
}

// True if the verb is not for users. Parameters of the kernel may point at more of it, so those of
// a user are not looked at.
template <class... Roles>
bool is_refused(const IRP* irp) {
    return (Roles::of_kernel || ...) && irp->RequestorMode == UserMode;
}

// Runs before the checks of the verb's buffer.
NTSTATUS bounce_for_user(IRP* irp, IO_STACK_LOCATION* location) {
    return has_user_pointers(irp) ? bounce_user_buffer(location) : STATUS_SUCCESS;
}

NTSTATUS refuse_unknown(hca_device&, IRP* irp, IO_STACK_LOCATION*) {
    return finish(irp, STATUS_INVALID_DEVICE_REQUEST, 0);
}

// ---- verbs of an existing object

template <class Object, action Action, class... Roles>
NTSTATUS begin_request(hca_device& device, IRP* irp, IO_STACK_LOCATION* location) {
    parameters& with = parameters_of(location);
    Object& target = Object::of(with.object);
    if (!target.try_reference()) return finish(irp, STATUS_FILE_CLOSED, 0);
    if (device.failed.load()) return complete(irp, STATUS_FILE_FORCED_CLOSED, 0);
    if (is_refused<Roles...>(irp)) return complete(irp, STATUS_NOT_SUPPORTED, 0);
    if (const NTSTATUS status = bounce_for_user(irp, location); !NT_SUCCESS(status))
        return complete(irp, status, 0);
    if (const NTSTATUS status = check_all<Roles...>(device, with); !NT_SUCCESS(status))
        return complete(irp, status, 0);
    if constexpr ((Roles::in_turn || ...))
        return target.turns()->submit_in_turn(irp);
    else
        return Action == action::calls ? HcaExecute(irp) : device.submit(irp);
}

template <class Object, class... Roles>
NTSTATUS begin_wait(hca_device& device, IRP* irp, IO_STACK_LOCATION* location) {
    using source = std::tuple_element_t<sizeof...(Roles) - 1, std::tuple<Roles...>>;
    parameters& with = parameters_of(location);
    object& target = Object::of(with.object);
    if (!target.try_reference()) return finish(irp, STATUS_FILE_CLOSED, 0);
    if (const NTSTATUS status = bounce_for_user(irp, location); !NT_SUCCESS(status))
        return complete(irp, status, 0);
    if (const NTSTATUS status = check_all<Roles...>(device, with); !NT_SUCCESS(status))
        return complete(irp, status, 0);
    return source::wait(device, target, irp, with);
}

template <class Object>
NTSTATUS begin_destroy(hca_device&, IRP* irp, IO_STACK_LOCATION* location) {
    object& target = Object::of(parameters_of(location).object);
    if (!target.try_reference()) return finish(irp, STATUS_FILE_CLOSED, 0);
    return target.close(irp);
}

template <class Object>
void destroy(Object& ended) {
    auto& parent = ended.parent();
    const used_objects used = ended.used();
    Object::destroy(&ended);
    used.remove_child();
    parent.remove_child();
}

template <class Object>
NTSTATUS end_destroy(IRP* irp, IO_STACK_LOCATION* location, [[maybe_unused]] NTSTATUS status) {
    Object& ended = Object::of(parameters_of(location).object);
    if constexpr (Object::may_stay) {
        if (status == STATUS_DEVICE_BUSY) {
            ended.reopen();
            return finish(irp, status, 0);
        }
    }
    destroy(ended);
    return finish(irp, STATUS_SUCCESS, 0);
}

// ---- verbs that create an object

template <class... Roles, std::size_t... Index>
bool capture_all(create_parameters& wanted, std::tuple<typename Roles::captured...>& copies,
                 std::index_sequence<Index...>) {
    return (Roles::capture(wanted, std::get<Index>(copies)) && ...);
}

// A failure leaves no object.
template <class Object, class Parent>
NTSTATUS make_child(Parent& parent, const create_parameters& wanted, Object*& made) {
    NTSTATUS status = parent.add_child();
    if (!NT_SUCCESS(status)) return status;
    const used_objects used = Object::used_by(wanted);
    status = used.add_child();
    if (NT_SUCCESS(status)) {
        made = Object::make(parent, wanted);
        if (made != nullptr) return status;
        used.remove_child();
        status = STATUS_INSUFFICIENT_RESOURCES;
    }
    parent.remove_child();
    return status;
}

// The request references the parent; the created object counts as its child.
template <class Object, class... Roles>
[[gnu::noinline]] NTSTATUS begin_create(hca_device& device, IRP* irp, IO_STACK_LOCATION* location) {
    create_words& words = create_words_of(location);
    create_parameters wanted{words.context, words.dispatch,
                             words.buffer,  create_count_of(location),
                             words.object,  location->MinorFunction};
    std::tuple<typename Roles::captured...> copies;
    auto& parent = Object::parent_of(device, words.object);
    if (!parent.try_reference()) return finish(irp, STATUS_FILE_CLOSED, 0);
    const bool readable =
        !has_user_pointers(irp) ||
        capture_all<Roles...>(wanted, copies, std::index_sequence_for<Roles...>());
    NTSTATUS status = STATUS_NOT_SUPPORTED;
    if (!is_refused<Roles...>(irp))
        status =
            readable ? check_all<Roles...>(device, std::as_const(wanted)) : STATUS_ACCESS_VIOLATION;
    if (device.failed.load()) status = STATUS_FILE_FORCED_CLOSED;
    Object* made = nullptr;
    if (NT_SUCCESS(status)) status = make_child(parent, wanted, made);
    if (!NT_SUCCESS(status)) {
        finish(irp, status, 0);
        parent.dereference();
        return status;
    }
    words.object = &made->shared;
    return device.submit(irp);
}

template <class Object>
NTSTATUS end_create(IRP* irp, IO_STACK_LOCATION* location, NTSTATUS status) {
    Object& made = Object::of(parameters_of(location).object);
    auto& parent = made.parent();
    if (NT_SUCCESS(status)) {
        // Up-calls are deferred until the completion, which returns the handle to the client, is
        // over.
        made.begin_events();
        finish(irp, status, reinterpret_cast<ULONG_PTR>(made.handle()));
        made.start_up_calls();
        made.dereference();
    } else {
        destroy(made);
        finish(irp, status, 0);
    }
    parent.dereference();
    return status;
}

// ---- the driver's operation, whose parameter types select the words of its call

template <class Argument, class... Roles>
Argument argument(const parameters& with, IRP* irp) {
    if constexpr (std::is_same_v<Argument, IRP*>)
        return irp;
    else if constexpr (std::is_same_v<Argument, CI_UDATA*> && (Roles::fills_buffer || ...))
        return reinterpret_cast<Argument>(with.port);
    else if constexpr (std::is_pointer_v<Argument>)
        return static_cast<Argument>(with.buffer);
    else if constexpr (std::is_same_v<Argument, UCHAR>)
        return static_cast<UCHAR>(with.port);
    else
        return static_cast<Argument>(with.number);
}

template <class... Roles, class Shared, class... Arguments>
NTSTATUS invoke(NTSTATUS (*operation)(Shared*, Arguments...), const parameters& with, IRP* irp) {
    return operation(static_cast<Shared*>(with.object),
                     argument<Arguments, Roles...>(with, irp)...);
}

template <class... Roles>
NTSTATUS invoke(NTSTATUS (*poll)(HCA_CQ*, ULONG, IB_WC*, ULONG*), const parameters& with,
                IRP* irp) {
    ULONG taken = 0;
    const NTSTATUS status = poll(static_cast<HCA_CQ*>(with.object), static_cast<ULONG>(with.number),
                                 static_cast<IB_WC*>(with.buffer), &taken);
    irp->IoStatus.Information = taken;
    return status;
}

template <auto Operation, class... Roles>
NTSTATUS call(hca_device& device, const parameters& with, IRP* irp) {
    NTSTATUS status = STATUS_SUCCESS;
    static_cast<void>((NT_SUCCESS(status = Roles::before_call(device, with)) && ...));
    return NT_SUCCESS(status) ? invoke<Roles...>(device.operations.*Operation, with, irp) : status;
}

NTSTATUS has_no_operation(hca_device&, const parameters&, IRP*) {
    return STATUS_INVALID_DEVICE_REQUEST;
}

// ---- operations that a driver lacks

void return_nothing(CI_UDATA* user) { HcaCopyUserData(user, nullptr, 0); }
template <class Other>
void return_nothing(const Other&) {}

template <NTSTATUS Status, class... Arguments>
NTSTATUS absent_operation(Arguments... arguments) {
    (return_nothing(arguments), ...);
    return Status;
}

template <NTSTATUS Status, class... Arguments>
void set_if_absent(NTSTATUS (*&operation)(Arguments...)) {
    if (operation == nullptr) operation = absent_operation<Status, Arguments...>;
}

template <action Action, auto Operation, class... Roles>
void complete_operation(HCA_OPERATIONS& operations) {
    constexpr bool needed = Action != action::ends && !(Roles::may_be_absent || ...);
    constexpr NTSTATUS otherwise = needed ? STATUS_NOT_SUPPORTED : STATUS_SUCCESS;
    if constexpr (Action != action::waits) set_if_absent<otherwise>(operations.*Operation);
}

// ---- the rows

template <class... Roles>
constexpr buffer_use buffer_of() {
    buffer_use found{};
    ((found = Roles::buffer.how != buffer_use::kind::none ? Roles::buffer : found), ...);
    return found;
}

template <class Object, action Action, auto Operation, class... Roles>
constexpr verb row(const char* name) {
    verb made;
    made.name = name;
    made.does = Action;
    made.returns_event = (Roles::returns_event || ...);
    made.buffer = buffer_of<Roles...>();
    made.object_at = offsetof(typename Object::shared_type, Reserved);
    if constexpr (Action == action::creates) {
        made.begin = begin_create<Object, Roles...>;
        made.end = end_create<Object>;
    } else if constexpr (Action == action::ends) {
        made.begin = begin_destroy<Object>;
        made.end = end_destroy<Object>;
    } else if constexpr (Action == action::waits) {
        made.begin = begin_wait<Object, Roles...>;
    } else {
        made.begin = begin_request<Object, Action, Roles...>;
    }
    if constexpr (Action == action::waits)
        made.call = has_no_operation;
    else
        made.call = call<Operation, Roles...>;
    return made;
}

constexpr verb unknown_row() {
    verb made;
    made.begin = refuse_unknown;
    made.call = has_no_operation;
    return made;
}

constexpr UCHAR codes[] = {
#define CI_OBJECT(object, block)
#define CI_VERB(NAME, Name, code, ...) code,
#include <ci/verbs.def>
};

constexpr std::array<UCHAR, 256> rows_of_codes() {
    std::array<UCHAR, 256> made{};
    UCHAR next = 0;
    for (const UCHAR code : codes)
        made[code] = ++next;
    return made;
}

// Two verbs of one code would have one entry in the index.
static_assert(static_cast<std::size_t>(std::ranges::count_if(rows_of_codes(), [](UCHAR row) {
                  return row != 0;
              })) == std::size(codes));

// Each code lies in the block of its verb's object.
#define CI_OBJECT(object, block) constexpr unsigned block_of_##object = block;
#define CI_VERB(NAME, Name, code, object, ...)                                                     \
    static_assert((code & 0xF0u) == block_of_##object, "Ci" #Name);
#include <ci/verbs.def>

// The operation of a row; a verb that waits has none.
#define CI_OPERATION_creates(Name) &HCA_OPERATIONS::Name
#define CI_OPERATION_ends(Name) &HCA_OPERATIONS::Name
#define CI_OPERATION_submits(Name) &HCA_OPERATIONS::Name
#define CI_OPERATION_calls(Name) &HCA_OPERATIONS::Name
#define CI_OPERATION_waits(Name) nullptr

} // namespace

const verb verb_rows[] = {
    unknown_row(),
#define CI_OBJECT(object, block)
#define CI_VERB(NAME, Name, code, object, does, ...)                                               \
    row<object##_object, action::does, CI_OPERATION_##does(Name), __VA_ARGS__>("Ci" #Name),
#include <ci/verbs.def>
};

void complete_operations(HCA_OPERATIONS& operations) {
#define CI_OBJECT(object, block)
#define CI_VERB(NAME, Name, code, object, does, ...)                                               \
    complete_operation<action::does, CI_OPERATION_##does(Name), __VA_ARGS__>(operations);
#include <ci/verbs.def>
    set_if_absent<STATUS_NOT_SUPPORTED>(operations.BindMw);
}

const std::array<UCHAR, 256> verb_row_of = rows_of_codes();

} // namespace irpverbs::ci
