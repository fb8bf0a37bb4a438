// irpctl: its output, its errors, and its ends.
#include "program.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>

namespace {

using namespace irpverbs::testing;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;
namespace json = boost::json;

json::value parsed(const std::vector<std::string>& arguments) {
    const ended how = run(arguments);
    EXPECT_EQ(how.status, 0) << how.err;
    EXPECT_TRUE(is_one_line(how.out));
    return json::parse(how.out);
}

TEST(Irpctl, JsonOption_PrintsDevicesAndPort) {
    const json::array devices = parsed({"devices", "--json"}).as_array();
    ASSERT_EQ(devices.size(), 4u);
    EXPECT_EQ(devices[0].at("device"), "host1");
    EXPECT_EQ(devices[0].at("ports").as_array().size(), 2u);
    EXPECT_EQ(devices[0].at("ports").at(0).at("state"), "Active");
    const json::value port = parsed({"--json", "port"});
    EXPECT_EQ(port.at("device"), "host1");
    EXPECT_EQ(port.at("port"), 1);
    EXPECT_EQ(port.at("active_mtu"), 4096);
    EXPECT_GT(port.at("gids").as_array().size(), 0u);
    EXPECT_EQ(port.at("pkeys").at(0).at("pkey"), "0xffff");
    EXPECT_EQ(port.at("flags"), json::array({"MAD_QPS"}));
}

TEST(Irpctl, AllOption_PrintsLimits) {
    const json::array devices = parsed({"--json", "devices"}).as_array();
    const json::value& most = devices.at(3).at("limits").at("max_cqs");
    EXPECT_GT(most.as_int64(), 0);
    EXPECT_EQ(devices.at(3).at("limits").at("max_completion_handlers"), most);
    EXPECT_THAT(run({"devices", "--all"}).out,
                ContainsRegex("\nhost4\n(.+\n)*  max cqs +" + json::serialize(most) + "\n"));
}

TEST(Irpctl, PortArgument_AcceptsNameGuidOrNumber) {
    const json::value second = parsed({"--json", "port", "2"});
    EXPECT_EQ(second.at("device"), "host1");
    EXPECT_EQ(second.at("port"), 2);
    const std::string guid(second.at("node_guid").as_string());
    EXPECT_EQ(parsed({"--json", "port", guid, "2"}), second);
    EXPECT_EQ(parsed({"--json", "port", "host1", "2"}), second);
}

TEST(Irpctl, HelpOption_ListsCommandsAndOptions) {
    const ended how = run({"--help"});
    EXPECT_EQ(how.status, 0);
    for (const char* word : {"devices", "port", "events", "trace", "--hca", "--json"})
        EXPECT_THAT(how.out, HasSubstr(word));
    EXPECT_THAT(run({"events", "--help"}).out, HasSubstr("software fabric only"));
}

TEST(Irpctl, InvalidCommandLine_ExitsWith2AndOneLine) {
    const std::vector<std::vector<std::string>> wrong = {
        {},
        {"nonsense"},
        {"--nonsense", "devices"},
        {"devices", "too", "many"},
        {"devices", "port"},
        {"port", "host1", "0"},
        {"port", "host1", "256"},
        {"port", "host1", "one"},
        {"port", "0"},
        {"port", "256"},
        {"events", "--count", "0"},
        {"events", "--count", "-1"},
        {"events", "--for", "soon"},
        {"events", "--hca", "rdma:", "--provoke"},
        {"devices", "--hca", "software"},
        {"devices", "--hca", "hardware:"},
        {"devices", "--hca", "software:?loss=2"},
        {"trace", "devices"},
        {"trace", "-o", "x.json"},
        {"trace", "-o", "x.json", "trace", "-o", "y.json", "devices"},
        {"events", "--for", "nan"},
        {"ping", "--interval", "nan"},
        {"qp", "--operation", "read", "--service", "ud"},
        {"qp", "--operation", "fetch-add", "--service", "uc"},
        {"qp", "--operation", "scatter"},
        {"qp", "--depth", "0"},
        {"qp", "--size", "-1"},
        {"mad", "--lid", "0"},
        {"mad", "--route", "1,"},
        {"mad", "--class", "directed"},
        {"sa", "node", "--key", "foo"},
        {"fabric", "--json", "--dot"},
        {"fabric", "--svg", "--json"},
        {"devices", "--lmc", "8"},
        {"devices", "--hca", "software:?static", "--lmc", "1"},
        {"stats", "--count", "x"},
    };
    for (const std::vector<std::string>& each : wrong) {
        const ended how = run(each);
        const std::string shown = ::testing::PrintToString(each);
        EXPECT_EQ(how.status, 2) << shown;
        EXPECT_EQ(how.out, "") << shown;
        EXPECT_TRUE(is_one_line(how.err)) << shown << how.err;
        EXPECT_THAT(how.err, HasSubstr("usage: irpctl")) << shown;
    }
}

TEST(Irpctl, InvalidCommandLine_ErrorNamesExpectedArgument) {
    for (const char* text : {"0", "x", "-1", "1.5"})
        for (const char* command : {"events", "ping"})
            EXPECT_THAT(run({command, "--count", text}).err,
                        HasSubstr("--count: a whole number from 1 on was expected, not '" +
                                  std::string(text) + "'"));
    EXPECT_THAT(run({"frob"}).err, HasSubstr("there is no command 'frob'"));
    EXPECT_THAT(run({}).err, HasSubstr("a command was expected"));
    EXPECT_THAT(run({"trace", "-o", "x.json"}).err, HasSubstr("a command was expected"));
    EXPECT_THAT(run({"--frob", "devices"}).err, HasSubstr("there is no option '--frob'"));
    EXPECT_THAT(run({"devices", "a", "b"}).err, HasSubstr("'a' was not expected"));
    EXPECT_THAT(run({"events", "--for", "soon"}).err,
                HasSubstr("--for: a number from 0 to 3153600000 was expected, not 'soon'"));
    EXPECT_THAT(run({"mad", "--timeout", "0"}).err,
                HasSubstr("--timeout: a number from 1 to 600000 was expected, not '0'"));
    EXPECT_THAT(run({"sa", "node", "--key", "foo"}).err, HasSubstr("--key: a number from 0"));
    EXPECT_THAT(run({"sa", "p"}).err,
                HasSubstr("'p' may be PortInfoRecord, P_KeyTableRecord, PathRecord; name one"));
    EXPECT_THAT(run({"--frob"}).err, HasSubstr("there is no option '--frob'"));
    EXPECT_THAT(run({"trace", "-o", "x.json", "frob"}).err, HasSubstr("'frob'"));
    for (const char* text : {"0", "256"})
        EXPECT_THAT(run({"port", text}).err, HasSubstr("PORT: a number from 1 to 255"));
}

TEST(Irpctl, MissingDeviceOrFile_ExitsWith1AndOneLine) {
    const std::vector<std::vector<std::string>> missing = {
        {"port", "host9"},
        {"port", "0x123456"},
        {"port", "host2", "2"},
        {"--hca", "software:/no/such/file", "devices"},
        {"trace", "-o", "/no/such/folder/x.json", "devices"},
        {"trace", "-o", "/", "devices"},
        {"events", "--for", "0", "--count", "1"},
    };
    for (const std::vector<std::string>& each : missing) {
        const ended how = run(each);
        const std::string shown = ::testing::PrintToString(each);
        EXPECT_EQ(how.status, 1) << shown;
        EXPECT_TRUE(is_one_line(how.err)) << shown << how.err;
        EXPECT_THAT(how.err, StartsWith("irpctl: ")) << shown;
        EXPECT_THAT(how.err, HasSubstr("; ")) << shown << ": what to do next";
    }
}

TEST(Irpctl, EventsCommand_PrintsEventsInOrder) {
    const ended how = run({"events", "--provoke", "--count", "4"});
    EXPECT_EQ(how.status, 0) << how.err;
    EXPECT_THAT(how.out, StartsWith("TIME"));
    EXPECT_THAT(how.out, MatchesRegex("[^\n]*\n"
                                      "[0-9.]+ +host1 +1 +PORT_ERR\n"
                                      "[0-9.]+ +host1 +1 +PORT_ACTIVE\n"
                                      "[0-9.]+ +host1 +1 +PORT_ERR\n"
                                      "[0-9.]+ +host1 +1 +PORT_ACTIVE\n"));
}

TEST(Irpctl, EventsJsonOption_PrintsOneObjectPerLine) {
    program events({"events", "--json", "--provoke", "--count", "2"});
    double before = 0;
    for (const char* name : {"PORT_ERR", "PORT_ACTIVE"}) {
        const json::value event = json::parse(events.line());
        EXPECT_EQ(event.at("device"), "host1");
        EXPECT_EQ(event.at("port"), 1);
        EXPECT_EQ(event.at("event"), name);
        EXPECT_GE(event.at("time").as_double(), before);
        before = event.at("time").as_double();
    }
    EXPECT_EQ(events.wait().status, 0);
}

TEST(Irpctl, EventsTimeLimit_ExitsWith0) {
    const ended how = run({"events", "--for", "0"});
    EXPECT_EQ(how.status, 0) << how.err;
    EXPECT_EQ(how.err, "");
    EXPECT_TRUE(is_one_line(how.out)) << "headings only: " << how.out;
}

// The command waits for five ports and four adapters.
TEST(Irpctl, EventsInterrupted_CancelsWaitsAndReportsThem) {
    for (const int signal : {SIGINT, SIGTERM}) {
        program events({"events"});
        EXPECT_THAT(events.line(), StartsWith("TIME"));
        events.send(signal);
        const ended how = events.wait();
        EXPECT_EQ(how.status, 0);
        EXPECT_EQ(how.err, "irpctl: interrupted: 9 waits cancelled, 4 adapters closed\n");
    }
}

// The command has not received the requested number of events.
TEST(Irpctl, EventsInterruptedBeforeCount_ExitsWith1) {
    program events({"events", "--count", "1"});
    EXPECT_THAT(events.line(), StartsWith("TIME"));
    events.send(SIGINT);
    EXPECT_EQ(events.wait().status, 1);
}

} // namespace
