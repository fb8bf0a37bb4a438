#include "raw_ibmad.hpp"

#include <infiniband/mad.h>

namespace irpverbs::testing {

raw_ibmad::raw_ibmad(std::uint16_t sm_lid) : sm_lid_(sm_lid) {
    int classes[] = {IB_SA_CLASS};
    port_ = mad_rpc_open_port(nullptr, 0, classes, 1);
}

raw_ibmad::~raw_ibmad() {
    if (port_ != nullptr) mad_rpc_close_port(port_);
}

bool raw_ibmad::ask_path(gid from, gid to) {
    ib_portid_t sm{};
    sm.lid = sm_lid_;
    sm.qp = 1;
    sm.qkey = IB_DEFAULT_QP1_QKEY;
    std::uint8_t response[IB_SA_DATA_SIZE];
    return port_ != nullptr && ib_path_query_via(port_, from.data(), to.data(), &sm, response) > 0;
}

} // namespace irpverbs::testing
