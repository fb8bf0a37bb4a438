// irpctl: inspects HCAs and queries other ports by management datagrams. docs/irpctl.md.
#include "command_line.hpp"
#include "failure.hpp"
#include "output.hpp"
#include "session.hpp"

#include <dispatch/support/safe_text.hpp>

#include <fmt/format.h>

#include <csignal>
#include <cstdio>

namespace irpctl {
namespace {

constexpr int failed = 1;
constexpr int usage = 2;

int complain(int status, const std::string& line) {
    fmt::print(stderr, "irpctl: {}\n", irpverbs::dispatch::printable(line));
    return status;
}

int run(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN); // a closed pipe becomes an error of write(2), which is reported
    program_options chosen;
    try {
        const bool parsed = parse_command_line(argc, argv, chosen);
        if (parsed && chosen.start) return chosen.start();
        const bool done = !parsed || run_session(chosen);
        finish_output();
        return done ? 0 : failed;
    } catch (const wrong_usage& wrong) {
        return complain(usage, fmt::format("{}; usage: irpctl [OPTIONS] COMMAND ..., see "
                                           "irpctl --help",
                                           wrong.what()));
    } catch (const std::exception& wrong) {
        return complain(failed, wrong.what());
    }
}

} // namespace
} // namespace irpctl

int main(int argc, char** argv) { return irpctl::run(argc, argv); }
