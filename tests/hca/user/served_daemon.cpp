// served_daemon SOCKET: a daemon of a software fabric, until it is killed. Prints a line when it
// listens.
#include <ci/ual.h>
#include <dispatch/machine.hpp>
#include <hca/hca.h>

#include <cstdio>
#include <unistd.h>

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    irpverbs::dispatch::asio_machine machine({.processors = 1});
    const irpverbs::dispatch::machine::scope inside(machine);
    UAL* listener = nullptr;
    if (!NT_SUCCESS(HcaAttach("software:", nullptr)) ||
        !NT_SUCCESS(UalListen(argv[1], nullptr, &listener, nullptr, 0)))
        return 3;
    std::puts("listens");
    std::fflush(stdout);
    for (;;)
        pause();
}
