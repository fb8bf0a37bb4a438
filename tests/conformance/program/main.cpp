// irpverbs-conformance: the suite over the drivers of this project.
#include "software.hpp"

int main(int argc, char** argv) {
    CONFORMANCE_ADAPTER rdma{}; // a real HCA's events cannot be caused on demand
    rdma.Scheme = "rdma";
    rdma.RealOnly = TRUE;
    const CONFORMANCE_ADAPTER adapters[] = {software_adapter, rdma};
    return ConformanceMain(argc, argv, adapters, 2);
}
