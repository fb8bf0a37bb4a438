// Conversion of transports and calls to IRPs for the device.
#ifndef IRPVERBS_IBMF_ENGINE_REQUESTS_HPP
#define IRPVERBS_IBMF_ENGINE_REQUESTS_HPP

#include <engine/client_table.hpp>
#include <ibmf/support/requests.hpp>

namespace irpverbs::ibmf {

/// The MinorFunction of a request. Argument1 is its transport, its blocking_call, or the IBMF_
/// status.
enum request_kind : UCHAR { begin_transaction, run_call, fail_call };

/// Makes the checks that need no lock, and returns an IBMF_ status. `qp`: the queue pair of
/// `handle`; null: the default QP. `found`: the message with the public part `msg`.
int check_transport(client& who, ibmf_qp_handle_t handle, const ibmf_msg_t& msg, uint_t flags,
                    qp_ref& qp, message*& found);

/// Fills the IRP's next location.
void prepare(IRP* irp, request_kind kind, void* argument);

} // namespace irpverbs::ibmf

#endif
