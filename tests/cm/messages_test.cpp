// The wire format of the messages, and tshark's view of it.
#include "cm_end.hpp"

#include <cm/messages.hpp>

#include <support/both_machines.hpp>
#include <support/dissection.hpp>

#include <ci/capture.hpp>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <unistd.h>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

using wire_bytes = std::array<std::uint8_t, cm::message_size>;

/// Bytes of which neighbours differ, also by bits.
wire_bytes varied(std::uint8_t seed) {
    wire_bytes made{};
    for (std::size_t i = 0; i < made.size(); ++i)
        made[i] = static_cast<std::uint8_t>((i + 1) * 37 + seed * 101 + i * i);
    return made;
}

template <class Message>
class CmMessage : public ::testing::Test {};

using all_messages =
    ::testing::Types<cm::req_message, cm::mra_message, cm::rej_message, cm::rep_message,
                     cm::rtu_message, cm::dreq_message, cm::drep_message, cm::sidr_req_message,
                     cm::sidr_rep_message, cm::lap_message, cm::apr_message>;
TYPED_TEST_SUITE(CmMessage, all_messages);

TYPED_TEST(CmMessage, LoadedAndStored_IsEqual) {
    for (std::uint8_t seed = 0; seed < 50; ++seed) {
        const auto message = cm::load<TypeParam>(varied(seed));
        wire_bytes again{};
        cm::store(message, again);
        EXPECT_EQ(cm::load<TypeParam>(again), message);
    }
}

// A bit either belongs to one member, or is reserved: then it is not read.
TYPED_TEST(CmMessage, EachBit_ChangesTheMessageOrIsReserved) {
    const wire_bytes before = varied(7);
    const auto message = cm::load<TypeParam>(before);
    for (std::size_t bit = 0; bit < before.size() * 8; ++bit) {
        wire_bytes changed = before;
        changed[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
        wire_bytes again{};
        cm::store(cm::load<TypeParam>(changed), again);
        const bool is_reserved = cm::load<TypeParam>(changed) == message;
        EXPECT_EQ((again[bit / 8] >> bit % 8 & 1) != 0,
                  !is_reserved && (changed[bit / 8] >> bit % 8 & 1) != 0)
            << bit;
    }
}

TYPED_TEST(CmMessage, Encoded_IsDecodedAsThatMessage) {
    auto message = cm::load<TypeParam>(wire_bytes{});
    if constexpr (requires { message.remote_id; }) message.remote_id = 0x12345678;
    std::array<std::uint8_t, ibmf::mad_size> datagram{};
    cm::encode(message, 0x1122334455667788, datagram);
    const std::optional<cm::any_message> decoded = cm::decode(datagram);
    ASSERT_TRUE(decoded);
    ASSERT_TRUE(std::holds_alternative<TypeParam>(*decoded));
    EXPECT_EQ(std::get<TypeParam>(*decoded), message);
}

TEST(CmDecode, AnythingElse_IsRefused) {
    std::array<std::uint8_t, ibmf::mad_size + 1> datagram{};
    const auto whole = std::span(datagram).first<ibmf::mad_size>();
    const auto changed = [&](std::size_t byte, std::uint8_t value) {
        cm::encode(cm::rej_message(), 1, whole);
        EXPECT_TRUE(cm::decode(whole));
        datagram[byte] = value;
        return cm::decode(whole).has_value();
    };
    EXPECT_FALSE(changed(0, 2)) << "base version";
    EXPECT_FALSE(changed(1, 4)) << "class";
    EXPECT_FALSE(changed(2, 1)) << "class version";
    EXPECT_FALSE(changed(3, 0x83)) << "method";
    EXPECT_FALSE(changed(17, 0x1B)) << "attribute";
    EXPECT_FALSE(changed(16, 0x01)) << "attribute";
    EXPECT_TRUE(changed(33, 72 << 1)) << "as much information as fits";
    EXPECT_FALSE(changed(33, 73 << 1)) << "more information than fits";
    cm::encode(cm::rej_message(), 1, whole);
    EXPECT_FALSE(cm::decode(std::span(datagram))) << "too long";
    EXPECT_FALSE(cm::decode(whole.first(ibmf::mad_size - 1))) << "too short";
    EXPECT_FALSE(cm::decode({}));
}

/// Two agents of the class on the fabric, without communication management; what one sends is
/// captured.
class CmCapture : public BothMachines {
protected:
    CmCapture() {
        union {
            IB_CA_ATTR attr;
            UCHAR room[4096];
        } block;
        EXPECT_EQ(verb_call([&](IRP* irp) {
                      return CiQueryCa(one_.ca, sizeof(block), &block.attr, irp);
                  }).status(),
                  STATUS_SUCCESS);
        EXPECT_EQ(file_->add(hcas_.fdo(0), block.attr), STATUS_SUCCESS);
    }
    ~CmCapture() override { std::filesystem::remove(path_); }

    template <class Message>
    void send(const Message& message) {
        mad bytes;
        cm::encode(message, ++sent_, std::span<std::uint8_t, ibmf::mad_size>(bytes));
        EXPECT_EQ(sender_.send(to_lid(two_.lid()), bytes), STATUS_SUCCESS);
        const mad received = receiver_.receive().data;
        EXPECT_TRUE(std::equal(bytes.begin() + ibmf::mad_header_size, bytes.end(),
                               received.begin() + ibmf::mad_header_size));
    }
    const std::string& file() {
        file_->end();
        std::ofstream(path_, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes_.data()),
                   static_cast<std::streamsize>(bytes_.size()));
        return path_;
    }
    /// The field of a message and its value, as tshark shows it.
    using shown_fields = std::vector<std::pair<std::string, std::string>>;

    /// The last message has these fields.
    void expect_shown(const shown_fields& expected) {
        std::string options = "-T fields -E separator=,";
        std::string values;
        for (const auto& [field, value] : expected) {
            options += " -e infiniband.cm." + field;
            values += (values.empty() ? "" : ",") + value;
        }
        const std::vector<std::string> lines = dissect(file(), options);
        ASSERT_FALSE(lines.empty());
        EXPECT_EQ(lines.back(), values) << options;
    }

private:
    static IB_MAD_AGENT_ATTR agent() {
        IB_MAD_AGENT_ATTR attr = agent_of(MAD_MGMT_CLASS_COMM_MGT, {MAD_METHOD_SEND});
        attr.ClassVersion = cm::class_version;
        return attr;
    }

    attached hcas_;
    cm_end one_{hcas_, 0};
    cm_end two_{hcas_, 1};
    mad_client sender_{one_.ca, agent()};
    mad_client receiver_{two_.ca, agent()};
    std::vector<std::byte> bytes_;
    std::unique_ptr<ci::capture> file_ =
        std::make_unique<ci::capture>([this](std::span<const std::byte> part) {
            bytes_.insert(bytes_.end(), part.begin(), part.end());
        });
    std::uint64_t sent_ = 0;
    std::string path_ =
        ::testing::TempDir() + "cm_" + (simulated() ? "s_" : "r_") + std::to_string(getpid());
};

TEST_P(CmCapture, AllMessages_AreDissectedWithoutErrors) {
    send(cm::req_message{});
    send(cm::mra_message{});
    send(cm::rej_message{});
    send(cm::rep_message{});
    send(cm::rtu_message{});
    send(cm::dreq_message{});
    send(cm::drep_message{});
    send(cm::sidr_req_message{});
    send(cm::sidr_rep_message{});
    send(cm::lap_message{});
    send(cm::apr_message{});
    expect_no_errors(file(), 11);
}

// tshark reads flow label and packet rate of a path in the wrong bytes: they are left out.
TEST_P(CmCapture, Req_IsShownFieldByField) {
    cm::req_message req;
    req.local_id = 0x11223344;
    req.service_id = 0x0000'0000'0106'1C06;
    req.ca_guid = 0x0203'0405'0607'0809;
    req.qpn = 0x123456;
    req.responder_resources = 5;
    req.initiator_depth = 6;
    req.remote_response_timeout = 21;
    req.transport = cm::transport_service::uc;
    req.end_to_end_flow_control = true;
    req.starting_psn = 0x654321;
    req.local_response_timeout = 19;
    req.retry_count = 3;
    req.p_key = 0x8123;
    req.mtu = 4;
    req.rnr_retry_count = 5;
    req.max_cm_retries = 11;
    req.srq = true;
    req.primary = {.local_lid = 7,
                   .remote_lid = 9,
                   .flow_label = 0x12345,
                   .packet_rate = 3,
                   .traffic_class = 0x66,
                   .hop_limit = 64,
                   .service_level = 5,
                   .subnet_local = true,
                   .local_ack_timeout = 18};
    req.alternate = {.local_lid = 8, .remote_lid = 10, .service_level = 6, .local_ack_timeout = 17};
    send(req);
    expect_shown({{"req", "0x11223344"},
                  {"req.localqpn", "0x123456"},
                  {"req.responderres", "0x05"},
                  {"req.initdepth", "0x06"},
                  {"req.remoteresptout", "0x15"},
                  {"req.transpsvctype", "0x01"},
                  {"req.e2eflowctrl", "0x01"},
                  {"req.startpsn", "0x654321"},
                  {"req.localresptout", "0x13"},
                  {"req.retrcount", "0x03"},
                  {"req.pkey", "0x8123"},
                  {"req.pppmtu", "0x04"},
                  {"req.rnrretrcount", "0x05"},
                  {"req.maxcmretr", "0x0b"},
                  {"req.srq", "0x01"},
                  {"req.prim_locallid", "7"},
                  {"req.prim_remotelid", "9"},
                  {"req.prim_tfcclass", "0x66"},
                  {"req.prim_hoplim", "0x40"},
                  {"req.prim_sl", "0x05"},
                  {"req.prim_subnetlocal", "0x01"},
                  {"req.prim_localacktout", "0x12"},
                  {"req.alt_locallid", "8"},
                  {"req.alt_remotelid", "10"},
                  {"req.alt_sl", "0x06"},
                  {"req.alt_localacktout", "0x11"}});
}

TEST_P(CmCapture, Rep_IsShownFieldByField) {
    cm::rep_message rep;
    rep.local_id = 1;
    rep.remote_id = 0x55667788;
    rep.qpn = 0x123456;
    rep.starting_psn = 0xABCDEF;
    rep.responder_resources = 4;
    rep.initiator_depth = 3;
    rep.target_ack_delay = 15;
    rep.failover_accepted = 1;
    rep.rnr_retry_count = 6;
    rep.srq = true;
    send(rep);
    expect_shown({{"rep.remotecommid", "0x55667788"},
                  {"rep.localqpn", "0x123456"},
                  {"rep.startpsn", "0xabcdef"},
                  {"rep.respres", "0x04"},
                  {"rep.initdepth", "0x03"},
                  {"rep.tgtackdelay", "0x0f"},
                  {"rep.failoveracc", "0x01"},
                  {"rep.rnrretrcount", "0x06"},
                  {"rep.srq", "0x01"}});
}

TEST_P(CmCapture, Rej_IsShownFieldByField) {
    cm::rej_message rej;
    rej.local_id = 3;
    rej.remote_id = 4;
    rej.rejected = cm::message_kind::rep;
    rej.reason = IB_CM_REJ_STALE_CONN;
    rej.info_length = 8;
    send(rej);
    expect_shown({{"rej.localcommid", "0x00000003"},
                  {"rej.remotecommid", "0x00000004"},
                  {"rej.msgrej", "0x01"},
                  {"rej.reason", "0x000a"},
                  {"rej.rejinfolen", "0x08"}});
}

TEST_P(CmCapture, Dreq_IsShownFieldByField) {
    cm::dreq_message dreq;
    dreq.local_id = 3;
    dreq.remote_qpn = 0x424344;
    send(dreq);
    expect_shown({{"dreq.localcommid", "0x00000003"}, {"req.remoteqpneecn", "0x424344"}});
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(CmCapture);

} // namespace
