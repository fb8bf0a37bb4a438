#include "port_table.hpp"

#include <api/device.hpp>

#include <dispatch/machine.hpp>
#include <dispatch/support/faults.hpp>
#include <dispatch/support/locals.hpp>

#include <algorithm>
#include <memory>

namespace irpverbs::cm::engine {

namespace {

IRPVERBS_REGISTERED_EARLY const dispatch::detail::machine_local<port_table> port_tables(3);

void complete(IRP* irp, NTSTATUS status, ULONG_PTR information) {
    irp->IoStatus.Status = status;
    irp->IoStatus.Information = information;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
}

} // namespace

port_table& port_table::current() { return port_tables.current(); }

port_table::port_table() {
    KeInitializeEvent(&free_, SynchronizationEvent, TRUE);
    driver_.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = dispatch_verb;
    if (NT_SUCCESS(IoCreateDevice(&driver_, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device_)))
        device_->Flags &= ~static_cast<ULONG>(DO_DEVICE_INITIALIZING);
}

port_table::~port_table() {
    if (device_ != nullptr) IoDeleteDevice(device_);
}

void port_table::open(client& fresh) {
    ExInitializeWorkItem(&fresh.item, open_in_work_item, &fresh);
    ExQueueWorkItem(&fresh.item, DelayedWorkQueue);
}

void port_table::close(client& gone) {
    ExInitializeWorkItem(&gone.item, close_in_work_item, &gone);
    ExQueueWorkItem(&gone.item, DelayedWorkQueue);
}

// A cancellation takes effect before the port is opened.
void port_table::open_in_work_item(void* context) {
    std::unique_ptr<client> fresh(static_cast<client*>(context));
    IRP* const irp = fresh->irp;
    const bool cancelled = __atomic_load_n(&irp->Cancel, __ATOMIC_SEQ_CST) != 0;
    const NTSTATUS status = cancelled ? STATUS_CANCELLED : current().open_port(*fresh);
    if (!NT_SUCCESS(status)) {
        fresh.reset();
        return complete(irp, status, 0);
    }
    complete(irp, STATUS_SUCCESS, reinterpret_cast<ULONG_PTR>(fresh.release()->object()));
}

NTSTATUS port_table::open_port(client& fresh) {
    const table_lock lock(free_);
    boost::intrusive_ptr<cm_port> at;
    NTSTATUS status = STATUS_INSUFFICIENT_RESOURCES;
    try {
        status = find_or_open(fresh, at);
    } catch (const std::bad_alloc&) {
    }
    if (NT_SUCCESS(status) && (fresh.flags & IB_CM_OPEN_WITHOUT_SA) == 0) status = at->open_paths();
    if (NT_SUCCESS(status)) {
        ++at->clients;
        fresh.at = at;
    } else if (at != nullptr) {
        release(*at);
    }
    return status;
}

NTSTATUS port_table::find_or_open(client& fresh, boost::intrusive_ptr<cm_port>& found) {
    IB_CA_ATTR attr{};
    const NTSTATUS queried = ci::detail::call_verb([&](IRP* irp) {
                                 return CiQueryCa(fresh.ca, sizeof(attr), &attr, irp);
                             }).status;
    if (!NT_SUCCESS(queried) && queried != STATUS_BUFFER_OVERFLOW) return queried;
    const auto same = std::ranges::find_if(ports_, [&](const cm_port* each) {
        return each->ca_guid == attr.NodeGuid && each->number == fresh.number;
    });
    if (same != ports_.end()) {
        found = *same;
        return STATUS_SUCCESS;
    }
    if (dispatch::detail::fault_point("cm.port")) throw std::bad_alloc();
    ports_.reserve(ports_.size() + 1);
    const boost::intrusive_ptr<cm_port> made(new cm_port(*this, attr, fresh.number));
    const NTSTATUS status = made->open();
    if (!NT_SUCCESS(status)) return status;
    ports_.push_back(made.get());
    found = made;
    return STATUS_SUCCESS;
}

void port_table::close_in_work_item(void* context) {
    const std::unique_ptr<client> gone(static_cast<client*>(context));
    port_table& self = current();
    {
        const table_lock lock(self.free_);
        --gone->at->clients;
        self.release(*gone->at);
    }
    complete(gone->irp, STATUS_SUCCESS, 0);
}

void port_table::release(cm_port& at) {
    if (at.clients != 0) return;
    std::erase(ports_, &at);
    at.close();
}

} // namespace irpverbs::cm::engine
