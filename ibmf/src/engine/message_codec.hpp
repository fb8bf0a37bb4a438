// Conversion of messages to datagrams, and the fields of datagrams that the engine uses.
#ifndef IRPVERBS_IBMF_ENGINE_MESSAGE_CODEC_HPP
#define IRPVERBS_IBMF_ENGINE_MESSAGE_CODEC_HPP

#include <ci/mad.h>
#include <engine/datagram.hpp>
#include <ibmf/ibmf.h>
#include <ibmf/mad.hpp>

#include <optional>

namespace irpverbs::ibmf {

/// The client's MAD header, which must exist.
mad_header header_of(const ibmf_msg_bufs_t& parts);

/// Class header and data of a message, as one transfer sends them. Nothing: they do not fit the
/// class.
struct message_body {
    mad_bytes class_header;
    mad_bytes data;
};
std::optional<message_body> body_of(const ibmf_msg_bufs_t& parts, const class_layout& layout);
/// The OUI of a message; nothing: its class has no OUI.
std::optional<std::uint32_t> oui_of(const ibmf_msg_bufs_t& parts);
/// True if a message fits into one datagram.
bool fits_datagram(const ibmf_msg_bufs_t& parts, const class_layout& layout);

void compose(mad_buffer to, const ibmf_msg_bufs_t& parts, std::uint64_t transaction_id);
/// Composes a whole message, which the driver splits into segments. Returns false if there is no
/// memory.
bool compose(whole_message& to, const ibmf_msg_bufs_t& parts, std::uint64_t transaction_id);
void set_transaction_id(std::uint8_t* header, std::uint64_t transaction_id);

/// True if both addresses are of one peer: by GID if both have one, else by LID.
bool same_peer(const IB_MAD_ADDRESS& left, const IB_MAD_ADDRESS& right);

/// The address of a redirection; nothing: the response has none.
std::optional<IB_MAD_ADDRESS> redirection_of(const mad_view& response, const IB_MAD_ADDRESS& from);
ib_pkey_t redirected_pkey(const mad_view& response);

} // namespace irpverbs::ibmf

#endif
