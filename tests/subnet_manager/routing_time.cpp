// Prints the time of a sweep's computation: 2,016 hosts under 56 leaves and 24 spines. Nothing
// depends on the figures.
#include "topologies.hpp"

#include <model/routing.hpp>

#include <chrono>
#include <cstdio>

using namespace irpverbs::subnet_manager;

int main() {
    using clock = std::chrono::steady_clock;
    const topology subnet = testing::fat_tree(56, 24, 36);
    for (int round = 0; round < 3; ++round) {
        const auto begin = clock::now();
        lid_table lids;
        lids.assign(subnet, 0);
        const auto assigned = clock::now();
        const switch_graph graph(subnet);
        const auto searched = clock::now();
        routing_tables tables;
        tables.compute(subnet, graph, lids);
        const auto end = clock::now();
        const auto ms = [](auto from, auto to) {
            return std::chrono::duration<double, std::milli>(to - from).count();
        };
        std::printf("%zu switches, LIDs to %u: LIDs %.1f ms, distances %.1f ms, tables %.1f ms\n",
                    graph.size(), unsigned{lids.top()}, ms(begin, assigned), ms(assigned, searched),
                    ms(searched, end));
    }
}
