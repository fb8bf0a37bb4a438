// What becomes of a datagram that has come to its node.
#include "adapter.hpp"
#include "admission.hpp"

namespace irpverbs::hca_software {

namespace {

// Each class has its queue pair, and QP0 knows no GRH. Source: IBA 13.4.2, 13.5.1.
bool in_place(packet& what) {
    const mad_header mad = header_of(what.mad);
    if (mad.base() != base_version || mad.of_subnet_management() != what.managing()) return false;
    return what.managing() ? !what.global : what.to_qp == 1;
}

} // namespace

void fabric::arrive(packet* what) {
    port& in = *what->at;
    node& here = *in.owner;
    adapter* attached = here.attached.get();
    const bool alive = attached != nullptr && !HcaIsDead(attached->device());
    const bool admitted =
        in_place(*what) && (what->managing() || admits(*this, here.end_port(in), *what));
    if (alive && admitted && attached->agents().takes(*what))
        attached->agents().deliver(what);
    else
        packets_.give(what);
}

} // namespace irpverbs::hca_software
