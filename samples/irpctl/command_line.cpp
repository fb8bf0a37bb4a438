#include "command_line.hpp"

#include "attributes.hpp"
#include "commands.hpp"
#include "failure.hpp"
#include "record_question.hpp"

#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <limits>
#include <memory>

namespace irpctl {

namespace {

CLI::App* add(CLI::App& parent, const char* name, const char* what) {
    return parent.add_subcommand(name, what);
}

/// The port a command works from, as it is written: `port 2` is a port of the first device.
struct port_words {
    std::string device;
    std::string number;

    void declare(CLI::App& command) {
        command.add_option("DEVICE", device, "name or node GUID of the HCA; else the first");
        command.add_option("PORT", number, "its number; else 1");
    }
    port_choice understood() const {
        if (!number.empty()) return {device, value(number)};
        if (is_number(device)) return {"", value(device)};
        return {device, 1};
    }

private:
    static constexpr std::size_t guid_digits = 16; // which may all be decimal ones

    static bool is_number(const std::string& text) {
        return !text.empty() && text.size() < guid_digits &&
               text.find_first_not_of("0123456789") == std::string::npos;
    }
    static std::uint8_t value(const std::string& text) {
        const auto found = is_number(text) ? number_from(text, 255) : std::nullopt;
        if (!found || *found == 0)
            throw wrong_usage(
                fmt::format("PORT: a number from 1 to 255 was expected, not '{}'", text));
        return static_cast<std::uint8_t>(*found);
    }
};

/// What a command was told, shared by the options that write it and the callback that reads it.
template <class Options>
struct told {
    port_words from;
    Options options;
};

void add_count(CLI::App& command, std::uint64_t& count, const char* what) {
    const auto problem = [](const std::string& text) {
        const auto found = number_from(text, std::numeric_limits<std::uint64_t>::max());
        return found && *found != 0
                   ? std::string()
                   : fmt::format("a whole number from 1 on was expected, not '{}'", text);
    };
    command.add_option("--count", count, what)->check(problem)->type_name("N");
}

void add_capture(CLI::App& command, invocation& chosen) {
    command
        .add_option("--pcap", chosen.pcap_file,
                    "write every datagram, both ways, to this file, for Wireshark")
        ->type_name("FILE");
}

void add_patience(CLI::App& command, patience& times) {
    command.add_option("--timeout", times.milliseconds, "how long to wait for an answer")
        ->check(CLI::Range(1, 600'000))
        ->type_name("MS")
        ->capture_default_str();
    command.add_option("--retries", times.retries, "how often to ask again")
        ->check(CLI::Range(0, 255))
        ->type_name("N")
        ->capture_default_str();
}

void add_lid(CLI::App& command, std::uint16_t& lid) {
    command.add_option("--lid", lid, "whom to ask; else the port itself")
        ->check(CLI::Range(1, 0xFFFE))
        ->type_name("LID");
}

void add_devices(CLI::App& parent, invocation& chosen) {
    CLI::App* command = add(parent, "devices", "Lists the HCAs and their ports");
    const auto with_limits = std::make_shared<bool>(false);
    command->add_flag("--all", *with_limits, "also what each HCA can do at most");
    command->callback([&chosen, with_limits] {
        chosen.run = [all = *with_limits](session& here) { return show_devices(here, all); };
    });
}

void add_port(CLI::App& parent, invocation& chosen) {
    CLI::App* command = add(parent, "port", "Shows all attributes of a port, its GIDs and P_Keys");
    const auto from = std::make_shared<port_words>();
    from->declare(*command);
    command->callback([&chosen, from] {
        const port_choice which = from->understood();
        chosen.run = [which](session& here) { return show_port(here, which); };
    });
}

void add_events(CLI::App& parent, invocation& chosen) {
    CLI::App* command =
        add(parent, "events", "Waits for events of all ports and HCAs, and tells each as it comes");
    const auto options = std::make_shared<event_options>();
    add_count(*command, options->count, "end after so many events");
    command->add_option("--for", options->seconds, "end after so many seconds")
        ->check(CLI::Range(0.0, a_century))
        ->type_name("SECONDS");
    command->add_flag("--provoke", options->provoke,
                      "software fabric only: flap port 1 of the first HCA every second; with "
                      "--subnet pull and mend that of the last one");
    command->add_flag("--subnet", options->subnet,
                      "also the subnet's: ports in and out of service, multicast groups");
    command->callback([&chosen, options] {
        if (options->provoke && !chosen.hca.starts_with("software:"))
            throw wrong_usage("--provoke: only a software: fabric can be provoked");
        chosen.run = [options](session& here) { return show_events(here, *options); };
    });
}

void add_words(CLI::App& command, question_words& words) {
    command.add_option("--class", words.management_class, "smp, sa, perf, ... or a number")
        ->type_name("CLASS")
        ->capture_default_str();
    command.add_option("--method", words.method, "Get, Set, GetTable, ... or a number")
        ->type_name("METHOD")
        ->capture_default_str();
    command.add_option("--attribute", words.attribute, "its name in the IBA, or a number")
        ->type_name("ATTRIBUTE")
        ->capture_default_str();
    command.add_option("--modifier", words.modifier, "of the attribute")->type_name("N");
    auto* lid = command
                    .add_option("--lid", words.lid,
                                "whom to ask; else the subnet manager for the SA, the port itself")
                    ->type_name("LID");
    command
        .add_option_function<std::string>(
            "--route",
            [&words](const std::string& route) {
                words.route = route;
                words.is_routed = true;
            },
            "a directed-route SMP out of these ports, as in 1,2; '' is the port itself")
        ->type_name("PORTS")
        ->excludes(lid);
    command
        .add_option("--field", words.fields, "a field of the attribute, and for the SA a component")
        ->type_name("NAME=VALUE");
    command.add_option("--data", words.data, "the attribute's first bytes")->type_name("HEX");
    command.add_option("--mask", words.mask, "the SA's components, instead of those of --field")
        ->type_name("N");
    command.add_option("--key", words.key, "M_Key or SM_Key")->type_name("N");
    command.add_option("--oui", words.oui, "of classes 0x30 to 0x4f")->type_name("N");
}

void add_mad(CLI::App& parent, invocation& chosen) {
    struct words {
        port_words from;
        question_words asked;
        patience times;
    };
    CLI::App* command =
        add(parent, "mad", "Sends a management datagram and shows what is answered");
    const auto heard = std::make_shared<words>();
    heard->from.declare(*command);
    add_words(*command, heard->asked);
    add_patience(*command, heard->times);
    add_capture(*command, chosen);
    command->callback([&chosen, heard] {
        const mad_options options{heard->from.understood(), make_question(heard->asked),
                                  heard->times};
        chosen.run = [options](session& here) { return show_answer(here, options); };
    });
}

void add_ping(CLI::App& parent, invocation& chosen) {
    CLI::App* command =
        add(parent, "ping", "Asks a port again and again, and tells how long it takes");
    const auto heard = std::make_shared<told<ping_options>>();
    ping_options& options = heard->options;
    heard->from.declare(*command);
    add_lid(*command, options.lid);
    add_count(*command, options.count, "end after so many");
    command->add_option("--interval", options.interval, "from one to the next")
        ->check(CLI::Range(0.0, 3600.0))
        ->type_name("SECONDS")
        ->capture_default_str();
    command->add_option("--timeout", options.milliseconds, "how long to wait for an answer")
        ->check(CLI::Range(1, 600'000))
        ->type_name("MS")
        ->capture_default_str();
    command->add_flag("--vendor", options.vendor,
                      "ask the ibping server, not the performance manager's agent");
    add_capture(*command, chosen);
    command->callback([&chosen, heard] {
        heard->options.from = heard->from.understood();
        chosen.run = [heard](session& here) { return show_pings(here, heard->options); };
    });
}

void add_stats(CLI::App& parent, invocation& chosen) {
    CLI::App* command =
        add(parent, "stats", "Asks a port by IBMF, all at once, and shows what IBMF counted");
    const auto heard = std::make_shared<told<stats_options>>();
    stats_options& options = heard->options;
    heard->from.declare(*command);
    add_lid(*command, options.lid);
    command->add_option("--count", options.count, "how many questions")
        ->check(CLI::Range(0, 100'000))
        ->type_name("N")
        ->capture_default_str();
    add_patience(*command, options.times);
    add_capture(*command, chosen);
    command->callback([&chosen, heard] {
        heard->options.from = heard->from.understood();
        chosen.run = [heard](session& here) { return show_statistics(here, heard->options); };
    });
}

void add_wish(CLI::App& command, port_words& from, sa_wish& wish, invocation& chosen) {
    from.declare(command);
    command.add_option("--timeout", wish.milliseconds, "how long to wait for an answer of the SA")
        ->check(CLI::Range(1, 3'600'000))
        ->type_name("MS")
        ->capture_default_str();
    add_capture(command, chosen);
}

void add_sa(CLI::App& parent, invocation& chosen) {
    struct words {
        std::string record;
        port_words from;
        std::vector<std::string> fields;
        bool list = false;
        sa_wish wish;
    };
    CLI::App* command =
        add(parent, "sa", "Shows records of the subnet administrator; without RECORD, lists them");
    const auto heard = std::make_shared<words>();
    command->add_option("RECORD", heard->record, "its name or the beginning of it, as in path");
    add_wish(*command, heard->from, heard->wish, chosen);
    command->add_option("--field", heard->fields, "only those with this value of a field")
        ->type_name("NAME=VALUE");
    command->add_flag("--fields", heard->list, "list the fields that --field takes");
    command->add_option("--key", heard->wish.key, "SM_Key, for what only managers are told")
        ->type_name("N");
    command->callback([&chosen, heard] {
        if (heard->record.empty()) {
            chosen.run = list_records;
            return;
        }
        const irpverbs::saa::record_type& record = record_named(heard->record);
        if (heard->list) {
            chosen.run = [&record](session& here) { return list_fields(here, &record); };
            return;
        }
        sa_options options{heard->wish, make_query(record, heard->fields)};
        options.wish.from = heard->from.understood();
        chosen.run = [options](session& here) { return show_records(here, options); };
    });
}

void add_paths(CLI::App& parent, invocation& chosen) {
    CLI::App* command =
        add(parent, "paths", "Shows the path from a port to every port of its subnet");
    const auto heard = std::make_shared<told<sa_wish>>();
    add_wish(*command, heard->from, heard->options, chosen);
    command->callback([&chosen, heard] {
        heard->options.from = heard->from.understood();
        chosen.run = [heard](session& here) { return show_paths(here, heard->options); };
    });
}

void add_fabric(CLI::App& parent, invocation& chosen) {
    CLI::App* command =
        add(parent, "fabric", "Shows the subnet: hosts, switches, their links, the subnet manager");
    const auto heard = std::make_shared<told<fabric_options>>();
    add_wish(*command, heard->from, heard->options.wish, chosen);
    const auto add_form = [&](const char* flag, fabric_form form, const char* what) {
        return command->add_flag_callback(
            flag, [heard, form] { heard->options.form = form; }, what);
    };
    CLI::Option* const dot = add_form("--dot", fabric_form::dot, "as a graph for Graphviz");
    add_form("--svg", fabric_form::svg, "as a picture")->excludes(dot);
    command->callback([&chosen, heard] {
        heard->options.wish.from = heard->from.understood();
        chosen.run = [heard](session& here) { return show_fabric(here, heard->options); };
    });
}

void add_commands(CLI::App& parent, invocation& chosen) {
    parent.require_subcommand(1);
    for (const auto each : {add_devices, add_port, add_events, add_mad, add_ping, add_stats, add_sa,
                            add_paths, add_fabric})
        each(parent, chosen);
}

// Has the commands as subcommands of its own.
void add_trace(CLI::App& parent, invocation& chosen) {
    CLI::App* command =
        add(parent, "trace",
            "Runs a command and writes what its IRPs went through, for ui.perfetto.dev");
    command->add_option("-o,--output", chosen.trace_file, "the file to write")
        ->type_name("FILE")
        ->required();
    add_commands(*command, chosen);
}

void declare(CLI::App& app, invocation& chosen) {
    app.add_option("--hca", chosen.hca, "URI of the HCAs: software:, software:FILE, rdma:, ...")
        ->type_name("URI")
        ->capture_default_str();
    app.add_option("--partitions", chosen.partitions,
                   "software fabric only: its subnet manager's partitions.conf")
        ->type_name("FILE");
    app.add_option(
           "--lmc", chosen.lmc,
           "software fabric only: its subnet manager gives each port 2^N LIDs, N from 0 to 7")
        ->check(CLI::Range(0, 7))
        ->type_name("N");
    app.add_flag("--json", chosen.json, "write JSON instead of tables");
    app.fallthrough();
    add_commands(app, chosen);
    add_trace(app, chosen);
    app.footer("Exit status: 0, 1 when something failed, 2 for a wrong command line.");
}

// CLI11 misses the command first, and does not look at what stands in its place.
std::string problem_with(const CLI::App& app, const CLI::ParseError& wrong) {
    const std::vector<std::string> unknown = app.remaining(true);
    const bool missing = dynamic_cast<const CLI::RequiredError*>(&wrong) != nullptr;
    if (!missing || unknown.empty()) return wrong.what();
    const std::string& first = unknown.front();
    return fmt::format("there is no {} '{}'", first.starts_with('-') ? "option" : "command", first);
}

} // namespace

bool parse_command_line(int argc, char** argv, invocation& chosen) {
    CLI::App app("Looks at InfiniBand channel adapters (HCAs), and asks others by management "
                 "datagrams.",
                 "irpctl");
    declare(app, chosen);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& wrong) {
        if (wrong.get_exit_code() != 0) throw wrong_usage(problem_with(app, wrong));
        app.exit(wrong); // help
        return false;
    }
    return true;
}

} // namespace irpctl
