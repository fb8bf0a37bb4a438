// Functions that inject events and faults into the fabric.
#include "adapter.hpp"
#include "completion_queue.hpp"

namespace {

using namespace irpverbs::hca_software;

adapter* find(ib_guid_t guid) {
    const DEVICE_OBJECT* device = HcaFromGuid(guid);
    if (device == nullptr || !is_software(device)) return nullptr;
    return &adapter::of(device);
}

struct node_location {
    fabric* where = nullptr;
    node* at = nullptr;
};

// Finds a switch through the adapters of its fabric.
node_location find_switch(ib_guid_t guid) {
    ULONG count = 0;
    HcaEnumerate(nullptr, &count);
    std::vector<ib_guid_t> guids(count);
    HcaEnumerate(guids.data(), &count);
    fabric* searched = nullptr;
    for (const ib_guid_t each : guids) {
        const adapter* one = find(each);
        if (one == nullptr || &one->owner_fabric() == searched) continue;
        searched = &one->owner_fabric();
        if (node* found = searched->find_node(guid)) return {searched, found};
    }
    return {};
}

node_location find_location(ib_guid_t guid) {
    const adapter* self = find(guid);
    return self != nullptr ? node_location{&self->owner_fabric(), &self->own_node()}
                           : find_switch(guid);
}

// Changes a port under the fabric's lock: `change(fabric, port)` returns the status.
template <class Change>
NTSTATUS on_port(ib_guid_t guid, UCHAR number, const Change& change) {
    const node_location found = find_location(guid);
    if (found.at == nullptr) return STATUS_OBJECT_NAME_NOT_FOUND;
    if (number == 0 || number >= found.at->ports.size()) return STATUS_INVALID_PARAMETER;
    return found.where->change([&] {
        found.where->routes_changed();
        return change(*found.where, found.at->ports[number]);
    });
}

} // namespace

extern "C" {

NTSTATUS HcaSoftwareSetCommands(ib_guid_t guid, HCA_SOFTWARE_COMMANDS commands) {
    adapter* self = find(guid);
    if (self == nullptr) return STATUS_OBJECT_NAME_NOT_FOUND;
    if (static_cast<unsigned>(commands) >= HcaCommandsCount) return STATUS_INVALID_PARAMETER;
    self->set_commands(commands);
    return STATUS_SUCCESS;
}

NTSTATUS HcaSoftwareSetLink(ib_guid_t guid, UCHAR number, BOOLEAN up) {
    return on_port(guid, number, [up](fabric& where, port& at) {
        where.plug(at, up != FALSE);
        return STATUS_SUCCESS;
    });
}

NTSTATUS HcaSoftwareFlapLink(ib_guid_t guid, UCHAR number) {
    return on_port(guid, number, [](fabric& where, port& at) {
        where.plug(at, false);
        where.plug(at, true);
        return STATUS_SUCCESS;
    });
}

NTSTATUS HcaSoftwarePortError(ib_guid_t guid, UCHAR number) {
    return on_port(guid, number, [](fabric& where, port& at) {
        where.fail(at);
        return STATUS_SUCCESS;
    });
}

NTSTATUS HcaSoftwareReportErrorThreshold(ib_guid_t guid, UCHAR number, USHORT trap) {
    if (trap < trap_link_integrity || trap > trap_flow_control) return STATUS_INVALID_PARAMETER;
    return on_port(guid, number, [trap](fabric& where, port& at) {
        if (trap == trap_link_integrity) ++at.counters.LinkIntegrityErrors;
        if (trap == trap_buffer_overrun) ++at.counters.BufferOverrunErrors;
        where.raise_link_error(at, trap);
        return STATUS_SUCCESS;
    });
}

NTSTATUS HcaSoftwareSetFaults(ib_guid_t guid, UCHAR number, const HCA_SOFTWARE_FAULTS* faults) {
    std::shared_ptr<link_faults> made;
    if (faults != nullptr) made = std::make_shared<link_faults>(*faults);
    return on_port(guid, number, [&](fabric&, port& at) {
        if (at.peer == nullptr) return STATUS_INVALID_DEVICE_STATE;
        at.faults = at.peer->faults = made;
        return STATUS_SUCCESS;
    });
}

NTSTATUS HcaSoftwareSetPortState(ib_guid_t guid, UCHAR number, IB_PORT_STATE state) {
    return on_port(guid, number, [state](fabric& where, port& at) {
        return where.set_state(at, state) ? STATUS_SUCCESS : STATUS_INVALID_DEVICE_STATE;
    });
}

NTSTATUS HcaSoftwareChangeSm(ib_guid_t guid, UCHAR number, ib_lid_t lid, UCHAR sl) {
    return on_port(guid, number, [lid, sl](fabric& where, port& at) {
        at.sm_lid = lid;
        at.sm_sl = sl;
        where.raise(at, IB_AE_SM_CHANGE);
        return STATUS_SUCCESS;
    });
}

NTSTATUS HcaSoftwareChangeLid(ib_guid_t guid, UCHAR number, ib_lid_t lid) {
    return on_port(guid, number, [lid](fabric& where, port& at) {
        at.lid = lid;
        where.raise(at, IB_AE_LID_CHANGE);
        return STATUS_SUCCESS;
    });
}

NTSTATUS HcaSoftwareChangePKey(ib_guid_t guid, UCHAR number, ULONG index, ib_pkey_t pkey) {
    return on_port(guid, number, [index, pkey](fabric& where, port& at) {
        if (index >= at.pkeys.size()) return STATUS_INVALID_PARAMETER;
        at.pkeys[index] = pkey;
        where.raise(at, IB_AE_PKEY_CHANGE);
        return STATUS_SUCCESS;
    });
}

NTSTATUS HcaSoftwareChangePrefix(ib_guid_t guid, UCHAR number, ib_sn_prefix_t prefix) {
    return on_port(guid, number, [prefix](fabric& where, port& at) {
        at.set_prefix(prefix);
        where.raise(at, IB_AE_GID_CHANGE);
        return STATUS_SUCCESS;
    });
}

NTSTATUS HcaSoftwareClientReregister(ib_guid_t guid, UCHAR number) {
    return on_port(guid, number, [](fabric& where, port& at) {
        where.raise(at, IB_AE_CLIENT_REREGISTER);
        return STATUS_SUCCESS;
    });
}

NTSTATUS HcaSoftwareFail(ib_guid_t guid) {
    const adapter* self = find(guid);
    if (self == nullptr) return STATUS_OBJECT_NAME_NOT_FOUND;
    HcaReportFatal(self->device());
    self->owner_fabric().with_lock([&] { self->owner_fabric().routes_changed(); });
    return STATUS_SUCCESS;
}

NTSTATUS HcaSoftwareInsertCompletion(IB_CQ* cq, const IB_WC* completion) {
    auto* queue = reinterpret_cast<HCA_CQ*>(cq);
    if (!is_software(queue->Ca->Device)) return STATUS_INVALID_PARAMETER;
    return insert_completion(queue, *completion);
}

NTSTATUS HcaSoftwareCounters(ib_guid_t guid, UCHAR number, HCA_SOFTWARE_COUNTERS* counters) {
    return on_port(guid, number, [counters](fabric& where, const port& at) {
        where.count_straight();
        *counters = at.counters;
        return STATUS_SUCCESS;
    });
}

} // extern "C"
