// How long a cold sweep takes until every port of a fat tree is active: 80 switches, 2,000 hosts
// (or the numbers of leaves, spines and hosts a leaf that are given).
#include "managed_fabric.hpp"

#include <dispatch/machine.hpp>

#include <cstdlib>

int main(int argc, char** argv) {
    using namespace irpverbs::testing;
    const auto number = [&](int at, unsigned otherwise) {
        return argc > at ? static_cast<unsigned>(std::atoi(argv[at])) : otherwise;
    };
    const topology_file file(fat_tree_file(number(1, 64), number(2, 16), number(3, 32)));
    irpverbs::dispatch::asio_machine machine;
    const irpverbs::dispatch::machine::scope inside(machine);
    const attached hcas(unmanaged(file.path()));
    running_manager manager({.hca = hcas.guid(0), .smps_in_flight = number(4, 32)});
    const ULONGLONG start = KeQueryInterruptTime();
    manager.wait_until_up();
    const ULONGLONG taken = KeQueryInterruptTime() - start;
    const auto status = manager->status();
    std::printf("%u nodes, %u end ports: %.3f s, %llu SMPs%s\n", status.nodes, status.end_ports,
                static_cast<double>(taken) / 1e7, static_cast<unsigned long long>(status.smps),
                status.incomplete ? ", incomplete" : "");
    return status.incomplete ? 1 : 0;
}
