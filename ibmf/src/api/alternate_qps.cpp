// No driver has UD QPs of a client's own yet, so there is none to be named.
#include <engine/registry.hpp>

#include <bit>

using namespace irpverbs::ibmf;

namespace {

constexpr uint_t kinds = IBMF_ALT_QP_MAD_NO_RMPP | IBMF_ALT_QP_MAD_RMPP | IBMF_ALT_QP_RAW_ONLY;

bool no_partition(ib_pkey_t key) { return (key & 0x7FFF) == 0; }

int no_such_qp(ibmf_handle_t handle) {
    return registry::here().find(handle) != nullptr ? IBMF_BAD_QP_HANDLE : IBMF_BAD_HANDLE;
}

} // namespace

extern "C" {

int ibmf_alloc_qp(ibmf_handle_t ibmf_handle, ib_pkey_t p_key, ib_qkey_t, uint_t flags,
                  ibmf_qp_handle_t* ibmf_qp_handlep) {
    if (ibmf_qp_handlep == nullptr || no_partition(p_key)) return IBMF_INVALID_ARG;
    if (registry::here().find(ibmf_handle) == nullptr) return IBMF_BAD_HANDLE;
    if ((flags & ~kinds) != 0 || !std::has_single_bit(flags)) return IBMF_BAD_FLAGS;
    return IBMF_NOT_SUPPORTED;
}

int ibmf_query_qp(ibmf_handle_t ibmf_handle, ibmf_qp_handle_t, uint_t* qp_num, ib_pkey_t* p_key,
                  ib_qkey_t* q_key, uint8_t* portnum, uint_t flags) {
    if (qp_num == nullptr || p_key == nullptr || q_key == nullptr || portnum == nullptr ||
        flags != 0)
        return IBMF_INVALID_ARG;
    return no_such_qp(ibmf_handle);
}

int ibmf_modify_qp(ibmf_handle_t ibmf_handle, ibmf_qp_handle_t, ib_pkey_t p_key, ib_qkey_t,
                   uint_t flags) {
    if (no_partition(p_key) || flags != 0) return IBMF_INVALID_ARG;
    return no_such_qp(ibmf_handle);
}

int ibmf_free_qp(ibmf_handle_t ibmf_handle, ibmf_qp_handle_t* ibmf_qp_handle, uint_t flags) {
    if (ibmf_qp_handle == nullptr || flags != 0) return IBMF_INVALID_ARG;
    return no_such_qp(ibmf_handle);
}

} // extern "C"
