// irpverbs-conformance: the suite over the drivers of this project.
#include "software.hpp"

int main(int argc, char** argv) {
    CONFORMANCE_ADAPTER rdma{}; // nobody makes things happen to a real HCA at will
    rdma.Scheme = "rdma";
    rdma.RealOnly = TRUE;
    const CONFORMANCE_ADAPTER adapters[] = {software_adapter, rdma};
    return ConformanceMain(argc, argv, adapters, 2);
}
