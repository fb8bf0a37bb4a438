#include "straight_through.hpp"

namespace irpverbs::hca_software::transport {

straight_terms::straight_terms(const queue_pair& from, const queue_pair& to)
    : mtu_bits(std::countr_zero(from.shared_.mtu())), max_segments(from.shared_.attr.sq_sge),
      max_inline(from.shared_.attr.sq_max_inline),
      signals_all(from.shared_.attr.sq_signaled != FALSE),
      may_write(to.responder_.is_granted(operation::write)),
      shares_receives(to.responder_.shares_receives()),
      is_acknowledged(from.shared_.attr.qp_type == IB_QPT_RELIABLE_CONN),
      to_number(to.shared_.attr.num), from_number(from.shared_.attr.num) {}

template class straight_through<straight_source, straight_end>;

} // namespace irpverbs::hca_software::transport
