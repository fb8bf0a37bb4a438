// The attach of a daemon's HCAs, and the message about a socket that has none.
#include "client.hpp"

#include <ci/support/seq_socket.hpp>
#include <ci/support/wire.hpp>
#include <dispatch/testing/choices.hpp>
#include <hca/user.h>

#include <gmock/gmock.h>

#include <fcntl.h>
#include <fstream>
#include <thread>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct failed_attach {
    NTSTATUS status;
    std::string message;
};

failed_attach attach(const std::string& uri) {
    const client here;
    std::array<char, 512> message{};
    const NTSTATUS status = HcaAttachEx(uri.c_str(), nullptr, message.data(), message.size());
    return {status, message.data()};
}

/// Replies once to whatever it receives.
failed_attach attach_to(const void* reply, std::size_t size) {
    const private_directory directory;
    const std::string path = directory.file("socket");
    int error = 0;
    const ci::detail::unique_descriptor listening = ci::detail::listen_at(path, error);
    std::thread peer([&] {
        ci::detail::unique_descriptor accepted;
        while (!accepted)
            accepted = ci::detail::unique_descriptor(
                accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK));
        std::array<std::byte, 64> buffer;
        ci::detail::await_message(accepted.get(), buffer, -1);
        std::array<iovec, 1> part{{{const_cast<void*>(reply), size}}};
        ci::detail::send_message(accepted.get(), part);
        ci::detail::await_message(accepted.get(), buffer, -1);
    });
    failed_attach made = attach("user:" + path);
    peer.join();
    return made;
}

TEST(UserAttach, DaemonWithHcas_AttachesThem) {
    test_daemon serving;
    client here(serving.uri());
    std::vector<ib_guid_t> guids(4);
    ULONG count = 4;
    EXPECT_EQ(HcaEnumerate(guids.data(), &count), STATUS_SUCCESS);
    ASSERT_EQ(count, 4u);
    std::array<char, 64> text{};
    EXPECT_EQ(HcaName(guids[3], text.data(), text.size()), STATUS_SUCCESS);
    EXPECT_STREQ(text.data(), "host4");
    EXPECT_EQ(HcaUserSocket(guids[3], text.data(), text.size()), STATUS_SUCCESS);
    EXPECT_EQ(text.data(), serving.socket());
    EXPECT_EQ(HcaUserSocket(guids[3], text.data(), 2), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(HcaUserSocket(guids[3], text.data(), 0), STATUS_BUFFER_TOO_SMALL);
    EXPECT_EQ(HcaUserSocket(1, text.data(), text.size()), STATUS_OBJECT_NAME_NOT_FOUND);
}

TEST(UserAttach, HostOfUri_SelectsOneHca) {
    test_daemon serving;
    const client here(serving.uri() + "?host=host3");
    ULONG count = 0;
    HcaEnumerate(nullptr, &count);
    EXPECT_EQ(count, 1u);
    const failed_attach wrong = attach(serving.uri() + "?host=host9");
    EXPECT_EQ(wrong.status, STATUS_NO_SUCH_DEVICE);
    EXPECT_THAT(wrong.message, AllOf(HasSubstr("host9"), HasSubstr("host1, host2, host3, host4")));
}

TEST(UserAttach, MissingSocket_MessageNamesPathAndRemedy) {
    const private_directory directory;
    const failed_attach made = attach("user:" + directory.file("none"));
    EXPECT_EQ(made.status, STATUS_NO_SUCH_DEVICE);
    EXPECT_THAT(made.message, AllOf(HasSubstr(directory.file("none")), HasSubstr("irpverbsd")));
}

TEST(UserAttach, SocketOfAnotherProgram_MessageNamesItsOwner) {
    const failed_attach made = attach_to("who are you?", 12);
    EXPECT_EQ(made.status, STATUS_DATA_ERROR);
    EXPECT_THAT(made.message, HasSubstr("belongs to user " + std::to_string(geteuid())));
}

TEST(UserAttach, DaemonOfAnotherVersion_MessageNamesBoth) {
    const ci::wire::welcome other{{ci::wire::kind::welcome, 0, {}, 0, 0},
                                  ci::wire::magic,
                                  99,
                                  0,
                                  STATUS_REVISION_MISMATCH,
                                  0};
    const failed_attach made = attach_to(&other, sizeof(other));
    EXPECT_EQ(made.status, STATUS_REVISION_MISMATCH);
    EXPECT_THAT(made.message,
                AllOf(HasSubstr("version 99"), HasSubstr(std::to_string(ci::wire::version))));
}

TEST(UserAttach, OtherUser_IsRefused) {
    const ci::wire::welcome refused{{ci::wire::kind::welcome, 0, {}, 0, 0},
                                    ci::wire::magic,
                                    ci::wire::version,
                                    0,
                                    STATUS_ACCESS_DENIED,
                                    0};
    const failed_attach made = attach_to(&refused, sizeof(refused));
    EXPECT_EQ(made.status, STATUS_ACCESS_DENIED);
    EXPECT_THAT(made.message, HasSubstr("refuses"));
}

TEST(UserAttach, SimulatedMachine_HasNoSockets) {
    dispatch::random_choices chance(1);
    dispatch::sim_machine machine(chance);
    const dispatch::machine::scope inside(machine);
    EXPECT_EQ(HcaAttach("user:/nowhere", nullptr), STATUS_NOT_SUPPORTED);
}

// ---- listening

struct failed_listen {
    NTSTATUS status;
    std::string message;
};

failed_listen listen_at(const std::string& path) {
    const client here;
    std::array<char, 512> message{};
    UAL* made = nullptr;
    const NTSTATUS status = UalListen(path.c_str(), nullptr, &made, message.data(), message.size());
    if (NT_SUCCESS(status)) UalClose(made);
    return {status, message.data()};
}

TEST(UalListen, DirectoryOpenToOthers_IsRefused) {
    const private_directory directory;
    std::filesystem::permissions(directory.file(""), std::filesystem::perms(0755));
    const failed_listen made = listen_at(directory.file("socket"));
    EXPECT_EQ(made.status, STATUS_ACCESS_DENIED);
    EXPECT_THAT(made.message, HasSubstr("chmod 700"));
}

TEST(UalListen, MissingDirectory_IsMadePrivate) {
    const private_directory directory;
    const std::string made = directory.file("run");
    EXPECT_EQ(listen_at(made + "/socket").status, STATUS_SUCCESS);
    EXPECT_EQ(std::filesystem::status(made).permissions(), std::filesystem::perms(0700));
}

TEST(UalListen, SocketInUse_IsRefused) {
    test_daemon serving;
    EXPECT_EQ(listen_at(serving.socket()).status, STATUS_OBJECT_NAME_COLLISION);
}

TEST(UalListen, SocketOfAnEndedDaemon_IsReplaced) {
    const private_directory directory;
    int error = 0;
    static_cast<void>(ci::detail::listen_at(directory.file("socket"), error));
    EXPECT_EQ(listen_at(directory.file("socket")).status, STATUS_SUCCESS);
}

TEST(UalListen, FileThatIsNoSocket_IsKept) {
    const private_directory directory;
    std::ofstream(directory.file("socket")) << "mine";
    EXPECT_EQ(listen_at(directory.file("socket")).status, STATUS_OBJECT_NAME_COLLISION);
    EXPECT_TRUE(std::filesystem::exists(directory.file("socket")));
}

TEST(UalListen, LongPath_IsNoName) {
    const private_directory directory;
    EXPECT_EQ(listen_at(directory.file(std::string(200, 'x'))).status, STATUS_OBJECT_NAME_INVALID);
}

TEST(UalListen, OptionsOfAnotherVersion_AreRefused) {
    const client here;
    UAL_OPTIONS options;
    UAL_OPTIONS_INIT(&options);
    options.Size = 1;
    UAL* made = nullptr;
    EXPECT_EQ(UalListen(nullptr, &options, &made, nullptr, 0), STATUS_REVISION_MISMATCH);
}

TEST(UalQueryStatus, Daemon_DescribesItsClients) {
    test_daemon serving;
    client here(serving.uri());
    const opened_ca ca;
    std::array<char, 1024> text{};
    EXPECT_EQ(UalQueryStatus(serving.socket().c_str(), text.data(), text.size()), STATUS_SUCCESS);
    EXPECT_THAT(text.data(), AllOf(HasSubstr("1 open HCAs, 1 objects"),
                                   HasSubstr("process " + std::to_string(getpid()))));
    serving.stop();
    EXPECT_EQ(UalQueryStatus(serving.socket().c_str(), text.data(), text.size()),
              STATUS_NO_SUCH_DEVICE);
    EXPECT_THAT(text.data(), HasSubstr(serving.socket()));
}

// As systemd passes it: the socket listens already, and outlives the daemon.
TEST(UalListen, PassedSocket_IsServedAndStays) {
    const private_directory folder;
    int error = 0;
    const std::string path = folder.file("passed");
    const ci::detail::unique_descriptor passed = ci::detail::listen_at(path, error);
    ASSERT_TRUE(passed);
    dispatch::asio_machine machine;
    const dispatch::machine::scope inside(machine);
    UAL_OPTIONS options;
    UAL_OPTIONS_INIT(&options);
    options.Socket = passed.get();
    UAL* serving = nullptr;
    ASSERT_EQ(UalListen(nullptr, &options, &serving, nullptr, 0), STATUS_SUCCESS);
    EXPECT_EQ(UalPath(serving), path);
    std::array<char, 1024> text{};
    EXPECT_EQ(UalQueryStatus(path.c_str(), text.data(), text.size()), STATUS_SUCCESS);
    UalClose(serving);
    EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(UalListen, PassedDescriptorThatIsNoSocket_IsRefused) {
    dispatch::asio_machine machine;
    const dispatch::machine::scope inside(machine);
    const ci::detail::unique_descriptor file(open("/dev/null", O_RDONLY | O_CLOEXEC));
    UAL_OPTIONS options;
    UAL_OPTIONS_INIT(&options);
    options.Socket = file.get();
    UAL* serving = nullptr;
    std::array<char, 256> message{};
    EXPECT_EQ(UalListen(nullptr, &options, &serving, message.data(), message.size()),
              STATUS_OBJECT_TYPE_MISMATCH);
    EXPECT_NE(std::string(message.data()).find("no unix socket of type SOCK_SEQPACKET"),
              std::string::npos);
}

} // namespace
