/// The messages of communication management as structures in host byte order, and their wire
/// format. Times are exponents: 4.096 us * 2^n. Source: IBA 12.6 (connections), 12.8 (alternate
/// paths), 12.11 (service id resolution).
#pragma once

#include <ci/ib_types.h>
#include <ibmf/mad.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

namespace irpverbs::cm {

inline constexpr std::uint8_t class_version = 2;
inline constexpr std::size_t message_size = ibmf::mad_size - ibmf::mad_header_size;
inline constexpr std::size_t rejection_info_size = 72;

template <std::size_t Size>
using bytes = std::array<std::uint8_t, Size>;

/// The message that an MRA or a REJ refers to; `other` is LAP in an MRA, and no message in a REJ.
enum class message_kind : std::uint8_t { req = 0, rep = 1, other = 2 };

enum class transport_service : std::uint8_t { rc = 0, uc = 1, rd = 2, extended = 3 };

/// A path as REQ and LAP name it, from the side of the message's sender.
struct path_fields {
    ib_lid_t local_lid = 0;
    ib_lid_t remote_lid = 0;
    ib_gid_t local_gid{};
    ib_gid_t remote_gid{};
    std::uint32_t flow_label = 0; // 20 bits
    std::uint8_t packet_rate = 0; // 6 bits
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t service_level = 0; // 4 bits
    bool subnet_local = false;
    std::uint8_t local_ack_timeout = 0; // 5 bits

    bool operator==(const path_fields&) const = default;
};

/// Request for communication.
struct req_message {
    static constexpr std::uint16_t attribute_id = 0x10;

    std::uint32_t local_id = 0;
    ib_svc_id_t service_id = 0;
    ib_guid_t ca_guid = 0;
    ib_qkey_t q_key = 0;
    ib_qpn_t qpn = 0;
    std::uint8_t responder_resources = 0;
    std::uint32_t eecn = 0;
    std::uint8_t initiator_depth = 0;
    std::uint32_t remote_eecn = 0;
    std::uint8_t remote_response_timeout = 0; // the receiver's time for its REP
    transport_service transport = transport_service::rc;
    bool end_to_end_flow_control = false;
    std::uint32_t starting_psn = 0;          // of the receiver's sends
    std::uint8_t local_response_timeout = 0; // the sender's time for its RTU
    std::uint8_t retry_count = 0;            // 3 bits, for the receiver's queue pair
    ib_pkey_t p_key = 0;
    std::uint8_t mtu = 0; // IB_MTU
    bool rdc_exists = false;
    std::uint8_t rnr_retry_count = 0; // 3 bits, for the receiver's queue pair
    std::uint8_t max_cm_retries = 0;  // 4 bits
    bool srq = false;
    std::uint8_t extended_transport = 0; // 3 bits
    path_fields primary;
    path_fields alternate;
    bytes<92> private_data{};

    bool has_alternate() const { return alternate.local_lid != 0; }
    bool operator==(const req_message&) const = default;
};

/// Message receipt acknowledgement: the sender needs more time.
struct mra_message {
    static constexpr std::uint16_t attribute_id = 0x11;

    std::uint32_t local_id = 0;
    std::uint32_t remote_id = 0;
    message_kind acknowledged = message_kind::req;
    std::uint8_t service_timeout = 0;
    bytes<222> private_data{};

    bool operator==(const mra_message&) const = default;
};

struct rej_message {
    static constexpr std::uint16_t attribute_id = 0x12;

    std::uint32_t local_id = 0;
    std::uint32_t remote_id = 0;
    message_kind rejected = message_kind::req;
    std::uint8_t info_length = 0; // at most rejection_info_size
    std::uint16_t reason = 0;     // IB_CM_REJ_*
    bytes<rejection_info_size> info{};
    bytes<148> private_data{};

    bool operator==(const rej_message&) const = default;
};

/// Reply to a request for communication.
struct rep_message {
    static constexpr std::uint16_t attribute_id = 0x13;

    std::uint32_t local_id = 0;
    std::uint32_t remote_id = 0;
    ib_qkey_t q_key = 0;
    ib_qpn_t qpn = 0;
    std::uint32_t eecn = 0;
    std::uint32_t starting_psn = 0;
    std::uint8_t responder_resources = 0;
    std::uint8_t initiator_depth = 0;
    std::uint8_t target_ack_delay = 0;  // 5 bits
    std::uint8_t failover_accepted = 0; // IB_CM_FAILOVER_*
    bool end_to_end_flow_control = false;
    std::uint8_t rnr_retry_count = 0;
    bool srq = false;
    ib_guid_t ca_guid = 0;
    bytes<196> private_data{};

    bool operator==(const rep_message&) const = default;
};

/// Ready to use.
struct rtu_message {
    static constexpr std::uint16_t attribute_id = 0x14;

    std::uint32_t local_id = 0;
    std::uint32_t remote_id = 0;
    bytes<224> private_data{};

    bool operator==(const rtu_message&) const = default;
};

/// Request for communication release.
struct dreq_message {
    static constexpr std::uint16_t attribute_id = 0x15;

    std::uint32_t local_id = 0;
    std::uint32_t remote_id = 0;
    ib_qpn_t remote_qpn = 0;
    bytes<220> private_data{};

    bool operator==(const dreq_message&) const = default;
};

struct drep_message {
    static constexpr std::uint16_t attribute_id = 0x16;

    std::uint32_t local_id = 0;
    std::uint32_t remote_id = 0;
    bytes<224> private_data{};

    bool operator==(const drep_message&) const = default;
};

/// Load alternate path.
struct lap_message {
    static constexpr std::uint16_t attribute_id = 0x19;

    std::uint32_t local_id = 0;
    std::uint32_t remote_id = 0;
    ib_qpn_t remote_qpn = 0;
    std::uint8_t remote_response_timeout = 0;
    path_fields alternate;
    bytes<168> private_data{};

    bool operator==(const lap_message&) const = default;
};

/// Alternate path response.
struct apr_message {
    static constexpr std::uint16_t attribute_id = 0x1A;

    std::uint32_t local_id = 0;
    std::uint32_t remote_id = 0;
    std::uint8_t info_length = 0;
    std::uint8_t status = 0; // IB_CM_AP_*
    bytes<rejection_info_size> info{};
    bytes<148> private_data{};

    bool operator==(const apr_message&) const = default;
};

/// Service id resolution request.
struct sidr_req_message {
    static constexpr std::uint16_t attribute_id = 0x17;

    std::uint32_t request_id = 0;
    ib_pkey_t p_key = 0;
    ib_svc_id_t service_id = 0;
    bytes<216> private_data{};

    bool operator==(const sidr_req_message&) const = default;
};

struct sidr_rep_message {
    static constexpr std::uint16_t attribute_id = 0x18;

    std::uint32_t request_id = 0;
    std::uint8_t status = 0; // IB_CM_SIDR_*
    std::uint8_t info_length = 0;
    ib_qpn_t qpn = 0;
    ib_svc_id_t service_id = 0;
    ib_qkey_t q_key = 0;
    bytes<rejection_info_size> info{};
    bytes<136> private_data{};

    bool operator==(const sidr_rep_message&) const = default;
};

using any_message =
    std::variant<req_message, mra_message, rej_message, rep_message, rtu_message, dreq_message,
                 drep_message, sidr_req_message, sidr_rep_message, lap_message, apr_message>;

/// The wire format of each message, behind the MAD header. Reserved fields are 0, and are ignored.
template <class Message>
void store(const Message& message, std::span<std::uint8_t, message_size> to) noexcept;
template <class Message>
Message load(std::span<const std::uint8_t, message_size> from) noexcept;

#define IRPVERBS_CM_FORMAT_OF(type)                                                                \
    template <>                                                                                    \
    NT_API void store(const type& message, std::span<std::uint8_t, message_size> to) noexcept;     \
    template <>                                                                                    \
    NT_API type load(std::span<const std::uint8_t, message_size> from) noexcept;
IRPVERBS_CM_FORMAT_OF(req_message)
IRPVERBS_CM_FORMAT_OF(mra_message)
IRPVERBS_CM_FORMAT_OF(rej_message)
IRPVERBS_CM_FORMAT_OF(rep_message)
IRPVERBS_CM_FORMAT_OF(rtu_message)
IRPVERBS_CM_FORMAT_OF(dreq_message)
IRPVERBS_CM_FORMAT_OF(drep_message)
IRPVERBS_CM_FORMAT_OF(sidr_req_message)
IRPVERBS_CM_FORMAT_OF(sidr_rep_message)
IRPVERBS_CM_FORMAT_OF(lap_message)
IRPVERBS_CM_FORMAT_OF(apr_message)
#undef IRPVERBS_CM_FORMAT_OF

/// A message with its MAD header.
template <class Message>
void encode(const Message& message, std::uint64_t transaction_id, ibmf::mad_buffer to) noexcept {
    ibmf::store(to.template first<ibmf::mad_header_size>(),
                {.mgmt_class = MAD_MGMT_CLASS_COMM_MGT,
                 .class_version = class_version,
                 .method = MAD_METHOD_SEND,
                 .transaction_id = transaction_id,
                 .attribute_id = Message::attribute_id});
    store(message, to.template subspan<ibmf::mad_header_size, message_size>());
}

/// Returns no value for a datagram that is no message of communication management: of another
/// length, class, version, method or attribute, or with additional information beyond its field.
NT_API std::optional<any_message> decode(ibmf::mad_bytes datagram);

} // namespace irpverbs::cm
