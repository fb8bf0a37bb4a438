#include "command_line.hpp"

#include "attributes.hpp"
#include "commands.hpp"
#include "failure.hpp"
#include "record_query.hpp"
#include "run.hpp"

#include <dispatch/support/numbers.hpp>

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdlib>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>

namespace irpctl {

namespace {

template <class Number>
std::optional<Number> number_of(const std::string& text) {
    if constexpr (std::is_integral_v<Number>) {
        return irpverbs::dispatch::number_in(text, std::numeric_limits<Number>::max());
    } else {
        Number value = 0;
        const char* const end = text.data() + text.size();
        const auto [stopped, wrong] = std::from_chars(text.data(), end, value);
        return wrong == std::errc() && stopped == end ? std::optional(value) : std::nullopt;
    }
}

CLI::App* add(CLI::App& parent, const char* name, const char* what) {
    return parent.add_subcommand(name, what);
}

/// The port of a command as the user writes it: `port 2` is a port of the first device.
struct port_words {
    std::string device;
    std::string number;

    void declare(CLI::App& command) {
        command.add_option("DEVICE", device, "name or node GUID of the HCA (default: the first)");
        command.add_option("PORT", number, "port number (default: 1)");
    }
    port_choice port() const {
        if (!number.empty()) return {device, value(number)};
        if (is_number(device)) return {"", value(device)};
        return {device, 1};
    }

private:
    static constexpr std::size_t guid_digits = 16; // a GUID may consist of decimal digits only

    static bool is_number(const std::string& text) {
        return !text.empty() && text.size() < guid_digits &&
               text.find_first_not_of("0123456789") == std::string::npos;
    }
    static std::uint8_t value(const std::string& text) {
        const auto found =
            is_number(text) ? irpverbs::dispatch::number_in(text, 255) : std::nullopt;
        if (!found || *found == 0)
            throw wrong_usage(
                fmt::format("PORT: a number from 1 to 255 was expected, not '{}'", text));
        return static_cast<std::uint8_t>(*found);
    }
};

/// The parsed options of a command. The options that write them and the callback that reads them
/// share the structure.
template <class Options>
struct parsed_command {
    port_words from;
    Options options;
};

/// Accepts a number from `least` to `most`. CLI::Range lets "nan" pass.
template <class Number>
auto between(Number least, Number most) {
    return [least, most](const std::string& text) {
        const std::optional<Number> found = number_of<Number>(text);
        return found && *found >= least && *found <= most
                   ? std::string()
                   : fmt::format("a number from {} to {} was expected, not '{}'", least, most,
                                 text);
    };
}

void add_count(CLI::App& command, std::uint64_t& count, const char* what) {
    const auto problem = [](const std::string& text) {
        const auto found =
            irpverbs::dispatch::number_in(text, std::numeric_limits<std::uint64_t>::max());
        return found && *found != 0
                   ? std::string()
                   : fmt::format("a whole number from 1 on was expected, not '{}'", text);
    };
    command.add_option("--count", count, what)->check(problem)->type_name("N");
}

void add_capture(CLI::App& command, program_options& chosen) {
    command
        .add_option("--pcap", chosen.pcap_file,
                    "capture all sent and received datagrams, for Wireshark")
        ->type_name("FILE");
}

void add_timeouts(CLI::App& command, timeouts& times) {
    command.add_option("--timeout", times.milliseconds, "time limit of one attempt")
        ->check(between(1u, 600'000u))
        ->type_name("MS")
        ->capture_default_str();
    command.add_option("--retries", times.retries, "retries after a timeout")
        ->check(between(0u, 255u))
        ->type_name("N")
        ->capture_default_str();
}

void add_lid(CLI::App& command, std::uint16_t& lid) {
    command.add_option("--lid", lid, "destination LID (default: the local port)")
        ->check(between(1u, 0xFFFEu))
        ->type_name("LID");
}

void add_devices(CLI::App& parent, program_options& chosen) {
    CLI::App* command = add(parent, "devices", "Lists the HCAs and their ports");
    const auto with_limits = std::make_shared<bool>(false);
    command->add_flag("--all", *with_limits, "include limits");
    command->callback([&chosen, with_limits] {
        chosen.run = [all = *with_limits](session& here) { return show_devices(here, all); };
    });
}

void add_port(CLI::App& parent, program_options& chosen) {
    CLI::App* command = add(parent, "port", "Shows all attributes of a port, its GIDs and P_Keys");
    const auto from = std::make_shared<port_words>();
    from->declare(*command);
    command->callback([&chosen, from] {
        const port_choice which = from->port();
        chosen.run = [which](session& here) { return show_port(here, which); };
    });
}

void add_events(CLI::App& parent, program_options& chosen) {
    CLI::App* command = add(parent, "events", "Prints events of all ports and HCAs as they occur");
    const auto options = std::make_shared<event_options>();
    add_count(*command, options->count, "stop after N events");
    command->add_option("--for", options->seconds, "stop after this time")
        ->check(between(0.0, no_time_limit))
        ->type_name("SECONDS");
    command->add_flag("--provoke", options->provoke,
                      "software fabric only: flap port 1 of the first HCA every second; with "
                      "--subnet, pull and mend the cable of the last HCA");
    command->add_flag(
        "--subnet", options->subnet,
        "include events of the subnet: ports in and out of service, multicast groups");
    command->callback([&chosen, options] {
        if (options->provoke && !chosen.hca.starts_with("software:"))
            throw wrong_usage("--provoke: only a software: fabric supports this option");
        chosen.run = [options](session& here) { return show_events(here, *options); };
    });
}

void add_words(CLI::App& command, mad_request_words& words) {
    command.add_option("--class", words.management_class, "smp, sa, perf, ... or a number")
        ->type_name("CLASS")
        ->capture_default_str();
    command.add_option("--method", words.method, "Get, Set, GetTable, ... or a number")
        ->type_name("METHOD")
        ->capture_default_str();
    command.add_option("--attribute", words.attribute, "name in the IBA, or a number")
        ->type_name("ATTRIBUTE")
        ->capture_default_str();
    command.add_option("--modifier", words.modifier, "attribute modifier")->type_name("N");
    auto* lid =
        command
            .add_option("--lid", words.lid,
                        "destination LID (default: for the SA the subnet manager, otherwise "
                        "the local port)")
            ->type_name("LID");
    command
        .add_option_function<std::string>(
            "--route",
            [&words](const std::string& route) {
                words.route = route;
                words.is_routed = true;
            },
            "directed route through these ports, as in 1,2; '' is the local port")
        ->type_name("PORTS")
        ->excludes(lid);
    command
        .add_option("--field", words.fields,
                    "a field of the attribute; for the SA also a component")
        ->type_name("NAME=VALUE");
    command.add_option("--data", words.data, "first bytes of the attribute")->type_name("HEX");
    command
        .add_option("--mask", words.mask,
                    "component mask of the SA, instead of the components of --field")
        ->type_name("N");
    command.add_option("--key", words.key, "M_Key or SM_Key")->type_name("N");
    command.add_option("--oui", words.oui, "OUI of classes 0x30 to 0x4f")->type_name("N");
}

void add_mad(CLI::App& parent, program_options& chosen) {
    struct words {
        port_words from;
        mad_request_words request;
        timeouts times;
    };
    CLI::App* command = add(parent, "mad", "Sends a management datagram and shows the response");
    const auto parsed = std::make_shared<words>();
    parsed->from.declare(*command);
    add_words(*command, parsed->request);
    add_timeouts(*command, parsed->times);
    add_capture(*command, chosen);
    command->callback([&chosen, parsed] {
        const mad_options options{parsed->from.port(), make_mad_request(parsed->request),
                                  parsed->times};
        chosen.run = [options](session& here) { return show_response(here, options); };
    });
}

void add_ping(CLI::App& parent, program_options& chosen) {
    CLI::App* command = add(parent, "ping", "Measures MAD round-trip times to a port");
    const auto parsed = std::make_shared<parsed_command<ping_options>>();
    ping_options& options = parsed->options;
    parsed->from.declare(*command);
    add_lid(*command, options.lid);
    add_count(*command, options.count, "stop after N requests");
    command->add_option("--interval", options.interval, "time between requests")
        ->check(between(0.0, 3600.0))
        ->type_name("SECONDS")
        ->capture_default_str();
    command->add_option("--timeout", options.milliseconds, "time limit of a request")
        ->check(between(1u, 600'000u))
        ->type_name("MS")
        ->capture_default_str();
    command->add_flag("--vendor", options.vendor,
                      "ping the ibping server instead of the performance management agent");
    add_capture(*command, chosen);
    command->callback([&chosen, parsed] {
        parsed->options.from = parsed->from.port();
        chosen.run = [parsed](session& here) { return show_pings(here, parsed->options); };
    });
}

void add_qp(CLI::App& parent, program_options& chosen) {
    CLI::App* command = add(parent, "qp", "Measures transfers between queue pairs of two HCAs");
    const auto parsed = std::make_shared<parsed_command<qp_options>>();
    qp_options& options = parsed->options;
    parsed->from.declare(*command);
    command->add_option("--to", options.to, "name or node GUID of the peer (default: the second)")
        ->type_name("DEVICE");
    command->add_option("--service", options.service, "rc, uc or ud")
        ->check(CLI::IsMember({"rc", "uc", "ud"}))
        ->capture_default_str();
    command->add_option("--operation", options.operation, "what a work request does")
        ->check(CLI::IsMember(
            {"send", "send-imm", "write", "write-imm", "read", "fetch-add", "compare-swap"}))
        ->capture_default_str();
    command->add_option("--size", options.size, "bytes of a message; atomics have 8")
        ->check(between(0u, 1u << 30))
        ->type_name("BYTES")
        ->capture_default_str();
    command->add_option("--count", options.count, "number of messages")
        ->check(between(std::uint64_t{1}, std::uint64_t{10'000'000}))
        ->type_name("N")
        ->capture_default_str();
    command->add_option("--depth", options.depth, "outstanding messages, with --bandwidth")
        ->check(between(1u, 4096u))
        ->type_name("N")
        ->capture_default_str();
    command->add_flag("--bandwidth", options.bandwidth, "measure bandwidth instead of latency");
    add_capture(*command, chosen);
    command->callback([&chosen, parsed] {
        parsed->options.from = parsed->from.port();
        if (const std::string problem = problem_of(parsed->options); !problem.empty())
            throw wrong_usage(problem);
        chosen.run = [parsed](session& here) { return show_transfers(here, parsed->options); };
    });
}

// Declares what both commands have; `show` runs the command.
CLI::App* add_cm_command(CLI::App& parent, program_options& chosen, const char* name,
                         const char* what,
                         const std::shared_ptr<parsed_command<cm_options>>& parsed,
                         asio::awaitable<void> (*show)(session&, cm_options)) {
    CLI::App* command = add(parent, name, what);
    parsed->from.declare(*command);
    command->add_option("--service", parsed->options.service, "service id")
        ->check(between(std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max()))
        ->type_name("ID")
        ->default_str("0x1000000000000c3d");
    add_capture(*command, chosen);
    command->callback([&chosen, parsed, show] {
        parsed->options.from = parsed->from.port();
        if (const std::string problem = problem_of(parsed->options); !problem.empty())
            throw wrong_usage(problem);
        chosen.run = [parsed, show](session& here) { return show(here, parsed->options); };
    });
    return command;
}

void add_cm(CLI::App& parent, program_options& chosen) {
    CLI::App* both = add(parent, "cm", "Makes connections by service id, and shows their steps");
    both->require_subcommand(1);
    const auto to = std::make_shared<parsed_command<cm_options>>();
    CLI::App* connect = add_cm_command(*both, chosen, "connect",
                                       "Connects, moves a message there and back, and disconnects",
                                       to, show_connection);
    connect
        ->add_option("--to", to->options.to,
                     "name or node GUID of the peer, which this command lets listen (default: the "
                     "second HCA); PREFIX:GUID or an IP address: a port where a program listens")
        ->type_name("DEVICE|GID");
    connect->add_option("--text", to->options.text, "private data of the request, and the message")
        ->capture_default_str();
    connect->add_option("--timeout", to->options.milliseconds, "time limit of the request")
        ->check(between(1u, 600'000u))
        ->type_name("MS")
        ->capture_default_str();
    const auto at = std::make_shared<parsed_command<cm_options>>();
    CLI::App* listen =
        add_cm_command(*both, chosen, "listen",
                       "Accepts connections, and sends a message of each back", at, show_listener);
    add_count(*listen, at->options.count, "stop after N connections");
}

void add_stats(CLI::App& parent, program_options& chosen) {
    CLI::App* command = add(
        parent, "stats", "Sends IBMF requests to a port, all at once, and shows IBMF's counters");
    const auto parsed = std::make_shared<parsed_command<stats_options>>();
    stats_options& options = parsed->options;
    parsed->from.declare(*command);
    add_lid(*command, options.lid);
    command->add_option("--count", options.count, "number of requests")
        ->check(between(0u, 100'000u))
        ->type_name("N")
        ->capture_default_str();
    add_timeouts(*command, options.times);
    add_capture(*command, chosen);
    command->callback([&chosen, parsed] {
        parsed->options.from = parsed->from.port();
        chosen.run = [parsed](session& here) { return show_statistics(here, parsed->options); };
    });
}

void add_sa_parameters(CLI::App& command, port_words& from, sa_parameters& parameters,
                       program_options& chosen) {
    from.declare(command);
    command.add_option("--timeout", parameters.milliseconds, "time limit of a query to the SA")
        ->check(between(1u, 3'600'000u))
        ->type_name("MS")
        ->capture_default_str();
    add_capture(command, chosen);
}

void add_sa(CLI::App& parent, program_options& chosen) {
    struct words {
        std::string record;
        port_words from;
        std::vector<std::string> fields;
        bool list = false;
        sa_parameters parameters;
    };
    CLI::App* command =
        add(parent, "sa",
            "Shows records of the subnet administrator; without RECORD, lists the record types");
    const auto parsed = std::make_shared<words>();
    command->add_option("RECORD", parsed->record,
                        "name of a record type or the beginning of it, as in path");
    add_sa_parameters(*command, parsed->from, parsed->parameters, chosen);
    command->add_option("--field", parsed->fields, "only records with this value of a field")
        ->type_name("NAME=VALUE");
    command->add_flag("--fields", parsed->list, "list the fields for --field");
    command
        ->add_option("--key", parsed->parameters.key,
                     "SM_Key, for records that only subnet managers may read")
        ->check(between(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max()))
        ->type_name("N");
    command->callback([&chosen, parsed] {
        if (parsed->record.empty()) {
            chosen.run = list_records;
            return;
        }
        const irpverbs::saa::record_type& record = record_named(parsed->record);
        if (parsed->list) {
            chosen.run = [&record](session& here) { return list_fields(here, &record); };
            return;
        }
        sa_options options{parsed->parameters, make_query(record, parsed->fields)};
        options.parameters.from = parsed->from.port();
        chosen.run = [options](session& here) { return show_records(here, options); };
    });
}

void add_paths(CLI::App& parent, program_options& chosen) {
    CLI::App* command =
        add(parent, "paths", "Shows the path from a port to every port of its subnet");
    const auto parsed = std::make_shared<parsed_command<sa_parameters>>();
    add_sa_parameters(*command, parsed->from, parsed->options, chosen);
    command->callback([&chosen, parsed] {
        parsed->options.from = parsed->from.port();
        chosen.run = [parsed](session& here) { return show_paths(here, parsed->options); };
    });
}

void add_fabric(CLI::App& parent, program_options& chosen) {
    CLI::App* command =
        add(parent, "fabric", "Shows the subnet: hosts, switches, their links, the subnet manager");
    const auto parsed = std::make_shared<parsed_command<fabric_options>>();
    add_sa_parameters(*command, parsed->from, parsed->options.parameters, chosen);
    const auto add_form = [&](const char* flag, fabric_form form, const char* what) {
        return command->add_flag_callback(
            flag, [parsed, form] { parsed->options.form = form; }, what);
    };
    CLI::Option* const dot = add_form("--dot", fabric_form::dot, "print a graph for Graphviz");
    add_form("--svg", fabric_form::svg, "print an SVG picture")->excludes(dot);
    command->callback([&chosen, parsed] {
        if (chosen.json && parsed->options.form != fabric_form::text)
            throw wrong_usage("--json: --dot and --svg exclude it; choose one");
        parsed->options.parameters.from = parsed->from.port();
        chosen.run = [parsed](session& here) { return show_fabric(here, parsed->options); };
    });
}

void add_commands(CLI::App& parent, program_options& chosen) {
    parent.require_subcommand(1);
    for (const auto each : {add_devices, add_port, add_events, add_mad, add_ping, add_qp, add_cm,
                            add_stats, add_sa, add_paths, add_fabric})
        each(parent, chosen);
}

// The trace command has the other commands as subcommands.
void add_trace(CLI::App& parent, program_options& chosen) {
    CLI::App* command =
        add(parent, "trace", "Runs a command and writes a trace of its IRPs, for ui.perfetto.dev");
    command->add_option("-o,--output", chosen.trace_file, "trace file")
        ->type_name("FILE")
        ->required();
    add_commands(*command, chosen);
}

// Within irpctl run, a second irpctl run is on the same fabric.
std::string hcas_of_environment(const run_options& options) {
    const char* const named = std::getenv("IRPVERBS_HCA");
    return named != nullptr && options.fabric.empty() && options.faults.empty() ? named : "";
}

void add_faults(CLI::App& command, const std::shared_ptr<run_options>& options) {
    for (const auto& [fault, what] :
         {std::pair("loss", "each cable of the fabric loses a packet with probability P, 0 to 0.5"),
          std::pair("duplication", "each cable delivers a packet twice with probability P"),
          std::pair("reordering", "others overtake a packet with probability P")})
        command
            .add_option_function<std::string>(
                fmt::format("--{}", fault),
                [options, name = std::string_view(fault)](const std::string& probability) {
                    options->faults += fmt::format("?{}={}", name, probability);
                },
                what)
            ->check(between(0.0, 0.5))
            ->type_name("P");
}

void add_run(CLI::App& parent, program_options& chosen) {
    CLI::App* command = add(parent, "run",
                            "Runs a program of others on these HCAs, or on a fabric of its own "
                            "that a daemon serves while it runs, by libraries for libibverbs and "
                            "libibumad: irpctl run -- ibstat");
    const auto options = std::make_shared<run_options>();
    command
        ->add_option("--fabric", options->fabric, "the topology of the fabric (default: built in)")
        ->type_name("FILE");
    add_faults(*command, options);
    command
        ->add_option("--hosts", options->hosts, "hosts that the program is on (default: the first)")
        ->type_name("NAME,...");
    command->add_flag("--verbose", options->verbose, "print the environment and the libraries");
    command->add_option("PROGRAM", options->program, "after --: the program and its arguments")
        ->required();
    command->callback([&chosen, options, hca = parent.get_option("--hca"),
                       hosts = command->get_option("--hosts"),
                       fabric = command->get_option("--fabric")] {
        // An option whose variable of a script is empty, or left out, is not the default.
        const auto is_missing = [](const std::string& value) {
            return value.empty() || value == "--";
        };
        if (hosts->count() != 0 && (is_missing(options->hosts) ||
                                    options->hosts.find_first_not_of(',') == std::string::npos))
            throw wrong_usage("--hosts: it names no host");
        if (fabric->count() != 0 && is_missing(options->fabric))
            throw wrong_usage("--fabric: it names no file");
        if (hca->count() != 0 && !options->fabric.empty())
            throw wrong_usage("--fabric: --hca names the HCAs already");
        if (hca->count() != 0 && !options->faults.empty())
            throw wrong_usage(
                "--loss, --duplication, --reordering: --hca names the fabric already; "
                "faults are options of its URI, as in software:?loss=0.01");
        for (const auto& [option, given] : {std::pair("--json", chosen.json),
                                            std::pair("--partitions", !chosen.partitions.empty()),
                                            std::pair("--lmc", chosen.lmc != 0)})
            if (given) throw wrong_usage(fmt::format("{}: run does not have this option", option));
        options->hca = hca->count() != 0 ? chosen.hca : hcas_of_environment(*options);
        chosen.start = [options] { return run_program(*options); };
    });
}

void declare(CLI::App& app, program_options& chosen) {
    app.add_option("--hca", chosen.hca,
                   "URI of the HCAs: software:, software:FILE, rdma:, roce:eth0, "
                   "roce:tap0?tap=ADDRESS, ...")
        ->type_name("URI")
        ->capture_default_str();
    app.add_option("--partitions", chosen.partitions,
                   "software fabric only: partitions.conf of its subnet manager")
        ->type_name("FILE");
    app.add_option("--lmc", chosen.lmc,
                   "software fabric only: LMC that its subnet manager sets; each port has "
                   "2^LMC LIDs")
        ->check(between(0u, 7u))
        ->type_name("LMC");
    app.add_flag("--json", chosen.json, "write JSON instead of tables");
    app.fallthrough();
    add_commands(app, chosen);
    add_trace(app, chosen);
    add_run(app, chosen);
    app.footer("Exit status: 0: success, 1: failure, 2: wrong command line.");
}

bool lacks_command(const CLI::App& app) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    return app.get_require_subcommand_min() != 0 && (chosen.empty() || lacks_command(*chosen[0]));
}

// CLI11 reports the missing command first and ignores an unknown word in its place.
std::string problem_with(const CLI::App& app, const CLI::ParseError& wrong) {
    const bool no_command = lacks_command(app);
    const std::vector<std::string> unknown = app.remaining(true);
    const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&wrong) != nullptr;
    if (!unknown.empty() && (is_extra || no_command)) {
        for (const std::string& each : unknown)
            if (each.starts_with('-')) return fmt::format("there is no option '{}' here", each);
        if (no_command) return fmt::format("there is no command '{}'", unknown.front());
        return fmt::format("'{}' was not expected", unknown.front());
    }
    return no_command && dynamic_cast<const CLI::RequiredError*>(&wrong) != nullptr
               ? "a command was expected"
               : wrong.what();
}

} // namespace

bool parse_command_line(int argc, char** argv, program_options& chosen) {
    CLI::App app(
        "Inspects InfiniBand channel adapters (HCAs), and queries other ports by management "
        "datagrams.",
        "irpctl");
    app.set_version_flag("--version", "irpctl " IRPVERBS_VERSION);
    declare(app, chosen);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& wrong) {
        if (wrong.get_exit_code() != 0) throw wrong_usage(problem_with(app, wrong));
        app.exit(wrong); // the user asked for help
        return false;
    }
    return true;
}

} // namespace irpctl
