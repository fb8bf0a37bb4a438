// The connection of a port to the driver: the open CA, the agents, events.
#include <engine/port_context.hpp>

#include <engine/client_table.hpp>
#include <engine/status.hpp>

#include <ci/support/blocking_verb.hpp>
#include <dispatch/support/faults.hpp>
#include <hca/hca.h>

#include <algorithm>
#include <new>

namespace irpverbs::ibmf {

using ci::detail::call_verb;
using ci::detail::verb_result;

namespace {

// They wait where the HCA is in another process: a window of 64 segments of each of 64 transfers.
constexpr ULONG most_datagrams_waiting = 4096;

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

struct port_context::lifecycle : client_table::lifecycle_lock {
    explicit lifecycle(port_context& of) : lifecycle_lock(*of.client_table_) {}
};

port_context::port_context(std::shared_ptr<client_table> its_client_table,
                           message_pool& its_messages, ib_guid_t its_guid, UCHAR its_number)
    : messages(its_messages), guid(its_guid), number(its_number),
      client_table_(std::move(its_client_table)), hca_(*this) {}

int port_context::open() {
    DEVICE_OBJECT* const fdo = HcaFromGuid(guid);
    if (fdo == nullptr) return IBMF_BAD_NODE;
    const NTSTATUS opened = hca_.open(fdo, number);
    if (!NT_SUCCESS(opened)) return registration_failure_of(opened);
    const NTSTATUS asked = refresh();
    if (!NT_ERROR(asked)) return IBMF_SUCCESS;
    close();
    return asked == STATUS_INVALID_PARAMETER ? IBMF_BAD_PORT : registration_failure_of(asked);
}

void port_context::close() {
    if (hca_.ca() == nullptr) return;
    hca_.close();
    stop_timers();
}

// Without memory the attributes stay as they are.
NTSTATUS port_context::refresh() try {
    if (dispatch::detail::fault_point("ibmf.port_attributes")) throw std::bad_alloc();
    const ci::detail::port_block block = hca_.query();
    if (block.get() == nullptr) return block.status();
    port_attributes fresh;
    fresh.set(*block.get());
    const guard locked(*this);
    std::swap(attributes, fresh);
    return STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

void port_context::port_event(IB_ASYNC_EVENT event) {
    const guard locked(*this);
    if (const auto state = ci::detail::port_state_after(event)) attributes.set_state(*state);
}

void port_context::port_changed() {
    {
        const guard locked(*this);
        if (clients.empty()) return;
    }
    refresh();
}

void port_context::hca_failed() {
    {
        const guard locked(*this);
        offline = true;
    }
    intrusive_ptr_add_ref(this);
    ExInitializeWorkItem(&offline_item_, offline_work, this);
    ExQueueWorkItem(&offline_item_, DelayedWorkQueue);
}

void port_context::offline_work(void* context) {
    const boost::intrusive_ptr<port_context> self(static_cast<port_context*>(context), false);
    {
        const client_table::lifecycle_lock lock(*self->client_table_);
        guard locked(*self);
        for (const client& each : self->clients)
            self->end_all(locked, each, IBMF_TRANSPORT_FAILURE);
    }
    while (const client_ref next = self->next_to_notify())
        next->notify_offline();
    self->client_table_->remove_failed(*self);
}

// Null: none is left. Clients may register and unregister between the calls.
client_ref port_context::next_to_notify() {
    const guard locked(*this);
    for (client& each : clients)
        if (!std::exchange(each.offline_notified, true)) return &each;
    return nullptr;
}

// Runs under client_table::lifecycle_lock, so clients and their queue pairs stay. No transaction
// can begin.
void port_context::release_hca() {
    for (client& which : clients) {
        which.await_transactions();
        {
            const guard locked(*this);
            free_time_wait(which);
        }
        which.await_sends();
        for (agent& own : which.agents)
            deregister_agent(own);
        for (alternate_qp& qp : which.qps)
            deregister_agent(qp.slot);
    }
    for (shared_agent& each : shared_)
        deregister_agent(each.slot);
    close();
}

client* port_context::find_client(ibmf_client_type_t type, std::uint32_t oui) {
    for (client& each : clients)
        if (each.type == type && each.oui == oui) return &each;
    return nullptr;
}

int port_context::register_agent(agent& slot, const class_mapping& mapping,
                                 const method_set& methods) {
    slot.at = this;
    slot.mgmt_class = mapping.mgmt_class;
    IB_MAD_AGENT_ATTR attr{};
    attr.PortNumber = number;
    attr.ManagementClass = mapping.mgmt_class;
    attr.ClassVersion = version_of(mapping.mgmt_class);
    attr.ReceiveLimit = most_datagrams_waiting;
    std::ranges::copy(methods.bits, attr.MethodMask);
    const std::uint32_t oui = slot.owner != nullptr ? slot.owner->oui : 0;
    for (unsigned i = 0; i < 3; ++i)
        attr.Oui[i] = static_cast<UCHAR>(oui >> (16 - 8 * i));
    NTSTATUS status = register_agent(slot, attr);
    // A real HCA can't receive requests of any OUI; responses need no OUI.
    if (status == STATUS_NOT_SUPPORTED && has_oui(mapping.mgmt_class) && oui == 0) {
        std::ranges::fill(attr.MethodMask, 0u);
        slot.sends_only = true;
        status = register_agent(slot, attr);
    }
    return NT_SUCCESS(status) ? IBMF_SUCCESS : registration_failure_of(status);
}

// Registers an agent with our RMPP; if the driver reserves RMPP for itself, with the driver's.
NTSTATUS port_context::register_agent(agent& slot, IB_MAD_AGENT_ATTR attr) {
    const IB_MAD_DISPATCH calls{received};
    const auto register_with = [&](UCHAR rmpp) {
        attr.Rmpp = rmpp;
        return call_verb(
            [&](IRP* irp) { return CiRegisterMadAgent(hca_.ca(), &attr, &slot, &calls, irp); });
    };
    verb_result made = register_with(IB_MAD_RMPP_BY_CLIENT);
    if (made.status == STATUS_NOT_SUPPORTED && layout_of(attr.ManagementClass).rmpp) {
        slot.driver_rmpp = true;
        made = register_with(IB_MAD_RMPP_BY_DRIVER);
        if (!made.success()) slot.driver_rmpp = false;
    }
    if (made.success()) slot.mad = made.object<IB_MAD_AGENT>();
    return made.status;
}

void port_context::deregister_agent(agent& slot) {
    if (slot.mad == nullptr) return;
    IB_MAD_AGENT* const last = std::exchange(slot.mad, nullptr);
    call_verb([&](IRP* irp) { return CiDeregisterMadAgent(last, irp); });
}

int port_context::acquire_shared_agent(const class_mapping& mapping) try {
    const auto same = std::ranges::find_if(shared_, [&](const shared_agent& each) {
        return each.slot.mgmt_class == mapping.mgmt_class && each.methods == mapping.shared;
    });
    if (same != shared_.end()) {
        ++same->users;
        return IBMF_SUCCESS;
    }
    if (dispatch::detail::fault_point("ibmf.shared_agent")) throw std::bad_alloc();
    shared_agent& fresh = shared_.emplace_back();
    fresh.methods = mapping.shared;
    fresh.users = 1;
    const int status = register_agent(fresh.slot, mapping, mapping.shared);
    if (status != IBMF_SUCCESS) shared_.pop_back();
    return status;
} catch (const std::bad_alloc&) {
    return IBMF_NO_RESOURCES;
}

void port_context::release_shared_agent(const class_mapping& mapping) {
    const auto same = std::ranges::find_if(shared_, [&](const shared_agent& each) {
        return each.slot.mgmt_class == mapping.mgmt_class && each.methods == mapping.shared;
    });
    if (same == shared_.end() || --same->users != 0) return;
    deregister_agent(same->slot);
    shared_.erase(same);
}

// Each client has its own agents, which it sends by; agents of shared methods are additional.
int port_context::attach(client& fresh) {
    int status = IBMF_SUCCESS;
    std::size_t own = 0;
    std::size_t shared = 0;
    const std::span<const class_mapping> classes = fresh.mapping.used();
    for (; own < classes.size() && status == IBMF_SUCCESS; ++own) {
        fresh.agents[own].owner = &fresh;
        status = register_agent(fresh.agents[own], classes[own], classes[own].own);
    }
    for (; shared < classes.size() && status == IBMF_SUCCESS; ++shared)
        if (!classes[shared].shared.empty()) status = acquire_shared_agent(classes[shared]);
    if (status == IBMF_SUCCESS) {
        const guard locked(*this);
        clients.push_back(fresh);
        return status;
    }
    for (std::size_t i = 0; i + 1 < shared; ++i)
        release_shared_agent(classes[i]);
    for (agent& each : fresh.agents)
        deregister_agent(each);
    return status;
}

// The open CA holds the capability, so a client clears it when it unregisters.
int port_context::set_is_sm(client& whose, bool is_sm) {
    {
        const guard locked(*this);
        if (is_sm && !whose.ready) return IBMF_BAD_HANDLE;
    }
    if (whose.is_sm == is_sm) return IBMF_SUCCESS;
    if (hca_.ca() == nullptr) return IBMF_TRANSPORT_FAILURE;
    IB_MODIFY_PORT change{};
    (is_sm ? change.SetCapabilities : change.ClearCapabilities) = IB_PORT_CAP_IS_SM;
    const NTSTATUS status =
        call_verb([&](IRP* irp) {
            return CiModifyPort(hca_.ca(), number, IB_MODIFY_PORT_CAPABILITIES, &change, irp);
        }).status;
    if (status == STATUS_FILE_LOCK_CONFLICT) return IBMF_PORT_IN_USE;
    if (!NT_SUCCESS(status)) return IBMF_TRANSPORT_FAILURE;
    whose.is_sm = is_sm;
    return IBMF_SUCCESS;
}

void port_context::detach(client& gone) {
    set_is_sm(gone, false);
    {
        const guard locked(*this);
        clients.erase(clients.iterator_to(gone));
        free_time_wait(gone);
    }
    gone.await_sends();
    for (const class_mapping& each : gone.mapping.used())
        if (!each.shared.empty()) release_shared_agent(each);
    for (agent& each : gone.agents)
        deregister_agent(each);
}

} // namespace irpverbs::ibmf
