#include <engine/message_codec.hpp>

#include <boost/endian/conversion.hpp>

#include <algorithm>
#include <cstring>
#include <new>

namespace irpverbs::ibmf {

namespace {

constexpr std::size_t id_offset = 8;

// Offsets in ClassPortInfo. Source: IBA table 104.
constexpr std::size_t redirect_gid = 8;
constexpr std::size_t redirect_class_sl_flow = 24;
constexpr std::size_t redirect_lid = 28;
constexpr std::size_t redirect_pkey = 30;
constexpr std::size_t redirect_qp = 32;
constexpr std::size_t redirect_qkey = 36;

mad_bytes bytes_at(const void* begin, std::size_t size) {
    return {static_cast<const std::uint8_t*>(begin), begin != nullptr ? size : 0};
}

} // namespace

mad_header header_of(const ibmf_msg_bufs_t& parts) {
    return load_mad_header(std::span<const std::uint8_t, mad_header_size>(
        reinterpret_cast<const std::uint8_t*>(parts.im_bufs_mad_hdr), mad_header_size));
}

std::optional<message_body> body_of(const ibmf_msg_bufs_t& parts, const class_layout& layout) {
    const mad_bytes header = bytes_at(parts.im_bufs_cl_hdr, parts.im_bufs_cl_hdr_len);
    const mad_bytes data = bytes_at(parts.im_bufs_cl_data, parts.im_bufs_cl_data_len);
    const std::size_t size = layout.class_header_size;
    if (!header.empty())
        return header.size() == size ? std::optional(message_body{header, data}) : std::nullopt;
    if (data.size() < size) return std::nullopt;
    return message_body{data.first(size), data.subspan(size)};
}

std::optional<std::uint32_t> oui_of(const ibmf_msg_bufs_t& parts) {
    const std::uint8_t mgmt_class = parts.im_bufs_mad_hdr->MgmtClass;
    if (!has_oui(mgmt_class)) return std::nullopt;
    const std::optional<message_body> body = body_of(parts, layout_of(mgmt_class));
    if (!body) return std::nullopt;
    return boost::endian::load_big_u32(body->class_header.data()) & 0xFFFFFF;
}

bool fits_datagram(const ibmf_msg_bufs_t& parts, const class_layout& layout) {
    const std::size_t room = mad_size - layout.class_header_offset;
    const std::size_t header = bytes_at(parts.im_bufs_cl_hdr, parts.im_bufs_cl_hdr_len).size();
    const std::size_t data = bytes_at(parts.im_bufs_cl_data, parts.im_bufs_cl_data_len).size();
    return header <= room && data <= room - header;
}

void compose(mad_buffer to, const ibmf_msg_bufs_t& parts, std::uint64_t transaction_id) {
    std::memset(to.data(), 0, to.size());
    std::memcpy(to.data(), parts.im_bufs_mad_hdr, mad_header_size);
    set_transaction_id(to.data(), transaction_id);
    std::uint8_t* body = to.data() + layout_of(to[1]).class_header_offset;
    const mad_bytes header = bytes_at(parts.im_bufs_cl_hdr, parts.im_bufs_cl_hdr_len);
    const mad_bytes data = bytes_at(parts.im_bufs_cl_data, parts.im_bufs_cl_data_len);
    if (!header.empty()) std::memcpy(body, header.data(), header.size());
    if (!data.empty()) std::memcpy(body + header.size(), data.data(), data.size());
}

bool compose(whole_message& to, const ibmf_msg_bufs_t& parts, std::uint64_t transaction_id) {
    const class_layout layout = layout_of(parts.im_bufs_mad_hdr->MgmtClass);
    const std::optional<message_body> body = body_of(parts, layout);
    if (!body) return false;
    to.size = layout.data_offset() + body->data.size();
    to.bytes.reset(new (std::nothrow) std::uint8_t[to.size]);
    std::uint8_t* const begin = to.bytes.get();
    if (begin == nullptr) return false;
    std::memcpy(begin, parts.im_bufs_mad_hdr, mad_header_size);
    set_transaction_id(begin, transaction_id);
    store(std::span<std::uint8_t, rmpp_header::size>(begin + mad_header_size, rmpp_header::size),
          {.type = rmpp_type::data, .flags = rmpp_active});
    std::ranges::copy(body->class_header, begin + layout.class_header_offset);
    std::ranges::copy(body->data, begin + layout.data_offset());
    return true;
}

void set_transaction_id(std::uint8_t* header, std::uint64_t transaction_id) {
    boost::endian::store_big_u64(header + id_offset, transaction_id);
}

bool same_peer(const IB_MAD_ADDRESS& left, const IB_MAD_ADDRESS& right) {
    if ((left.Flags & right.Flags & IB_MAD_GRH) != 0) return left.Gid == right.Gid;
    return left.Lid == right.Lid;
}

std::optional<IB_MAD_ADDRESS> redirection_of(const mad_view& response, const IB_MAD_ADDRESS& from) {
    const std::uint8_t* const info = response.data().data();
    const auto lid = boost::endian::load_big_u16(info + redirect_lid);
    const bool unicast = lid != 0 && lid <= IB_LID_UNICAST_LAST;
    if (response.header().attribute_id != MAD_ATTR_ID_CLASSPORTINFO || !unicast)
        return std::nullopt;
    const auto route = boost::endian::load_big_u32(info + redirect_class_sl_flow);
    IB_MAD_ADDRESS to = from;
    to.Lid = lid;
    to.ServiceLevel = (route >> 20) & 0xF;
    to.Qp = boost::endian::load_big_u32(info + redirect_qp) & 0xFFFFFF;
    to.QKey = boost::endian::load_big_u32(info + redirect_qkey);
    if ((from.Flags & IB_MAD_GRH) == 0) return to;
    to.Gid = {boost::endian::load_big_u64(info + redirect_gid),
              boost::endian::load_big_u64(info + redirect_gid + 8)};
    to.FlowLabel = route & 0xFFFFF;
    to.TrafficClass = static_cast<UCHAR>(route >> 24);
    return to;
}

ib_pkey_t redirected_pkey(const mad_view& response) {
    return boost::endian::load_big_u16(response.data().data() + redirect_pkey);
}

} // namespace irpverbs::ibmf
