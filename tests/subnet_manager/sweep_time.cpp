// Prints how long a first sweep takes until every port is active: for a fat tree of 80 switches and
// 2,000 hosts, for one with given numbers of leaves, spines and hosts per leaf, or for a topology
// file.
#include "managed_fabric.hpp"

#include <dispatch/machine.hpp>

#include <cstdlib>

int main(int argc, char** argv) {
    using namespace irpverbs::testing;
    const auto number = [&](int at, unsigned otherwise) {
        return argc > at ? static_cast<unsigned>(std::atoi(argv[at])) : otherwise;
    };
    const bool given = argc == 2;
    const topology_file tree(given ? ""
                                   : fat_tree_file(number(1, 64), number(2, 16), number(3, 32)));
    irpverbs::dispatch::asio_machine machine;
    const irpverbs::dispatch::machine::scope inside(machine);
    const attached hcas(unmanaged(given ? argv[1] : tree.path()));
    running_manager manager({.hca = hcas.guid(0), .smps_in_flight = number(4, 64)});
    const ULONGLONG start = KeQueryInterruptTime();
    manager.wait_until_up();
    const ULONGLONG taken = KeQueryInterruptTime() - start;
    const auto status = manager->status();
    std::printf("%u nodes, %u end ports: %.3f s, %llu SMPs%s\n", status.nodes, status.end_ports,
                static_cast<double>(taken) / 1e7, static_cast<unsigned long long>(status.smps),
                status.incomplete ? ", incomplete" : "");
    return status.incomplete ? 1 : 0;
}
