// The roles of ci/verbs.def: the checks of each parameter, and its use of a user's memory.
#pragma once

#include "objects/av_object.hpp"
#include "objects/mad_agent.hpp"
#include "objects/mcast_object.hpp"
#include "objects/qp_object.hpp"
#include "objects/srq_object.hpp"
#include "objects/xrcd_object.hpp"
#include "qp/create_checks.hpp"
#include "user/user_memory.hpp"
#include "verb.hpp"

#include <ci/support/ip_gid.hpp>

namespace irpverbs::ci::roles {

/// The base of the roles: a parameter without checks.
struct role {
    struct captured {};   // a copy of a user's memory, which the user can't change any more
    using value = void;   // that the verb reads or writes
    using written = void; // the structures that the verb writes to its buffer
    static constexpr bool crosses = true;    // to another process (support/crossing.hpp)
    static constexpr bool of_kernel = false; // refused for users
    static constexpr buffer_use buffer{};
    static constexpr bool returns_event = false;
    static constexpr bool may_be_absent = false; // a driver without the operation does nothing
    static constexpr bool fills_buffer = false;  // Argument2 is this; a CI_UDATA is Argument4
    static constexpr bool in_turn = false;       // one such verb of an object executes at a time

    static NTSTATUS check(const hca_device&, const parameters&) { return STATUS_SUCCESS; }
    static NTSTATUS check(const hca_device&, const create_parameters&) { return STATUS_SUCCESS; }
    /// Returns false if the memory can't be read.
    static bool capture(create_parameters&, captured&) { return true; }
    /// Runs just before the driver's operation, which a failure replaces.
    static NTSTATUS before_call(hca_device&, const parameters&) { return STATUS_SUCCESS; }
};

inline NTSTATUS valid(bool good) { return good ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER; }

inline bool has_port(const hca_device& device, ULONG_PTR port) {
    return port != 0 && port <= device.description.PortCount;
}

struct none : role {};
struct udata : role {};
struct context : role {};
struct optional : role {
    static constexpr bool may_be_absent = true;
};
struct kernel_only : role {
    static constexpr bool crosses = false;
    static constexpr bool of_kernel = true;
};
struct one_at_a_time : role {
    static constexpr bool in_turn = true;
};

struct port : role {
    static NTSTATUS check(const hca_device& device, const parameters& with) {
        return valid(has_port(device, with.port));
    }
};

struct count : role {
    static NTSTATUS check(const hca_device&, const parameters& with) {
        return valid(with.number != 0);
    }
    static NTSTATUS check(const hca_device&, const create_parameters& wanted) {
        return valid(wanted.count != 0);
    }
};

/// Attributes that the verb writes, by the size protocol of CiQueryCa.
template <class Attr>
struct block : role {
    using value = Attr;
    using written = Attr;
    static constexpr buffer_use buffer{buffer_use::kind::out, 1};
    static constexpr bool fills_buffer = true;
    static NTSTATUS check(const hca_device&, const parameters& with) {
        if (with.number < sizeof(ULONG)) return STATUS_BUFFER_TOO_SMALL;
        return valid(with.buffer != nullptr);
    }
};

/// Entries that the verb writes.
template <class Entry>
struct entries : role {
    using written = Entry;
    static constexpr buffer_use buffer{buffer_use::kind::out, sizeof(Entry)};
    static NTSTATUS check(const hca_device&, const parameters& with) {
        return valid(with.buffer != nullptr || with.number == 0);
    }
};

struct completions : entries<IB_WC> {
    static NTSTATUS check(const hca_device& device, const parameters& with) {
        const NTSTATUS status = entries::check(device, with);
        if (!NT_SUCCESS(status)) return status;
        return cq_object::of(with.object).has_transfers() ? STATUS_INVALID_DEVICE_STATE : status;
    }
};

template <class Value>
struct input : role {
    using value = Value;
    static constexpr buffer_use buffer{buffer_use::kind::in, sizeof(Value)};
    static constexpr bool fills_buffer = true;
    static NTSTATUS check(const hca_device&, const parameters& with) {
        return valid(with.buffer != nullptr);
    }
};

/// Flags, and the values of the attributes that they name.
template <class Value>
struct change : input<Value> {
    static NTSTATUS check(const hca_device&, const parameters& with) {
        if (with.buffer == nullptr) return STATUS_INVALID_PARAMETER;
        return valid(are_good(*static_cast<const Value*>(with.buffer), with.number));
    }

private:
    static bool are_good(const IB_MODIFY_CA&, ULONG_PTR flags) {
        return (flags &
                ~ULONG_PTR{IB_MODIFY_CA_SYSTEM_IMAGE_GUID | IB_MODIFY_CA_NODE_DESCRIPTION}) == 0;
    }
    static bool are_good(const IB_MODIFY_PORT& modify, ULONG_PTR flags) {
        constexpr ULONG_PTR known = IB_MODIFY_PORT_CAPABILITIES | IB_MODIFY_PORT_INIT_TYPE |
                                    IB_MODIFY_PORT_RESET_QKEY_VIOLATIONS | IB_MODIFY_PORT_SHUTDOWN;
        if ((flags & ~known) != 0) return false;
        if ((flags & IB_MODIFY_PORT_CAPABILITIES) == 0) return true;
        const ULONG named = modify.SetCapabilities | modify.ClearCapabilities;
        const bool both = (modify.SetCapabilities & modify.ClearCapabilities) != 0;
        return !both && (named & ~IB_PORT_CAP_MODIFIABLE) == 0;
    }
};

struct arm_flags : role {
    static NTSTATUS check(const hca_device&, const parameters& with) {
        return valid(with.number == IB_CQ_ARM_NEXT || with.number == IB_CQ_ARM_SOLICITED);
    }
};

// ---- the parameters of verbs that create an object

/// Copies the value that `from` points at, unless it is null, and makes it point at the copy.
template <class Value>
bool capture_value(const void*& from, Value& copy) {
    if (from == nullptr) return true;
    if (!read_user(&copy, from, sizeof(copy), UserMode)) return false;
    from = &copy;
    return true;
}

template <class Calls>
struct dispatch_table : role {
    using captured = Calls;
    static bool capture(create_parameters& wanted, captured& copy) {
        return capture_value(wanted.dispatch, copy);
    }
};

/// Attributes of the object that is created.
template <class Attr>
struct attributes : role {
    using captured = Attr;
    using value = Attr;
    static constexpr bool fills_buffer = true;
    static bool capture(create_parameters& wanted, captured& copy) {
        return capture_value(wanted.attributes, copy);
    }
    static NTSTATUS check(const hca_device& device, const create_parameters& wanted) {
        if (wanted.attributes == nullptr) return STATUS_INVALID_PARAMETER;
        return check_value(device, wanted.parent, *static_cast<const Attr*>(wanted.attributes));
    }

private:
    static NTSTATUS check_value(const hca_device& device, void*, const IB_MAD_AGENT_ATTR& attr) {
        if (!are_good(device, attr)) return STATUS_INVALID_PARAMETER;
        return has_own_qp(attr) && !device.agents_have_qps() ? STATUS_NOT_SUPPORTED
                                                             : STATUS_SUCCESS;
    }
    static bool are_good(const hca_device& device, const IB_MAD_AGENT_ATTR& attr) {
        const bool no_oui = attr.Oui[0] == 0 && attr.Oui[1] == 0 && attr.Oui[2] == 0;
        const bool has_class = attr.ManagementClass != 0;
        return has_port(device, attr.PortNumber) && attr.QpKind <= IB_MAD_QP_OWN_RAW &&
               has_class != has_own_qp(attr) && attr.Rmpp <= IB_MAD_RMPP_BY_DRIVER &&
               (no_oui || IbClassHasOui(attr.ManagementClass));
    }
    static NTSTATUS check_value(const hca_device&, void*, const ib_mr_create_t& create) {
        return check_region(create);
    }
    static NTSTATUS check_value(const hca_device&, void*, const ib_phys_create_t& create) {
        return check_physical_region(create);
    }
    static NTSTATUS check_value(const hca_device&, void* pd, const ib_smr_create_t& create) {
        return check_shared_region(*static_cast<HCA_PD*>(pd), create);
    }
    static NTSTATUS check_value(const hca_device& device, void*, const ib_av_attr_t& attr) {
        return valid(is_way(attr, device.description.PortCount));
    }
    static NTSTATUS check_value(const hca_device&, void*, const ib_gid_t& group) {
        return valid(ci::is_group(group));
    }
    static NTSTATUS check_value(const hca_device& device, void* pd, const ib_qp_create_t& create) {
        return check_queue_pair(*static_cast<HCA_PD*>(pd), create, device.has_xrc());
    }
    static NTSTATUS check_value(const hca_device& device, void* pd, const ib_srq_create_t& create) {
        return check_shared_queue(*static_cast<HCA_PD*>(pd), create, device.has_xrc());
    }
};

struct pd_type : role {
    static NTSTATUS check(const hca_device&, const create_parameters& wanted) {
        if (wanted.count == IB_PDT_NORMAL) return STATUS_SUCCESS;
        return wanted.count <= IB_PDT_UD ? STATUS_NOT_SUPPORTED : STATUS_INVALID_PARAMETER;
    }
};

struct fast_pages : count {};

struct mw_type : role {
    static NTSTATUS check(const hca_device&, const create_parameters& wanted) {
        return valid(wanted.count == IB_MWT_TYPE_1 || wanted.count == IB_MWT_TYPE_2);
    }
};

struct av_change : input<ib_av_attr_t> {
    static NTSTATUS check(const hca_device& device, const parameters& with) {
        const auto* attr = static_cast<const ib_av_attr_t*>(with.buffer);
        return valid(attr != nullptr && is_way(*attr, device.description.PortCount));
    }
};

/// A change of a region, checked when it executes: an earlier change may still be under way when
/// the verb is called.
template <class Change>
struct region_change : input<Change> {
    static constexpr bool in_turn = true;
    static NTSTATUS before_call(hca_device&, const parameters& with) {
        return mr_object::of(with.object).begin_change(static_cast<const Change*>(with.buffer));
    }
};
using mr_change = region_change<ib_mr_mod_t>;
using pmr_change = region_change<ib_phys_mod_t>;

struct srq_change : input<ib_srq_mod_t> {
    static constexpr bool in_turn = true;
    static NTSTATUS check(const hca_device&, const parameters& with) {
        const auto* modify = static_cast<const ib_srq_mod_t*>(with.buffer);
        return modify != nullptr ? check_shared_queue(*modify) : STATUS_INVALID_PARAMETER;
    }
};

// ---- queue pairs

inline const HCA_QP& qp_of(const parameters& with) { return *static_cast<HCA_QP*>(with.object); }

/// A change of a queue pair, checked when it executes: an earlier change may still be under way
/// when the verb is called.
struct qp_change : input<ib_qp_mod_t> {
    static constexpr bool in_turn = true;
    static NTSTATUS before_call(hca_device&, const parameters& with) {
        return HcaCheckQpModify(&qp_of(with), static_cast<const ib_qp_mod_t*>(with.buffer));
    }
};

/// The queue pair that is attached to a group.
struct mcast_qp : role {
    static NTSTATUS check(const hca_device&, const create_parameters& wanted) {
        const ib_qp_type_t type = static_cast<HCA_QP*>(wanted.parent)->Create.qp_type;
        return type == IB_QPT_UNRELIABLE_DGRM ? STATUS_SUCCESS : STATUS_INVALID_DEVICE_REQUEST;
    }
};

struct mcast_lid : role {
    static NTSTATUS check(const hca_device&, const create_parameters& wanted) {
        return valid(wanted.count >= IB_LID_MULTICAST_FIRST && wanted.count < IB_LID_PERMISSIVE);
    }
};

struct qp_flush : role {
    static constexpr bool in_turn = true;
    static NTSTATUS before_call(hca_device&, const parameters& with) {
        return HcaQpState(&qp_of(with)) == IB_QPS_RESET ? STATUS_INVALID_DEVICE_STATE
                                                        : STATUS_SUCCESS;
    }
};

// ---- datagrams

inline const IB_MAD_AGENT& agent_of(const parameters& with) {
    return static_cast<HCA_MAD_AGENT*>(with.object)->Agent;
}

struct own_qp : role {
    static NTSTATUS check(const hca_device&, const parameters& with) {
        return has_own_qp(agent_of(with).Attr) ? STATUS_SUCCESS : STATUS_INVALID_DEVICE_REQUEST;
    }
};

struct sent_datagram : role {
    static constexpr buffer_use buffer{buffer_use::kind::sent_datagram, 0};
    static NTSTATUS check(const hca_device&, const parameters& with) {
        const auto* send = static_cast<const IB_MAD_SEND*>(with.buffer);
        if (send == nullptr || send->Data == nullptr) return STATUS_INVALID_PARAMETER;
        const IB_MAD_AGENT_ATTR& agent = agent_of(with).Attr;
        const bool raw = agent.QpKind == IB_MAD_QP_OWN_RAW;
        const bool fits = send->Length <= IB_MAD_SIZE || agent.Rmpp == IB_MAD_RMPP_BY_DRIVER || raw;
        const ULONG least = raw ? 1 : IB_MAD_HEADER_SIZE;
        return valid(send->Length >= least && fits);
    }
    // The capture records it first: the response may arrive before the driver's operation returns.
    static NTSTATUS before_call(hca_device& device, const parameters& with) {
        device.observer.notify(&traffic_observer::sent, agent_of(with),
                               *static_cast<const IB_MAD_SEND*>(with.buffer));
        return STATUS_SUCCESS;
    }
};

// ---- the events of verbs that wait: wait() completes or pends the IRP, whose object is `target`

inline NTSTATUS status_unless_failed(const hca_device& device) {
    return device.failed.load() ? STATUS_FILE_FORCED_CLOSED : STATUS_SUCCESS;
}

/// A latched fatal event remains after the device has failed.
struct fatal_event : role {
    static NTSTATUS wait(const hca_device&, object& target, IRP* irp, const parameters&) {
        return target.wait(0, irp, STATUS_SUCCESS);
    }
};

struct port_event : role {
    static constexpr bool returns_event = true;
    static NTSTATUS wait(const hca_device& device, object& target, IRP* irp,
                         const parameters& with) {
        return target.wait(static_cast<unsigned>(with.port), irp, status_unless_failed(device));
    }
};

struct completion_event : role {
    static NTSTATUS wait(const hca_device& device, object& target, IRP* irp, const parameters&) {
        return target.wait(cq_object::completion_channel, irp, status_unless_failed(device));
    }
};

struct cq_event : role {
    static constexpr bool returns_event = true;
    static NTSTATUS wait(const hca_device& device, object& target, IRP* irp, const parameters&) {
        return target.wait(cq_object::async_channel, irp, status_unless_failed(device));
    }
};

struct qp_event : role {
    static constexpr bool returns_event = true;
    static NTSTATUS wait(const hca_device& device, object& target, IRP* irp, const parameters&) {
        return target.wait(qp_object::async_channel, irp, status_unless_failed(device));
    }
};

struct srq_event : role {
    static constexpr bool returns_event = true;
    static NTSTATUS wait(const hca_device& device, object& target, IRP* irp, const parameters&) {
        return target.wait(srq_object::async_channel, irp, status_unless_failed(device));
    }
};

// A work request whose IRP completes with its work completion.
template <class Request, NTSTATUS (qp_object::*Start)(IRP*, const Request&)>
struct work_request : role {
    static constexpr bool crosses = false; // the post and the poll behind it cross
    static NTSTATUS wait(const hca_device& device, object& target, IRP* irp,
                         const parameters& with) {
        const auto* request = static_cast<const Request*>(with.buffer);
        NTSTATUS status = status_unless_failed(device);
        if (NT_SUCCESS(status)) status = valid(request != nullptr && request->p_next == nullptr);
        if (irp->RequestorMode == UserMode) status = STATUS_NOT_SUPPORTED;
        if (!NT_SUCCESS(status)) return complete(irp, status, 0);
        return (static_cast<qp_object&>(target).*Start)(irp, *request);
    }
};
using sent_work = work_request<ib_send_wr_t, &qp_object::start_send>;
using received_work = work_request<ib_recv_wr_t, &qp_object::start_receive>;

struct received_datagram : role {
    using written = IB_MAD_RECEIVE;
    static constexpr buffer_use buffer{buffer_use::kind::received_datagram, 0};
    static NTSTATUS wait(const hca_device& device, object& target, IRP* irp,
                         const parameters& with) {
        auto* into = static_cast<IB_MAD_RECEIVE*>(with.buffer);
        if (into == nullptr || into->Data == nullptr)
            return complete(irp, STATUS_INVALID_PARAMETER, 0);
        if (into->Size < IB_MAD_SIZE) return complete(irp, STATUS_BUFFER_TOO_SMALL, 0);
        return static_cast<mad_agent_object&>(target).get(*into, irp, status_unless_failed(device));
    }
};

} // namespace irpverbs::ci::roles
