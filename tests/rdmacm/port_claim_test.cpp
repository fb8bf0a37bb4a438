// Claims to port numbers by locks of a file. Each has the file open for itself, so those of one
// process exclude one another as those of two do.
#include <port_claim.hpp>

#include <rdma/rdma_cma.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace irpverbs::rdmacm;

constexpr ib_gid_t first_port{0xFE80ull << 48, 0x200000000000101};
constexpr ib_gid_t second_port{0xFE80ull << 48, 0x200000000000102};
const ip_endpoint first_address = from_ipv4(lid_network + 1);
const ip_endpoint second_address = from_ipv4(lid_network + 2);

class PortClaim : public ::testing::Test {
protected:
    ~PortClaim() override { std::filesystem::remove(file); }

    static claimed_numbers at(const ip_endpoint& address, std::uint16_t number = 7) {
        return {RDMA_PS_TCP, number, {first_port}, address, true, AF_INET};
    }
    static claimed_numbers everywhere(sa_family_t family, bool is_of_one_family) {
        return {RDMA_PS_TCP, 7, {first_port, second_port}, std::nullopt, is_of_one_family, family};
    }
    /// The result of a claim beside that of `one`.
    int beside(const claimed_numbers& wanted, bool shared = false) {
        port_claim other;
        return other.begin(file, wanted, shared);
    }

    const std::string file =
        std::filesystem::temp_directory_path() / ("ports" + std::to_string(getpid()));
    port_claim one;
};

TEST_F(PortClaim, AddressAndNumber_AreOfOneAlone) {
    ASSERT_EQ(one.begin(file, at(first_address), false), 0);
    EXPECT_EQ(beside(at(first_address)), EADDRINUSE);
    EXPECT_EQ(beside(at(first_address), true), EADDRINUSE);
    EXPECT_EQ(beside(at(second_address)), 0);
    EXPECT_EQ(beside(at(first_address, 8)), 0);
    claimed_numbers other = at(first_address);
    other.space = RDMA_PS_UDP;
    EXPECT_EQ(beside(other), 0);
    other = at(first_address);
    other.ports = {second_port};
    EXPECT_EQ(beside(other), 0);
    one.end();
    EXPECT_EQ(beside(at(first_address)), 0);
}

TEST_F(PortClaim, AllAddresses_ExcludeEachAddress) {
    ASSERT_EQ(one.begin(file, everywhere(AF_INET, true), false), 0);
    EXPECT_EQ(beside(at(first_address)), EADDRNOTAVAIL);
    EXPECT_EQ(beside(everywhere(AF_INET, true)), EADDRNOTAVAIL);
    EXPECT_EQ(beside(everywhere(AF_INET6, true)), 0);
    EXPECT_EQ(beside(everywhere(AF_INET6, false)), EADDRNOTAVAIL);
    EXPECT_EQ(beside(at(from_gid(first_port))), 0);
    claimed_numbers second_only = everywhere(AF_INET, true);
    second_only.ports = {second_port};
    EXPECT_EQ(beside(second_only), EADDRNOTAVAIL);
}

TEST_F(PortClaim, EachAddress_ExcludesAllAddresses) {
    ASSERT_EQ(one.begin(file, at(first_address), false), 0);
    EXPECT_EQ(beside(everywhere(AF_INET, true)), EADDRNOTAVAIL);
    EXPECT_EQ(beside(everywhere(AF_INET6, true)), 0);
    one.end(); // of the failed claims nothing stays
    EXPECT_EQ(beside(everywhere(AF_INET6, false)), 0);
}

TEST_F(PortClaim, SharedNumber_IsSharedUntilOneHasItAlone) {
    ASSERT_EQ(one.begin(file, at(first_address), true), 0);
    EXPECT_EQ(beside(at(first_address), true), 0);
    EXPECT_EQ(beside(at(first_address)), EADDRINUSE);
    {
        port_claim other;
        ASSERT_EQ(other.begin(file, at(first_address), true), 0);
        EXPECT_EQ(one.make_exclusive(), EADDRINUSE);
    }
    EXPECT_EQ(beside(at(first_address), true), 0);
    EXPECT_EQ(one.make_exclusive(), 0);
    EXPECT_EQ(beside(at(first_address), true), EADDRINUSE);
}

TEST_F(PortClaim, NumberOfTwoPorts_StaysSharedIfOnePortIsAnothers) {
    claimed_numbers second_only = everywhere(AF_INET, true);
    second_only.ports = {second_port};
    port_claim other;
    ASSERT_EQ(one.begin(file, everywhere(AF_INET, true), true), 0);
    ASSERT_EQ(other.begin(file, second_only, true), 0);
    EXPECT_EQ(one.make_exclusive(), EADDRNOTAVAIL);
    EXPECT_EQ(beside(everywhere(AF_INET, true), true), 0);
}

// It has the file open, too.
TEST_F(PortClaim, ChildOfAFork_KeepsNoClaimThatEnds) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    ASSERT_EQ(one.begin(file, at(first_address), false), 0);
    const pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) {
        close(pipe_ends[1]);
        char none = 0;
        _exit(read(pipe_ends[0], &none, 1) == 0 ? 0 : 1);
    }
    EXPECT_EQ(beside(at(first_address)), EADDRINUSE);
    one.end();
    EXPECT_EQ(beside(at(first_address)), 0);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

TEST_F(PortClaim, AnotherBeginning_EndsTheClaim) {
    ASSERT_EQ(one.begin(file, at(first_address), false), 0);
    ASSERT_EQ(one.begin(file, at(second_address), false), 0);
    EXPECT_EQ(beside(at(first_address)), 0);
}

TEST_F(PortClaim, FileWithoutAccess_MakesNoClaim) {
    port_claim other;
    EXPECT_EQ(other.begin(file + "/no/folder", at(first_address), false), 0);
    EXPECT_EQ(other.make_exclusive(), 0);
}

TEST_F(PortClaim, File_IsForTheUsersOfItsFolder) {
    ASSERT_EQ(one.begin(file, at(first_address), false), 0);
    struct stat its {};
    ASSERT_EQ(stat(file.c_str(), &its), 0);
    EXPECT_EQ(its.st_mode & 0777u, 0666u);
    EXPECT_EQ(its.st_size, 0);
}

} // namespace
