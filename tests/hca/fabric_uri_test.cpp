// The options of "software:": faults of all cables, and errors in them.
#include "mad_client.hpp"

#include <support/both_machines.hpp>

#include <fabric_uri.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace {

using namespace irpverbs::testing;
using irpverbs::hca_software::parse_fabric_uri;

constexpr USHORT datagrams_sent = 40;

class FaultsOfAllCables : public BothMachines {
protected:
    /// The numbers of the datagrams that arrive at host2 over two cables when host1 sends
    /// `datagrams_sent` datagrams on a fabric of that URI, and 0 behind them without faults.
    std::vector<std::uint64_t> numbers_through(const std::string& uri) {
        const attached hcas(uri);
        open_hca one{hcas.fdo(0)};
        open_hca two{hcas.fdo(1)};
        mad_client sender{one, agent_of(vendor_class)};
        mad_client receiver{two, agent_of(vendor_class, {send_method})};
        for (USHORT i = 1; i <= datagrams_sent; ++i)
            sender.send(to_lid(two.lid()), {vendor_class, send_method, i});
        for (const ib_guid_t each : {hcas.guid(0), hcas.guid(1), switch1}) {
            HCA_SOFTWARE_COUNTERS counters;
            EXPECT_EQ(HcaSoftwareCounters(each, 1, &counters), STATUS_SUCCESS);
            lost_ += counters.ReceiveErrors;
        }
        for (const ib_guid_t each : {hcas.guid(0), hcas.guid(1)})
            EXPECT_EQ(HcaSoftwareSetFaults(each, 1, nullptr), STATUS_SUCCESS);
        sender.send(to_lid(two.lid()), {vendor_class, send_method, 0});
        std::vector<std::uint64_t> numbers;
        for (bool ended = false; !ended || numbers.size() + lost_ < datagrams_sent;) {
            const std::uint64_t number = receiver.receive().data.get<2>(16);
            ended |= number == 0;
            if (number != 0) numbers.push_back(number);
        }
        return numbers;
    }

    static constexpr ib_guid_t switch1 = 0x0200000000000000 + (5 << 8);
    std::size_t lost_ = 0;
};

TEST_P(FaultsOfAllCables, Loss_LosesSomeAndCountsThem) {
    const auto numbers = numbers_through("software:?loss=0.25");
    EXPECT_GT(lost_, 5u);
    EXPECT_LT(lost_, 35u);
    EXPECT_EQ(numbers.size() + lost_, datagrams_sent);
    EXPECT_TRUE(std::ranges::is_sorted(numbers));
}

TEST_P(FaultsOfAllCables, Duplication_LosesNone) {
    auto numbers = numbers_through("software:?duplication=0.25");
    EXPECT_GT(numbers.size(), datagrams_sent + 5u);
    EXPECT_EQ(std::unique(numbers.begin(), numbers.end()) - numbers.begin(), datagrams_sent);
}

TEST_P(FaultsOfAllCables, Reordering_LosesNone) {
    auto numbers = numbers_through("software:?static?reordering=0.25");
    EXPECT_EQ(numbers.size(), datagrams_sent);
    EXPECT_FALSE(std::ranges::is_sorted(numbers));
    std::ranges::sort(numbers);
    EXPECT_EQ(std::ranges::adjacent_find(numbers), numbers.end());
}

IRPVERBS_ON_BOTH_MACHINES(FaultsOfAllCables);

TEST(FabricUri, FileAndOptions_AreSeparated) {
    const auto plain = parse_fabric_uri("labs/a.net");
    EXPECT_EQ(plain.file, "labs/a.net");
    EXPECT_TRUE(plain.configured);
    EXPECT_FALSE(plain.has_faults());
    const auto all = parse_fabric_uri("a.net?loss=0.01?unmanaged?duplication=1e-3?reordering=0.5");
    EXPECT_EQ(all.file, "a.net");
    EXPECT_FALSE(all.configured);
    EXPECT_EQ(all.faults.LossOnceIn, 100u);
    EXPECT_EQ(all.faults.DuplicationOnceIn, 1000u);
    EXPECT_EQ(all.faults.ReorderingOnceIn, 2u);
}

TEST(FabricUri, Probability_BecomesTheNearestFraction) {
    const auto once_in = [](const char* value) {
        return parse_fabric_uri("?loss=" + std::string(value)).faults.LossOnceIn;
    };
    EXPECT_EQ(once_in("0"), 0u);
    EXPECT_EQ(once_in("0.3"), 3u);
    EXPECT_EQ(once_in("0.03"), 33u);
    EXPECT_EQ(once_in("1e-300"), 0xFFFFFFFFu);
}

TEST(SoftwareAttach, WrongOption_IsRefusedWithItsReason) {
    const auto reason = [](const std::string& options) {
        std::array<char, 200> message{};
        const std::string uri = "software:" + options;
        EXPECT_EQ(HcaAttachEx(uri.c_str(), nullptr, message.data(), message.size()),
                  STATUS_OBJECT_NAME_INVALID)
            << uri;
        return std::string(message.data());
    };
    for (const char* const value : {"-1", "2", "0.51", "nan", "inf", "text", "0.01x", "1%", ""}) {
        const std::string option = "?loss=" + std::string(value);
        EXPECT_EQ(reason(option), option + ": expected a probability from 0 to 0.5");
    }
    for (const char* const option : {"?", "?los=0.1", "?loss", "?unmanaged=1", "?host=host1"})
        EXPECT_EQ(reason(option), std::string(option) + ": expected ?unmanaged, ?static, ?checked, "
                                                        "?loss=, ?duplication= or ?reordering=");
    EXPECT_EQ(reason("?static?loss=2").substr(0, 7), "?loss=2");
    ULONG count = 0;
    EXPECT_EQ(HcaEnumerate(nullptr, &count), STATUS_SUCCESS);
    EXPECT_EQ(count, 0u);
}

} // namespace
