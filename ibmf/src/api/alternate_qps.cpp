#include <engine/client_table.hpp>

#include <bit>

using namespace irpverbs::ibmf;

namespace {

constexpr uint_t kinds = IBMF_ALT_QP_MAD_NO_RMPP | IBMF_ALT_QP_MAD_RMPP | IBMF_ALT_QP_RAW_ONLY;

bool no_partition(ib_pkey_t key) { return (key & 0x7FFF) == 0; }

/// The calling client, and the queue pair that the call names.
struct named_qp {
    client_ref who;
    qp_ref qp;
    int status = IBMF_SUCCESS;

    named_qp(ibmf_handle_t handle, ibmf_qp_handle_t qp_handle)
        : who(client_table::current().find(handle)) {
        if (who == nullptr)
            status = IBMF_BAD_HANDLE;
        else if (qp_handle == IBMF_QP_HANDLE_DEFAULT || !who->find_qp(qp_handle, qp))
            status = IBMF_BAD_QP_HANDLE;
    }
};

} // namespace

extern "C" {

int ibmf_alloc_qp(ibmf_handle_t ibmf_handle, ib_pkey_t p_key, ib_qkey_t q_key, uint_t flags,
                  ibmf_qp_handle_t* ibmf_qp_handlep) {
    if (ibmf_qp_handlep == nullptr || no_partition(p_key)) return IBMF_INVALID_ARG;
    client_table& here = client_table::current();
    const client_ref who = here.find(ibmf_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    if ((flags & ~kinds) != 0 || !std::has_single_bit(flags)) return IBMF_BAD_FLAGS;
    return here.add_qp(*who, flags, {p_key, q_key}, *ibmf_qp_handlep);
}

int ibmf_query_qp(ibmf_handle_t ibmf_handle, ibmf_qp_handle_t ibmf_qp_handle, uint_t* qp_num,
                  ib_pkey_t* p_key, ib_qkey_t* q_key, uint8_t* portnum, uint_t flags) {
    if (qp_num == nullptr || p_key == nullptr || q_key == nullptr || portnum == nullptr ||
        flags != 0)
        return IBMF_INVALID_ARG;
    const named_qp named(ibmf_handle, ibmf_qp_handle);
    if (named.status != IBMF_SUCCESS) return named.status;
    const port_context::guard locked(*named.who->at);
    if (!named.qp->is_linked()) return IBMF_BAD_QP_HANDLE;
    *qp_num = named.qp->number;
    *p_key = named.qp->keys.PKey;
    *q_key = named.qp->keys.QKey;
    *portnum = named.who->at->number;
    return IBMF_SUCCESS;
}

int ibmf_modify_qp(ibmf_handle_t ibmf_handle, ibmf_qp_handle_t ibmf_qp_handle, ib_pkey_t p_key,
                   ib_qkey_t q_key, uint_t flags) {
    if (no_partition(p_key) || flags != 0) return IBMF_INVALID_ARG;
    const named_qp named(ibmf_handle, ibmf_qp_handle);
    if (named.status != IBMF_SUCCESS) return named.status;
    const client_table::lifecycle_lock lock(client_table::current());
    return named.who->at->modify_qp(*named.qp, {p_key, q_key});
}

int ibmf_free_qp(ibmf_handle_t ibmf_handle, ibmf_qp_handle_t* ibmf_qp_handle, uint_t flags) {
    if (ibmf_qp_handle == nullptr || flags != 0) return IBMF_INVALID_ARG;
    const named_qp named(ibmf_handle, *ibmf_qp_handle);
    if (named.status != IBMF_SUCCESS) return named.status;
    const client_table::lifecycle_lock lock(client_table::current());
    const int status = named.who->at->close_qp(*named.qp);
    if (status == IBMF_SUCCESS) *ibmf_qp_handle = IBMF_QP_HANDLE_DEFAULT;
    return status;
}

} // extern "C"
