// Paths: records of the SA, fields of messages, IP addresses in private data.
#pragma once

#include <ci/address.h>
#include <cm/ip_address.h>
#include <cm/messages.hpp>
#include <saa/sa_recs.h>

#include <optional>
#include <span>

namespace irpverbs::cm::engine {

/// Where the port's tables have the P_Key and the GID of a path that starts there.
struct path_location {
    USHORT pkey_index = 0;
    USHORT gid_index = 0;
    UCHAR path_bits = 0; // of the port's LID
    UCHAR port = 0;
};

/// The way along a path that starts there.
ib_av_attr_t address_vector(const sa_path_record_t& path, const path_location& location);

/// The fields of a path that starts at this end.
path_fields fields_of(const sa_path_record_t& path, std::uint8_t local_ack_timeout);

/// The path from this end to the sender of the fields. MTU and P_Key stay 0.
sa_path_record_t path_of(const path_fields& peers);

/// The addresses in front of private data.
inline constexpr std::size_t ip_header_size = 36;
void store(const ib_cm_ip_t& ip, std::span<std::uint8_t, ip_header_size> to);
/// No value: there are none.
std::optional<ib_cm_ip_t> load_ip(ib_svc_id_t service_id,
                                  std::span<const std::uint8_t, ip_header_size> from);

} // namespace irpverbs::cm::engine
