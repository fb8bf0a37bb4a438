// Sends datagrams through IBMF. A datagram that can't be sent counts as lost.
#include "port.hpp"

#include <dispatch/support/faults.hpp>

#include <new>

namespace irpverbs::cm::engine {

/// A message of IBMF with its bytes, until it is sent.
struct cm_port::datagram_in_flight {
    boost::intrusive_ptr<cm_port> at;
    datagram bytes;
    ibmf_msg_t* message = nullptr;
};

void cm_port::send(const outgoing& what) {
    if (dispatch::detail::fault_point("cm.datagram")) return;
    if (ExAcquireRundownProtection(&sends_) == FALSE) return; // the port is being closed
    auto* const fresh = new (std::nothrow) datagram_in_flight{this, what.bytes, nullptr};
    if (fresh == nullptr) return ExReleaseRundownProtection(&sends_);
    if (ibmf_alloc_msg(ibmf_, IBMF_ALLOC_NOSLEEP, &fresh->message) == IBMF_SUCCESS) {
        ibmf_msg_t& message = *fresh->message;
        message.im_local_addr = what.to.local;
        message.im_local_addr.ia_remote_qno = 1;
        message.im_local_addr.ia_q_key = IB_QP1_QKEY;
        if (!any_p_key_) message.im_local_addr.ia_p_key = IB_PKEY_DEFAULT_FULL;
        message.im_global_addr = what.to.global;
        if (what.to.has_global) message.im_msg_flags = IBMF_MSG_FLAGS_GLOBAL_ADDRESS;
        message.im_msgbufs_send.im_bufs_mad_hdr =
            reinterpret_cast<ib_mad_hdr_t*>(fresh->bytes.data());
        message.im_msgbufs_send.im_bufs_cl_data = &fresh->bytes[ibmf::mad_header_size];
        message.im_msgbufs_send.im_bufs_cl_data_len = message_size;
    }
    if (fresh->message == nullptr || transport(*fresh) != IBMF_SUCCESS)
        sent(ibmf_, fresh->message, fresh);
}

int cm_port::transport(datagram_in_flight& what) {
    return ibmf_msg_transport(ibmf_, IBMF_QP_HANDLE_DEFAULT, what.message, nullptr, sent, &what, 0);
}

void cm_port::sent(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
    auto* const gone = static_cast<datagram_in_flight*>(context);
    const boost::intrusive_ptr<cm_port> at = gone->at;
    if (msg != nullptr) ibmf_free_msg(handle, &msg);
    delete gone;
    ExReleaseRundownProtection(&at->sends_);
}

} // namespace irpverbs::cm::engine
