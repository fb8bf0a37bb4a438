// An alternate queue pair of a client.
#ifndef IRPVERBS_IBMF_ENGINE_ALTERNATE_QP_HPP
#define IRPVERBS_IBMF_ENGINE_ALTERNATE_QP_HPP

#include <engine/client.hpp>

namespace irpverbs::ibmf {

struct alternate_qp : boost::intrusive_ref_counter<alternate_qp>, receive_handler, qp_hook {
    alternate_qp(client& its_owner, std::uint32_t its_key, uint_t its_kind,
                 const IB_MAD_KEYS& its_keys)
        : owner(its_owner), key(its_key), kind(its_kind), keys(its_keys) {}

    bool raw() const { return kind == IBMF_ALT_QP_RAW_ONLY; }
    bool has_rmpp() const { return kind == IBMF_ALT_QP_MAD_RMPP; }
    /// Called under the lock: true if the keys of a message's address are those of the queue pair.
    /// Full and limited membership of a partition count as equal, since the port has one of them.
    bool has_keys(const ibmf_addr_info_t& address) const {
        constexpr ib_pkey_t partition = 0x7FFF;
        return ((address.ia_p_key ^ keys.PKey) & partition) == 0 && address.ia_q_key == keys.QKey;
    }

    client& owner;           // lives while the queue pair is linked in its list
    const std::uint32_t key; // identifies it in its transactions
    const uint_t kind;
    ibmf_qp_handle_t handle = nullptr;
    agent slot;
    ib_qpn_t number = 0; // queue pair number

    // Members guarded by the port's lock:
    IB_MAD_KEYS keys;
    std::uint32_t sends = 0; // datagrams that the driver has or is about to get
};

/// The key of a queue pair; 0: the default QP of the class.
inline std::uint32_t key_of(const alternate_qp* qp) { return qp != nullptr ? qp->key : 0; }

} // namespace irpverbs::ibmf

#endif
