#include <engine/client_table.hpp>

#include <hca/hca.h>

using namespace irpverbs::ibmf;

namespace {

constexpr uint_t known_registration_flags =
    IBMF_REG_FLAG_RMPP | IBMF_REG_FLAG_NO_OFFLOAD | IBMF_REG_FLAG_SINGLE_OFFLOAD;
constexpr uint_t offload_flags = IBMF_REG_FLAG_NO_OFFLOAD | IBMF_REG_FLAG_SINGLE_OFFLOAD;

int check(const ibmf_register_info_t& info, uint_t version, uint_t flags) {
    if (version != IBMF_VERSION) return IBMF_BAD_VERSION;
    if ((flags & ~known_registration_flags) != 0 || (flags & offload_flags) == offload_flags)
        return IBMF_BAD_FLAGS;
    const bool universal = info.ir_client_class == UNIVERSAL_CLASS;
    if (!universal && !client_mapping_of(info.ir_client_class).known) return IBMF_BAD_CLASS;
    return HcaFromGuid(info.ir_ci_guid) != nullptr ? IBMF_SUCCESS : IBMF_BAD_NODE;
}

int add(const registration& wanted, uint_t version, ibmf_handle_t& handle,
        ibmf_impl_caps_t& features) {
    if (const int refused = check(wanted.info, version, wanted.flags); refused != IBMF_SUCCESS)
        return refused;
    const int status = client_table::current().add(wanted, handle);
    // With the default QP each datagram has its keys, and the P_Key must be in the port's table. An
    // alternate QP has its own keys.
    if (status == IBMF_SUCCESS)
        features =
            static_cast<ibmf_impl_caps_t>(IBMF_DEF_QP_HDL_P_KEY_ANY | IBMF_DEF_QP_HDL_Q_KEY_ANY);
    return status;
}

} // namespace

extern "C" {

int ibmf_register(ibmf_register_info_t* client_info, uint_t ibmf_version, uint_t flags,
                  ibmf_async_event_cb_t client_cb, void* client_cb_args, ibmf_handle_t* ibmf_handle,
                  ibmf_impl_caps_t* ibmf_impl_features) {
    if (client_info == nullptr || ibmf_handle == nullptr || ibmf_impl_features == nullptr)
        return IBMF_INVALID_ARG;
    return add({*client_info, 0, flags, client_cb, client_cb_args}, ibmf_version, *ibmf_handle,
               *ibmf_impl_features);
}

int ibmf_register_oui(ibmf_register_info_t* client_info, uint32_t oui, uint_t ibmf_version,
                      uint_t flags, ibmf_async_event_cb_t client_cb, void* client_cb_args,
                      ibmf_handle_t* ibmf_handle, ibmf_impl_caps_t* ibmf_impl_features) {
    constexpr uint32_t max_oui = 0xFFFFFF;
    if (client_info == nullptr || ibmf_handle == nullptr || ibmf_impl_features == nullptr ||
        oui == 0 || oui > max_oui)
        return IBMF_INVALID_ARG;
    if (!has_oui(static_cast<std::uint8_t>(client_info->ir_client_class))) return IBMF_BAD_CLASS;
    return add({*client_info, oui, flags, client_cb, client_cb_args}, ibmf_version, *ibmf_handle,
               *ibmf_impl_features);
}

int ibmf_unregister(ibmf_handle_t* ibmf_handle, uint_t flags) {
    if (ibmf_handle == nullptr || flags != 0) return IBMF_INVALID_ARG;
    client_table& here = client_table::current();
    const client_ref who = here.find(*ibmf_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    // A callback of a client without offload runs in a DPC, which must not wait.
    if (KeGetCurrentIrql() >= DISPATCH_LEVEL) return IBMF_BUSY;
    const int status = here.remove(*who);
    if (status == IBMF_SUCCESS) *ibmf_handle = nullptr;
    return status;
}

int ibmf_set_is_sm(ibmf_handle_t ibmf_handle, boolean_t is_sm) {
    client_table& here = client_table::current();
    const client_ref who = here.find(ibmf_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    if (who->type != SUBN_MANAGER) return IBMF_BAD_CLASS;
    const client_table::lifecycle_lock lock(here);
    return who->at->set_is_sm(*who, is_sm != B_FALSE);
}

int ibmf_setup_async_cb(ibmf_handle_t ibmf_handle, ibmf_qp_handle_t ibmf_qp_handle,
                        ibmf_msg_cb_t async_msg_cb, void* async_msg_cb_args, uint_t flags) {
    if (async_msg_cb == nullptr || flags != 0) return IBMF_INVALID_ARG;
    const client_ref who = client_table::current().find(ibmf_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    qp_ref qp;
    if (!who->find_qp(ibmf_qp_handle, qp)) return IBMF_BAD_QP_HANDLE;
    if (qp == nullptr && who->agents[0].sends_only) return IBMF_NOT_SUPPORTED;
    receive_handler& handler = receive_handler_of(*who, qp.get());
    const port_context::guard locked(*who->at);
    if (!who->ready) return IBMF_BAD_HANDLE;
    if (qp != nullptr && !qp->is_linked()) return IBMF_BAD_QP_HANDLE;
    if (handler.receive_callback != nullptr) return IBMF_CB_REGISTERED;
    handler.receive_callback = async_msg_cb;
    handler.receive_argument = async_msg_cb_args;
    ++handler.receive_generation;
    return IBMF_SUCCESS;
}

int ibmf_tear_down_async_cb(ibmf_handle_t ibmf_handle, ibmf_qp_handle_t ibmf_qp_handle,
                            uint_t flags) {
    if (flags != 0) return IBMF_INVALID_ARG;
    const client_ref who = client_table::current().find(ibmf_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    qp_ref qp;
    if (!who->find_qp(ibmf_qp_handle, qp)) return IBMF_BAD_QP_HANDLE;
    receive_handler& handler = receive_handler_of(*who, qp.get());
    {
        const port_context::guard locked(*who->at);
        if (handler.receive_callback == nullptr) return IBMF_CB_NOT_REGISTERED;
        handler.receive_callback = nullptr;
        who->drop_unsolicited(handler);
    }
    // At DISPATCH_LEVEL the caller is a callback of the client, which run one at a time there.
    if (KeGetCurrentIrql() < DISPATCH_LEVEL) who->await_unsolicited(handler);
    return IBMF_SUCCESS;
}

} // extern "C"
