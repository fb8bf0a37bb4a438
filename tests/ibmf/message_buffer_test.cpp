// The buffer that gathers a message, and is read while the message arrives.
#include "rmpp_scripts.hpp"

#include <malloc.h>
#include <random>

namespace {

using namespace irpverbs::ibmf;
using namespace irpverbs::ibmf::rmpp;
using namespace irpverbs::ibmf::rmpp::testing;

using octets = std::vector<std::uint8_t>;

octets copied(mad_bytes from) { return {from.begin(), from.end()}; }

struct MessageBuffer : ::testing::Test {
    rmpp_message original{200 * 500};
    message_buffer buffer;
    std::size_t sent = 0;
    octets got;
    octets headers;

    void SetUp() override {
        const datagram first = data_packet(original, 1);
        ASSERT_TRUE(buffer.begin(view_of(first), 0));
        headers = copied(buffer.bytes());
    }
    void append(std::size_t count) {
        const mad_bytes all = original.data;
        ASSERT_TRUE(buffer.append(all.subspan(sent, std::min(count, all.size() - sent))));
        sent = std::min(sent + count, all.size());
    }
    void read(std::size_t count) {
        octets part(count);
        part.resize(buffer.read(part));
        got.insert(got.end(), part.begin(), part.end());
    }
    octets whole() const {
        octets all = headers;
        all.insert(all.end(), original.data.begin(), original.data.end());
        return all;
    }
};

TEST_F(MessageBuffer, PartialReadsDuringAppends_ReturnAllBytes) {
    std::minstd_rand chance;
    for (int i = 0; i < 10'000 && sent < original.data.size(); ++i) {
        append(chance() % 1000);
        read(chance() % 900);
    }
    read(original.data.size());
    EXPECT_EQ(got, whole());
    EXPECT_FALSE(buffer.has_unread_data());
    EXPECT_EQ(copied(buffer.bytes()), headers);
}

TEST_F(MessageBuffer, Release_ReturnsHeadersAndUnreadData) {
    append(5000);
    read(headers.size() + 3000);
    append(100);
    EXPECT_EQ(copied(buffer.data()),
              octets(original.data.begin() + 3000, original.data.begin() + 5100));
    const std::size_t size = headers.size() + buffer.data().size();
    const message_buffer::block block = buffer.detach();
    octets expected = headers;
    expected.insert(expected.end(), original.data.begin() + 3000, original.data.begin() + 5100);
    EXPECT_EQ(copied({block.get(), size}), expected);
    EXPECT_TRUE(buffer.bytes().empty());
}

// A reader that keeps up, except for a small rest, needs little memory, however long the message
// is.
TEST_F(MessageBuffer, ReaderKeepsUp_MemoryIsBounded) {
    append(200);
    read(headers.size());
    for (int i = 1; i < 500; ++i) {
        append(200);
        read(200);
        ASSERT_EQ(buffer.data().size(), 200u);
    }
    EXPECT_LT(malloc_usable_size(const_cast<std::uint8_t*>(buffer.header().data())), 4096u);
    read(200);
    EXPECT_EQ(got, whole());
}

} // namespace
