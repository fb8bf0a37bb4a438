#include <cm/messages.hpp>

namespace irpverbs::cm {

namespace {

// Only REJ, APR and SIDR_REP have additional information.
bool is_valid(const auto& message) {
    if constexpr (requires { message.info_length; })
        return message.info_length <= rejection_info_size;
    else
        return true;
}

template <class Message>
std::optional<any_message> load_valid(std::span<const std::uint8_t, message_size> from) {
    const auto message = load<Message>(from);
    return is_valid(message) ? std::optional<any_message>(message) : std::nullopt;
}

template <class... Messages>
std::optional<any_message> load_any(std::uint16_t attribute,
                                    std::span<const std::uint8_t, message_size> from,
                                    const std::variant<Messages...>*) {
    std::optional<any_message> found;
    static_cast<void>(
        ((Messages::attribute_id == attribute && ((found = load_valid<Messages>(from)), true)) ||
         ...));
    return found;
}

} // namespace

std::optional<any_message> decode(ibmf::mad_bytes datagram) {
    if (datagram.size() != ibmf::mad_size) return std::nullopt;
    const ibmf::mad_header header = ibmf::load_mad_header(datagram.first<ibmf::mad_header_size>());
    if (header.base_version != MAD_CLASS_BASE_VERS_1 ||
        header.mgmt_class != MAD_MGMT_CLASS_COMM_MGT || header.class_version != class_version ||
        header.method != MAD_METHOD_SEND)
        return std::nullopt;
    return load_any(header.attribute_id, datagram.subspan<ibmf::mad_header_size, message_size>(),
                    static_cast<const any_message*>(nullptr));
}

} // namespace irpverbs::cm
