#include "request.hpp"

#include "device.hpp"
#include "mad_agent.hpp"
#include "user_buffer.hpp"
#include "user_memory.hpp"

namespace irpverbs::ci {

namespace {

HCA_MINOR_FUNCTION minor_of(const IO_STACK_LOCATION* location) {
    return static_cast<HCA_MINOR_FUNCTION>(location->MinorFunction);
}

object& object_of(const IO_STACK_LOCATION* location, const parameters& with) {
    const HCA_MINOR_FUNCTION minor = minor_of(location);
    if (minor < HCA_MN_CREATE_CQ) return ca_object::of(with.object);
    if (minor < HCA_MN_REGISTER_MAD_AGENT) return cq_object::of(with.object);
    return mad_agent_object::of(with.object);
}

// Not by the object's users: it begins or ends with the request.
NTSTATUS finish(IRP* irp, NTSTATUS status, ULONG_PTR information) {
    irp->IoStatus.Status = status;
    irp->IoStatus.Information = NT_ERROR(status) ? 0 : information;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return status;
}

NTSTATUS open_ca(hca_device& device, IRP* irp, parameters& with) {
    const creation wanted = *static_cast<creation*>(with.buffer);
    if (device.dead.load()) return finish(irp, STATUS_FILE_FORCED_CLOSED, 0);
    if (const NTSTATUS status = device.begin_open(); !NT_SUCCESS(status))
        return finish(irp, status, 0);
    ca_object* ca = ca_object::make(device, wanted);
    if (ca == nullptr) {
        device.end_open();
        return finish(irp, STATUS_INSUFFICIENT_RESOURCES, 0);
    }
    with.object = &ca->shared;
    with.buffer = wanted.user_data;
    return submit(irp);
}

NTSTATUS end_open(IRP* irp, ca_object& ca, NTSTATUS status) {
    hca_device& device = ca.device();
    if (!NT_SUCCESS(status)) {
        ca_object::destroy(&ca);
        device.end_open();
        return finish(irp, status, 0);
    }
    // Up-calls are held back until the client has been told of its CA.
    if (!device.link(ca)) ca.signal(0, IB_AE_LOCAL_FATAL);
    finish(irp, status, reinterpret_cast<ULONG_PTR>(&ca.shared.Ca));
    ca.start_calling();
    ca.leave();
    return status;
}

NTSTATUS end_close_ca(IRP* irp, ca_object& ca) {
    hca_device& device = ca.device();
    device.unlink(ca);
    ca_object::destroy(&ca);
    device.end_open();
    return finish(irp, STATUS_SUCCESS, 0);
}

// The CA that makes it is held by the request; of an object that there is, by its being a child.
template <class Child>
NTSTATUS create_child(ca_object& ca, IRP* irp, parameters& with, NTSTATUS status) {
    const creation wanted = *static_cast<creation*>(with.buffer);
    Child* child = nullptr;
    if (NT_SUCCESS(status) && !ca.add_child()) status = STATUS_FILE_CLOSED;
    if (NT_SUCCESS(status) && (child = Child::make(ca.shared, wanted)) == nullptr) {
        ca.drop_child();
        status = STATUS_INSUFFICIENT_RESOURCES;
    }
    if (!NT_SUCCESS(status)) {
        finish(irp, status, 0);
        ca.leave();
        return status;
    }
    with.object = &child->shared;
    with.buffer = wanted.user_data;
    return submit(irp);
}

template <class Child>
NTSTATUS end_create(IRP* irp, Child& child, NTSTATUS status) {
    ca_object& ca = child.ca();
    if (NT_SUCCESS(status)) {
        finish(irp, status, reinterpret_cast<ULONG_PTR>(child.handle()));
        child.start_calling();
        child.leave();
    } else {
        Child::destroy(&child);
        ca.drop_child();
        finish(irp, status, 0);
    }
    ca.leave();
    return status;
}

template <class Child>
NTSTATUS end_destroy(IRP* irp, Child& child) {
    ca_object& ca = child.ca();
    Child::destroy(&child);
    ca.drop_child();
    return finish(irp, STATUS_SUCCESS, 0);
}

[[gnu::noinline]] NTSTATUS end_begin(IRP* irp, IO_STACK_LOCATION* location, NTSTATUS status) {
    void* begun = parameters_of(location).object;
    switch (minor_of(location)) {
    case HCA_MN_OPEN_CA:
        return end_open(irp, ca_object::of(begun), status);
    case HCA_MN_CREATE_CQ:
        return end_create(irp, cq_object::of(begun), status);
    default:
        return end_create(irp, mad_agent_object::of(begun), status);
    }
}

[[gnu::noinline]] NTSTATUS end_close(IRP* irp, IO_STACK_LOCATION* location) {
    void* closed = parameters_of(location).object;
    switch (minor_of(location)) {
    case HCA_MN_CLOSE_CA:
        return end_close_ca(irp, ca_object::of(closed));
    case HCA_MN_DESTROY_CQ:
        return end_destroy(irp, cq_object::of(closed));
    default:
        return end_destroy(irp, mad_agent_object::of(closed));
    }
}

NTSTATUS complete_at(IRP* irp, IO_STACK_LOCATION* location, NTSTATUS status,
                     ULONG_PTR information) {
    if (begins_an_object(location->MinorFunction)) return end_begin(irp, location, status);
    object& target = object_of(location, parameters_of(location));
    if ((location->Flags & shadowed) != 0)
        status = return_user_buffer(location, status, information);
    finish(irp, status, information);
    target.leave();
    return status;
}

NTSTATUS check_cqes(ULONG_PTR count) {
    return count != 0 ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

NTSTATUS check_attributes(const parameters& with) {
    if (with.number < sizeof(ULONG)) return STATUS_BUFFER_TOO_SMALL;
    return with.buffer != nullptr ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

NTSTATUS check_flags(const parameters& with, ULONG_PTR known) {
    const bool good = with.buffer != nullptr && (with.number & ~known) == 0;
    return good ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

NTSTATUS check_port(const hca_device& device, const parameters& with) {
    const bool good = with.port != 0 && with.port <= device.description.PortCount;
    return good ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

bool has_oui(UCHAR management_class) {
    return management_class >= 0x30 && management_class <= 0x4F;
}

NTSTATUS check_agent(const hca_device& device, const IB_MAD_AGENT_ATTR* attr) {
    if (attr == nullptr) return STATUS_INVALID_PARAMETER;
    const bool no_oui = attr->Oui[0] == 0 && attr->Oui[1] == 0 && attr->Oui[2] == 0;
    const bool has_class = attr->ManagementClass != 0;
    const bool good = attr->PortNumber != 0 && attr->PortNumber <= device.description.PortCount &&
                      attr->QpKind <= IB_MAD_QP_OWN_RAW && has_class != has_own_qp(*attr) &&
                      attr->Rmpp <= IB_MAD_RMPP_BY_DRIVER &&
                      (no_oui || has_oui(attr->ManagementClass));
    return good ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

NTSTATUS check_send(const parameters& with) {
    const auto* send = static_cast<const IB_MAD_SEND*>(with.buffer);
    if (send == nullptr || send->Data == nullptr) return STATUS_INVALID_PARAMETER;
    const IB_MAD_AGENT_ATTR& agent = static_cast<HCA_MAD_AGENT*>(with.object)->Agent.Attr;
    const bool raw = agent.QpKind == IB_MAD_QP_OWN_RAW;
    const bool fits = send->Length <= IB_MAD_SIZE || agent.Rmpp == IB_MAD_RMPP_BY_DRIVER || raw;
    const ULONG least = raw ? 1 : IB_MAD_HEADER_SIZE;
    return send->Length >= least && fits ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

NTSTATUS check_modify_agent(const parameters& with) {
    const IB_MAD_AGENT_ATTR& agent = static_cast<HCA_MAD_AGENT*>(with.object)->Agent.Attr;
    if (!has_own_qp(agent)) return STATUS_INVALID_DEVICE_REQUEST;
    return with.buffer != nullptr ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

NTSTATUS check_modify_port(const hca_device& device, const parameters& with) {
    constexpr ULONG_PTR known = IB_MODIFY_PORT_CAPABILITIES | IB_MODIFY_PORT_INIT_TYPE |
                                IB_MODIFY_PORT_RESET_QKEY_VIOLATIONS | IB_MODIFY_PORT_SHUTDOWN;
    if (const NTSTATUS status = check_port(device, with); !NT_SUCCESS(status)) return status;
    if (const NTSTATUS status = check_flags(with, known); !NT_SUCCESS(status)) return status;
    if ((with.number & IB_MODIFY_PORT_CAPABILITIES) == 0) return STATUS_SUCCESS;
    const auto& modify = *static_cast<const IB_MODIFY_PORT*>(with.buffer);
    const ULONG named = modify.SetCapabilities | modify.ClearCapabilities;
    const bool both = (modify.SetCapabilities & modify.ClearCapabilities) != 0;
    return both || (named & ~IB_PORT_CAP_MODIFIABLE) != 0 ? STATUS_INVALID_PARAMETER
                                                          : STATUS_SUCCESS;
}

// What the driver need not look at.
NTSTATUS check(const hca_device& device, HCA_MINOR_FUNCTION minor, const parameters& with) {
    switch (minor) {
    case HCA_MN_QUERY_PORT:
        if (const NTSTATUS status = check_port(device, with); !NT_SUCCESS(status)) return status;
        return check_attributes(with);
    case HCA_MN_QUERY_CA:
    case HCA_MN_QUERY_CQ:
        return check_attributes(with);
    case HCA_MN_MODIFY_CA:
        return check_flags(with, IB_MODIFY_CA_SYSTEM_IMAGE_GUID | IB_MODIFY_CA_NODE_DESCRIPTION);
    case HCA_MN_MODIFY_PORT:
        return check_modify_port(device, with);
    case HCA_MN_RESIZE_CQ:
        return check_cqes(with.number);
    case HCA_MN_POLL_CQ:
        return with.buffer != nullptr || with.number == 0 ? STATUS_SUCCESS
                                                          : STATUS_INVALID_PARAMETER;
    case HCA_MN_ARM_CQ:
        return with.number == IB_CQ_ARM_NEXT || with.number == IB_CQ_ARM_SOLICITED
                   ? STATUS_SUCCESS
                   : STATUS_INVALID_PARAMETER;
    case HCA_MN_SEND_MAD:
        return check_send(with);
    case HCA_MN_MODIFY_MAD_AGENT:
        return check_modify_agent(with);
    default:
        return STATUS_SUCCESS;
    }
}

NTSTATUS wait_for_port(const hca_device& device, object& ca, IRP* irp, const parameters& with) {
    if (const NTSTATUS status = check_port(device, with); !NT_SUCCESS(status))
        return complete(irp, status, 0);
    return ca.wait(static_cast<unsigned>(with.port), irp,
                   device.dead.load() ? STATUS_FILE_FORCED_CLOSED : STATUS_SUCCESS);
}

// Before anybody looks at the verb's buffer.
NTSTATUS shadow_for_user(IRP* irp) {
    if (irp->RequestorMode != UserMode) return STATUS_SUCCESS;
    return shadow_user_buffer(IoGetCurrentIrpStackLocation(irp));
}

NTSTATUS submit(const hca_device& device, IRP* irp) {
    const auto by_driver = device.operations.Submit;
    return by_driver != nullptr ? by_driver(device.fdo, irp) : HcaExecute(irp);
}

NTSTATUS get_mad(object& target, IRP* irp, const parameters& with, NTSTATUS alive) {
    if (const NTSTATUS status = shadow_for_user(irp); !NT_SUCCESS(status))
        return complete(irp, status, 0);
    auto* into = static_cast<IB_MAD_RECEIVE*>(with.buffer);
    if (into == nullptr || into->Data == nullptr) return complete(irp, STATUS_INVALID_PARAMETER, 0);
    if (into->Size < IB_MAD_SIZE) return complete(irp, STATUS_BUFFER_TOO_SMALL, 0);
    return static_cast<mad_agent_object&>(target).get(*into, irp, alive);
}

NTSTATUS begin(hca_device& device, object& target, IRP* irp, HCA_MINOR_FUNCTION minor,
               parameters& with) {
    const NTSTATUS alive = device.dead.load() ? STATUS_FILE_FORCED_CLOSED : STATUS_SUCCESS;
    switch (minor) {
    case HCA_MN_CLOSE_CA:
    case HCA_MN_DESTROY_CQ:
    case HCA_MN_DEREGISTER_MAD_AGENT:
        return target.close(irp);
    case HCA_MN_GET_CA_FATAL_EVENT:
        return target.wait(0, irp, STATUS_SUCCESS);
    case HCA_MN_GET_CA_PORT_EVENT:
        return wait_for_port(device, target, irp, with);
    case HCA_MN_GET_CQ_COMP_EVENT:
        return target.wait(cq_object::completion_channel, irp, alive);
    case HCA_MN_GET_CQ_ASYNC_EVENT:
        return target.wait(cq_object::async_channel, irp, alive);
    case HCA_MN_GET_MAD:
        return get_mad(target, irp, with, alive);
    default:
        break;
    }
    if (!NT_SUCCESS(alive)) return complete(irp, alive, 0);
    if (const NTSTATUS status = shadow_for_user(irp); !NT_SUCCESS(status))
        return complete(irp, status, 0);
    if (const NTSTATUS status = check(device, minor, with); !NT_SUCCESS(status))
        return complete(irp, status, 0);
    return minor == HCA_MN_POLL_CQ || minor == HCA_MN_ARM_CQ ? HcaExecute(irp)
                                                             : submit(device, irp);
}

/// What a user's memory says of an object to be, where he can't change it any more.
struct captured {
    IB_MAD_AGENT_ATTR agent;
    union {
        IB_CA_DISPATCH ca;
        IB_CQ_DISPATCH cq;
        IB_MAD_DISPATCH mad;
    } calls;
};

SIZE_T size_of_calls(ULONG minor) {
    return minor == HCA_MN_OPEN_CA     ? sizeof(IB_CA_DISPATCH)
           : minor == HCA_MN_CREATE_CQ ? sizeof(IB_CQ_DISPATCH)
                                       : sizeof(IB_MAD_DISPATCH);
}

template <class Value>
bool capture(const Value*& from, void* to, SIZE_T size) {
    if (from == nullptr) return true;
    if (!read_user(to, from, size, UserMode)) return false;
    from = static_cast<const Value*>(to);
    return true;
}

NTSTATUS capture(const IRP* irp, ULONG minor, creation& wanted, captured& copy) {
    if (irp->RequestorMode != UserMode) return STATUS_SUCCESS;
    const bool readable = capture(wanted.dispatch, &copy.calls, size_of_calls(minor)) &&
                          capture(wanted.agent, &copy.agent, sizeof(copy.agent));
    return readable ? STATUS_SUCCESS : STATUS_ACCESS_VIOLATION;
}

[[gnu::noinline]] NTSTATUS begin_object(hca_device& device, IRP* irp, HCA_MINOR_FUNCTION minor,
                                        parameters& with) {
    auto& wanted = *static_cast<creation*>(with.buffer);
    captured copy;
    NTSTATUS status = capture(irp, minor, wanted, copy);
    if (minor == HCA_MN_OPEN_CA)
        return NT_SUCCESS(status) ? open_ca(device, irp, with) : finish(irp, status, 0);
    ca_object& ca = ca_object::of(with.object);
    if (!ca.enter()) return finish(irp, STATUS_FILE_CLOSED, 0);
    const bool cq = minor == HCA_MN_CREATE_CQ;
    if (NT_SUCCESS(status))
        status = cq ? check_cqes(wanted.num_cqes) : check_agent(device, wanted.agent);
    if (device.dead.load()) status = STATUS_FILE_FORCED_CLOSED;
    return cq ? create_child<cq_object>(ca, irp, with, status)
              : create_child<mad_agent_object>(ca, irp, with, status);
}

} // namespace

NTSTATUS dispatch_verb(DEVICE_OBJECT* fdo, IRP* irp) {
    hca_device& device = device_of(fdo);
    IO_STACK_LOCATION* location = IoGetCurrentIrpStackLocation(irp);
    parameters& with = parameters_of(location);
    irp->IoStatus.Information = 0;
    if (location->MinorFunction == 0 || location->MinorFunction >= HCA_MN_COUNT)
        return finish(irp, STATUS_INVALID_DEVICE_REQUEST, 0);
    const HCA_MINOR_FUNCTION minor = minor_of(location);
    if (begins_an_object(minor)) return begin_object(device, irp, minor, with);
    object& target = object_of(location, with);
    if (!target.enter()) return finish(irp, STATUS_FILE_CLOSED, 0);
    return begin(device, target, irp, minor, with);
}

NTSTATUS submit(IRP* irp) {
    return submit(device_of(IoGetCurrentIrpStackLocation(irp)->DeviceObject), irp);
}

NTSTATUS complete(IRP* irp, NTSTATUS status, ULONG_PTR information) {
    return complete_at(irp, IoGetCurrentIrpStackLocation(irp), status, information);
}

NTSTATUS complete_executed(IRP* irp, IO_STACK_LOCATION* location, NTSTATUS status,
                           ULONG_PTR information) {
    if (ends_an_object(location->MinorFunction)) return end_close(irp, location);
    return complete_at(irp, location, status, information);
}

void complete_event(IRP* irp, IB_ASYNC_EVENT event) {
    const HCA_MINOR_FUNCTION minor = minor_of(IoGetCurrentIrpStackLocation(irp));
    const bool told = minor == HCA_MN_GET_CA_PORT_EVENT || minor == HCA_MN_GET_CQ_ASYNC_EVENT;
    finish(irp, STATUS_SUCCESS, told ? static_cast<ULONG_PTR>(event) : 0);
}

} // namespace irpverbs::ci
