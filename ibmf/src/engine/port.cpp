// The connection of a port to the driver: the open CA, the agents, events.
#include <engine/port.hpp>

#include <engine/registry.hpp>
#include <engine/status.hpp>

#include <ci/detail/blocking_verb.hpp>
#include <dispatch/detail/faults.hpp>
#include <hca/hca.h>

#include <algorithm>
#include <new>

namespace irpverbs::ibmf {

using ci::detail::call_verb;
using ci::detail::verb_result;

namespace {

int registration_failure_of(NTSTATUS status) {
    switch (status) {
    case STATUS_DELETE_PENDING:
        return IBMF_BAD_NODE;
    case STATUS_FILE_FORCED_CLOSED: // the HCA has failed and is not yet removed
        return IBMF_BAD_PORT_STATE;
    case STATUS_SHARING_VIOLATION:
        return IBMF_PORT_IN_USE;
    case STATUS_NOT_SUPPORTED:
        return IBMF_NOT_SUPPORTED;
    default:
        return failure_of(status);
    }
}

} // namespace

int port::open() {
    DEVICE_OBJECT* const fdo = HcaFromGuid(guid);
    if (fdo == nullptr) return IBMF_BAD_NODE;
    const IB_CA_DISPATCH calls{fatal, port_event};
    const verb_result opened =
        call_verb([&](IRP* irp) { return CiOpenCa(fdo, this, &calls, nullptr, irp); });
    if (!opened.success()) return registration_failure_of(opened.status);
    ca = opened.object<IB_CA>();
    const NTSTATUS asked = refresh();
    if (!NT_ERROR(asked)) return IBMF_SUCCESS;
    close();
    return asked == STATUS_INVALID_PARAMETER ? IBMF_BAD_PORT : registration_failure_of(asked);
}

void port::close() {
    if (ca == nullptr) return;
    IB_CA* const last = std::exchange(ca, nullptr);
    call_verb([&](IRP* irp) { return CiCloseCa(last, nullptr, irp); });
    stop_timers();
}

// Without memory the attributes stay as they are.
NTSTATUS port::refresh() try {
    if (dispatch::detail::fault_point("ibmf.port_attributes")) throw std::bad_alloc();
    const ci::detail::port_block block(ca, number);
    if (block.get() == nullptr) return block.status();
    port_attributes fresh;
    fresh.set(*block.get());
    const guard under(*this);
    std::swap(attributes, fresh);
    return STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

void port::port_event(IB_CA*, void* context, UCHAR which, IB_ASYNC_EVENT event) {
    port& self = *static_cast<port*>(context);
    if (which != self.number) return;
    {
        const guard under(self);
        if (event == IB_AE_PORT_ACTIVE) self.attributes.set_state(IB_PORT_ACTIVE);
        if (event == IB_AE_PORT_ERROR) self.attributes.set_state(IB_PORT_DOWN);
        if (self.refreshing_) return;
        self.refreshing_ = true;
    }
    intrusive_ptr_add_ref(&self);
    ExInitializeWorkItem(&self.refresh_item_, refresh_work, &self);
    ExQueueWorkItem(&self.refresh_item_, DelayedWorkQueue);
}

// The CA stays open during the query: its close waits for registry::turn.
void port::refresh_work(void* context) {
    const boost::intrusive_ptr<port> self(static_cast<port*>(context), false);
    const registry::turn mine(*self->home_);
    {
        const guard under(*self);
        self->refreshing_ = false;
        if (IsListEmpty(&self->clients) || self->ca == nullptr) return;
    }
    self->refresh();
}

void port::fatal(IB_CA*, void* context) {
    port& self = *static_cast<port*>(context);
    {
        const guard under(self);
        self.offline = true;
    }
    intrusive_ptr_add_ref(&self);
    ExInitializeWorkItem(&self.offline_item_, offline_work, &self);
    ExQueueWorkItem(&self.offline_item_, DelayedWorkQueue);
}

void port::offline_work(void* context) {
    const boost::intrusive_ptr<port> self(static_cast<port*>(context), false);
    {
        const registry::turn mine(*self->home_);
        guard under(*self);
        for (LIST_ENTRY* each = self->clients.Flink; each != &self->clients; each = each->Flink)
            self->end_all(under, client::port_link::of(each), IBMF_TRANSPORT_FAILURE);
    }
    while (const client_ref next = self->next_to_notify())
        next->tell_offline();
    self->home_->withdraw(*self);
}

// Null: none is left. Clients may register and unregister between the calls.
client_ref port::next_to_notify() {
    const guard under(*this);
    for (LIST_ENTRY* each = clients.Flink; each != &clients; each = each->Flink)
        if (client& which = client::port_link::of(each); !std::exchange(which.knows_offline, true))
            return &which;
    return nullptr;
}

// Runs under registry::turn, so clients and their queue pairs stay. No transaction can begin.
void port::withdraw() {
    for (LIST_ENTRY* each = clients.Flink; each != &clients; each = each->Flink) {
        client& which = client::port_link::of(each);
        which.await_transactions();
        {
            const guard under(*this);
            forget_lingering(which);
        }
        which.await_sends();
        for (agent& own : which.agents)
            deregister_agent(own);
        for (LIST_ENTRY* qp = which.qps.Flink; qp != &which.qps; qp = qp->Flink)
            deregister_agent(alternate_qp::client_link::of(qp).place);
    }
    for (shared_agent& each : shared_)
        deregister_agent(each.place);
    close();
}

client* port::find_client(ibmf_client_type_t type, std::uint32_t oui) {
    for (LIST_ENTRY* each = clients.Flink; each != &clients; each = each->Flink) {
        client& which = client::port_link::of(each);
        if (which.type == type && which.oui == oui) return &which;
    }
    return nullptr;
}

int port::register_agent(agent& place, const class_plan& plan, const method_set& methods) {
    place.at = this;
    place.mgmt_class = plan.mgmt_class;
    IB_MAD_AGENT_ATTR attr{};
    attr.PortNumber = number;
    attr.ManagementClass = plan.mgmt_class;
    attr.ClassVersion = version_of(plan.mgmt_class);
    std::ranges::copy(methods.bits, attr.MethodMask);
    const std::uint32_t oui = place.owner != nullptr ? place.owner->oui : 0;
    for (unsigned i = 0; i < 3; ++i)
        attr.Oui[i] = static_cast<UCHAR>(oui >> (16 - 8 * i));
    NTSTATUS status = register_agent(place, attr);
    // A real HCA can't receive requests of any OUI; responses need no OUI.
    if (status == STATUS_NOT_SUPPORTED && has_oui(plan.mgmt_class) && oui == 0) {
        std::ranges::fill(attr.MethodMask, 0u);
        place.sends_only = true;
        status = register_agent(place, attr);
    }
    return NT_SUCCESS(status) ? IBMF_SUCCESS : registration_failure_of(status);
}

// Registers an agent with our RMPP; if the driver reserves RMPP for itself, with the driver's.
NTSTATUS port::register_agent(agent& place, IB_MAD_AGENT_ATTR attr) {
    const IB_MAD_DISPATCH calls{received};
    const auto try_it = [&](UCHAR rmpp) {
        attr.Rmpp = rmpp;
        return call_verb(
            [&](IRP* irp) { return CiRegisterMadAgent(ca, &attr, &place, &calls, irp); });
    };
    verb_result made = try_it(IB_MAD_RMPP_BY_CLIENT);
    if (made.status == STATUS_NOT_SUPPORTED && layout_of(attr.ManagementClass).rmpp) {
        place.whole = true;
        made = try_it(IB_MAD_RMPP_BY_DRIVER);
        if (!made.success()) place.whole = false;
    }
    if (made.success()) place.mad = made.object<IB_MAD_AGENT>();
    return made.status;
}

void port::deregister_agent(agent& place) {
    if (place.mad == nullptr) return;
    IB_MAD_AGENT* const last = std::exchange(place.mad, nullptr);
    call_verb([&](IRP* irp) { return CiDeregisterMadAgent(last, irp); });
}

int port::join_shared(const class_plan& plan) try {
    const auto same = std::ranges::find_if(shared_, [&](const shared_agent& each) {
        return each.place.mgmt_class == plan.mgmt_class && each.methods == plan.shared;
    });
    if (same != shared_.end()) {
        ++same->users;
        return IBMF_SUCCESS;
    }
    if (dispatch::detail::fault_point("ibmf.shared_agent")) throw std::bad_alloc();
    shared_agent& fresh = shared_.emplace_back();
    fresh.methods = plan.shared;
    fresh.users = 1;
    const int status = register_agent(fresh.place, plan, plan.shared);
    if (status != IBMF_SUCCESS) shared_.pop_back();
    return status;
} catch (const std::bad_alloc&) {
    return IBMF_NO_RESOURCES;
}

void port::leave_shared(const class_plan& plan) {
    const auto same = std::ranges::find_if(shared_, [&](const shared_agent& each) {
        return each.place.mgmt_class == plan.mgmt_class && each.methods == plan.shared;
    });
    if (same == shared_.end() || --same->users != 0) return;
    deregister_agent(same->place);
    shared_.erase(same);
}

// Each client has its own agents, which it sends by; agents of shared methods are additional.
int port::enlist(client& fresh) {
    int status = IBMF_SUCCESS;
    std::size_t own = 0;
    std::size_t shared = 0;
    const std::span<const class_plan> classes = fresh.plan.used();
    for (; own < classes.size() && status == IBMF_SUCCESS; ++own) {
        fresh.agents[own].owner = &fresh;
        status = register_agent(fresh.agents[own], classes[own], classes[own].own);
    }
    for (; shared < classes.size() && status == IBMF_SUCCESS; ++shared)
        if (!classes[shared].shared.empty()) status = join_shared(classes[shared]);
    if (status == IBMF_SUCCESS) {
        const guard under(*this);
        InsertTailList(&clients, &fresh.of_port.entry);
        return status;
    }
    for (std::size_t i = 0; i + 1 < shared; ++i)
        leave_shared(classes[i]);
    for (agent& each : fresh.agents)
        deregister_agent(each);
    return status;
}

// The open CA holds the capability, so a client clears it when it unregisters.
int port::show_sm(client& whose, bool is_sm) {
    {
        const guard under(*this);
        if (is_sm && !whose.ready) return IBMF_BAD_HANDLE;
    }
    if (whose.shows_sm == is_sm) return IBMF_SUCCESS;
    if (ca == nullptr) return IBMF_TRANSPORT_FAILURE;
    IB_MODIFY_PORT change{};
    (is_sm ? change.SetCapabilities : change.ClearCapabilities) = IB_PORT_CAP_IS_SM;
    const NTSTATUS status =
        call_verb([&](IRP* irp) {
            return CiModifyPort(ca, number, IB_MODIFY_PORT_CAPABILITIES, &change, irp);
        }).status;
    if (status == STATUS_FILE_LOCK_CONFLICT) return IBMF_PORT_IN_USE;
    if (!NT_SUCCESS(status)) return IBMF_TRANSPORT_FAILURE;
    whose.shows_sm = is_sm;
    return IBMF_SUCCESS;
}

void port::dismiss(client& gone) {
    show_sm(gone, false);
    {
        const guard under(*this);
        RemoveEntryList(&gone.of_port.entry);
        forget_lingering(gone);
    }
    gone.await_sends();
    for (const class_plan& each : gone.plan.used())
        if (!each.shared.empty()) leave_shared(each);
    for (agent& each : gone.agents)
        deregister_agent(each);
}

} // namespace irpverbs::ibmf
