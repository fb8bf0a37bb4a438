#include <engine/client_table.hpp>

#include <dispatch/machine.hpp>
#include <dispatch/support/faults.hpp>
#include <dispatch/support/locals.hpp>
#include <hca/hca.h>

#include <algorithm>
#include <new>

namespace irpverbs::ibmf {

namespace {

struct machine_clients {
    const std::shared_ptr<client_table> held = std::make_shared<client_table>();
};

IRPVERBS_REGISTERED_EARLY const dispatch::detail::machine_local<machine_clients> client_tables(1);

} // namespace

client_table& client_table::current() { return *client_tables.current().held; }

client_table::client_table() {
    KeInitializeEvent(&free_, SynchronizationEvent, TRUE);
    driver_.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = dispatch_request;
    if (NT_SUCCESS(IoCreateDevice(&driver_, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device_)))
        device_->Flags &= ~static_cast<ULONG>(DO_DEVICE_INITIALIZING);
}

client_table::~client_table() {
    if (device_ != nullptr) IoDeleteDevice(device_);
}

// The table references the client until it is withdrawn.
bool client_table::assign_handle(client& fresh) {
    if (dispatch::detail::fault_point("ibmf.handle")) return false;
    const std::uint64_t handle = clients_.insert(client_ref(&fresh));
    fresh.handle = reinterpret_cast<ibmf_handle_t>(handle);
    return handle != 0;
}

int client_table::find_port(const ibmf_register_info_t& wanted,
                            boost::intrusive_ptr<port_context>& found) {
    const auto same = std::ranges::find_if(ports_, [&](const port_context* each) {
        return each->guid == wanted.ir_ci_guid && each->number == wanted.ir_port_num;
    });
    if (same != ports_.end()) {
        found = *same;
        return IBMF_SUCCESS;
    }
    if (wanted.ir_port_num == 0 || wanted.ir_port_num > UCHAR_MAX)
        return HcaFromGuid(wanted.ir_ci_guid) != nullptr ? IBMF_BAD_PORT : IBMF_BAD_NODE;
    found = new (std::nothrow) port_context(shared_from_this(), messages_, wanted.ir_ci_guid,
                                            static_cast<UCHAR>(wanted.ir_port_num));
    if (found == nullptr) return IBMF_NO_RESOURCES;
    if (dispatch::detail::fault_point("ibmf.port")) throw std::bad_alloc();
    ports_.reserve(ports_.size() + 1); // after the port is open no allocation may fail
    if (const int status = found->open(); status != IBMF_SUCCESS) return status;
    ports_.push_back(found.get());
    return IBMF_SUCCESS;
}

int client_table::add(const registration& wanted, ibmf_handle_t& handle) {
    if (device_ == nullptr) return IBMF_NO_RESOURCES;
    const lifecycle_lock lock(*this);
    boost::intrusive_ptr<port_context> at;
    int status = IBMF_NO_RESOURCES;
    bool opened = false;
    try {
        status = find_port(wanted.info, at);
        opened = status == IBMF_SUCCESS;
        if (opened) status = attach(*at, wanted, handle);
    } catch (const std::bad_alloc&) {
        status = IBMF_NO_RESOURCES;
    }
    if (opened && status != IBMF_SUCCESS) close_if_unused(*at);
    return status;
}

// Clients of UNIVERSAL_CLASS have only alternate QPs, so several can share a port.
int client_table::attach(port_context& at, const registration& wanted, ibmf_handle_t& handle) {
    const bool universal = wanted.info.ir_client_class == UNIVERSAL_CLASS;
    {
        const port_context::guard locked(at);
        if (universal && !at.attributes.has_mad_qps()) return IBMF_NOT_SUPPORTED;
        if (at.offline) return IBMF_BAD_PORT_STATE;
        if (!universal && at.find_client(wanted.info.ir_client_class, wanted.oui) != nullptr)
            return IBMF_PORT_IN_USE;
    }
    const client_ref fresh(new (std::nothrow) client(at, wanted));
    if (fresh == nullptr || !assign_handle(*fresh)) return IBMF_NO_RESOURCES;
    fresh->event_call = wanted.call;
    fresh->event_argument = wanted.argument;
    if (const int status = at.attach(*fresh); status != IBMF_SUCCESS) {
        release_handle(*fresh);
        return status;
    }
    handle = fresh->handle;
    const port_context::guard locked(at);
    fresh->ready = true;
    return IBMF_SUCCESS;
}

int client_table::add_qp(client& whose, uint_t kind, const IB_MAD_KEYS& keys,
                         ibmf_qp_handle_t& handle) {
    const lifecycle_lock lock(*this);
    if (static_cast<std::uint32_t>(++last_qp_) == 0) ++last_qp_;
    const auto key = static_cast<std::uint32_t>(last_qp_);
    const qp_ref fresh(new (std::nothrow) alternate_qp(whose, key, kind, keys));
    if (fresh == nullptr) return IBMF_NO_RESOURCES;
    fresh->handle = reinterpret_cast<ibmf_qp_handle_t>(last_qp_);
    const int status = whose.at->open_qp(*fresh);
    if (status == IBMF_SUCCESS) handle = fresh->handle;
    return status;
}

int client_table::remove(client& gone) {
    port_context& at = *gone.at;
    {
        const port_context::guard locked(at);
        if (!gone.ready) return IBMF_BAD_HANDLE;
        if (!IsListEmpty(&gone.messages) || !gone.qps.empty() || gone.receive_callback != nullptr ||
            at.has_transactions(gone))
            return IBMF_BUSY;
        gone.ready = false;
    }
    gone.await_callbacks();
    const lifecycle_lock lock(*this);
    at.detach(gone);
    const boost::intrusive_ptr<port_context> kept(&at);
    const client_ref last = release_handle(gone);
    close_if_unused(at);
    return IBMF_SUCCESS;
}

void client_table::remove_failed(port_context& failed) {
    const lifecycle_lock lock(*this);
    std::erase(ports_, &failed);
    failed.release_hca();
}

void client_table::close_if_unused(port_context& at) {
    {
        const port_context::guard locked(at);
        if (!at.clients.empty()) return;
    }
    std::erase(ports_, &at);
    at.close();
}

} // namespace irpverbs::ibmf
