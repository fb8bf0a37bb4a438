// The port's connection to its HCA, to IBMF and to SA access.
#include "port.hpp"

#include "port_table.hpp"

#include <ci/support/blocking_verb.hpp>
#include <hca/hca.h>
#include <ibmf/support/requests.hpp>

#include <ci/attributes.hpp>

namespace irpverbs::cm::engine {

cm_port::lifecycle::lifecycle(cm_port& of) : lock_(of.table_.lifecycle()) {}

namespace {

port_attributes attributes_of(const IB_PORT_ATTR& from) {
    const auto gids = ci::gids(from);
    const auto pkeys = ci::pkeys(from);
    return {from.PortNumber,
            from.PortGuid,
            from.Lid,
            from.Lmc,
            from.ActiveMtu,
            from.State == IB_PORT_ACTIVE,
            from.LinkLayer == IB_LINK_LAYER_ETHERNET,
            {gids.begin(), gids.end()},
            {pkeys.begin(), pkeys.end()}};
}

NTSTATUS status_of_registration(int ibmf_status) {
    switch (ibmf_status) {
    case IBMF_SUCCESS:
        return STATUS_SUCCESS;
    case IBMF_PORT_IN_USE:
        return STATUS_DEVICE_BUSY;
    case IBMF_NOT_SUPPORTED:
        return STATUS_NOT_SUPPORTED;
    default:
        return ibmf::status_of(ibmf_status);
    }
}

} // namespace

NTSTATUS cm_port::open() {
    NTSTATUS status = open_hca();
    if (NT_SUCCESS(status)) status = register_with_ibmf();
    if (!NT_SUCCESS(status)) close();
    return status;
}

NTSTATUS cm_port::open_hca() {
    DEVICE_OBJECT* const fdo = HcaFromGuid(ca_guid);
    if (fdo == nullptr) return STATUS_NO_SUCH_DEVICE;
    if (number == 0 || number > ports_.size()) return STATUS_INVALID_PARAMETER;
    const NTSTATUS opened = hca_.open(fdo, number);
    return NT_SUCCESS(opened) ? refresh() : opened;
}

NTSTATUS cm_port::refresh() {
    std::vector<port_attributes> fresh;
    for (std::size_t each = 1; each <= ports_.size(); ++each) {
        const ci::detail::port_block block = hca_.query(static_cast<UCHAR>(each));
        if (block.get() == nullptr) return block.status();
        fresh.push_back(attributes_of(*block.get()));
    }
    const guard locked(*this);
    std::swap(ports_, fresh);
    return STATUS_SUCCESS;
}

NTSTATUS cm_port::register_with_ibmf() {
    ibmf_register_info_t info{ca_guid, number, COMM_MGT_MANAGER_AGENT};
    ibmf_impl_caps_t features{};
    int status = ibmf_register(&info, IBMF_VERSION, IBMF_REG_FLAG_NO_OFFLOAD, nullptr, nullptr,
                               &ibmf_, &features);
    any_p_key_ = (features & IBMF_DEF_QP_HDL_P_KEY_ANY) != 0;
    if (status == IBMF_SUCCESS)
        status = ibmf_setup_async_cb(ibmf_, IBMF_QP_HANDLE_DEFAULT, received, this, 0);
    return status_of_registration(status);
}

NTSTATUS cm_port::open_paths() {
    if (finds_paths()) return STATUS_SUCCESS;
    const int status =
        ibmf_sa_session_open(attributes().port_guid, 0, nullptr, IBMF_VERSION,
                             IBMF_SAA_SESSION_CACHED_PATHS | IBMF_SAA_SESSION_NO_OFFLOAD, &paths_);
    return status == IBMF_SUCCESS ? STATUS_SUCCESS : STATUS_DEVICE_NOT_READY;
}

// Clients have closed their listeners and connections. Connections that wait for their end are
// dropped.
void cm_port::close() {
    {
        const guard locked(*this);
        closing_ = true;
    }
    KeCancelTimer(&timer_);
    KeFlushQueuedDpcs();
    drop_connections();
    if (paths_ != nullptr) ibmf_sa_session_close(&paths_, 0);
    if (ibmf_ != nullptr) {
        ibmf_tear_down_async_cb(ibmf_, IBMF_QP_HANDLE_DEFAULT, 0);
        ExWaitForRundownProtectionRelease(&sends_);
        ibmf_unregister(&ibmf_, 0);
    }
    hca_.close();
}

bool cm_port::drop_one() {
    guard locked(*this);
    if (!connections_.empty())
        connections_.begin()->drop(locked.fx);
    else if (!ud_requests_.empty())
        remove(*ud_requests_.begin(), locked.fx);
    else
        return false;
    return true;
}

void cm_port::drop_connections() {
    while (drop_one()) {
    }
}

} // namespace irpverbs::cm::engine
