// irpctl: looks at HCAs, their ports and events from the command line. docs/irpctl.md.
#include "commands.hpp"
#include "failure.hpp"
#include "session.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace irpctl {

void add_commands(CLI::App& parent, invocation& chosen) {
    parent.require_subcommand(1);
    add_devices(parent, chosen);
    add_port(parent, chosen);
    add_events(parent, chosen);
}

namespace {

constexpr int failed = 1;
constexpr int usage = 2;

int complain(int status, const std::string& line) {
    fmt::print(stderr, "irpctl: {}\n", line);
    return status;
}

void declare(CLI::App& app, invocation& chosen) {
    app.add_option("--hca", chosen.hca, "URI of the HCAs: software:, software:FILE, rdma:, ...")
        ->type_name("URI")
        ->capture_default_str();
    app.add_flag("--json", chosen.json, "write JSON instead of tables");
    app.fallthrough();
    add_commands(app, chosen);
    add_trace(app, chosen);
    app.footer("Exit status: 0, 1 when something failed, 2 for a wrong command line.");
}

int run(int argc, char** argv) {
    CLI::App app("Looks at InfiniBand channel adapters (HCAs), their ports and events.", "irpctl");
    invocation chosen;
    declare(app, chosen);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& wrong) {
        if (wrong.get_exit_code() == 0) return app.exit(wrong); // help
        return complain(usage, fmt::format("{}; usage: irpctl [OPTIONS] COMMAND ..., see "
                                           "irpctl --help",
                                           wrong.what()));
    }
    try {
        return run_session(chosen) ? 0 : failed;
    } catch (const failure& wrong) {
        return complain(failed, wrong.what());
    }
}

} // namespace
} // namespace irpctl

int main(int argc, char** argv) {
    try {
        return irpctl::run(argc, argv);
    } catch (const std::exception& wrong) {
        return irpctl::complain(irpctl::failed, wrong.what());
    }
}
