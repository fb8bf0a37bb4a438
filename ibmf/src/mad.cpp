#include <ibmf/mad.hpp>

#include <boost/endian/conversion.hpp>

#include <algorithm>

namespace irpverbs::ibmf {
namespace {

constexpr class_layout plain{false, mad_header_size, 0};
constexpr class_layout management{false, mad_header_size, 40}; // SMPs, and classes 4 to 8
constexpr class_layout subnet_administration{true, rmpp_data_offset, sa_header::size};
constexpr class_layout vendor_with_oui{true, rmpp_data_offset, 4};

} // namespace

class_layout layout_of(std::uint8_t mgmt_class) noexcept {
    switch (mgmt_class) {
    case MAD_MGMT_CLASS_SUBN_ADM:
        return subnet_administration;
    case MAD_MGMT_CLASS_SUBN_LID_ROUTED:
    case MAD_MGMT_CLASS_SUBN_DIRECT_ROUTE:
    case MAD_MGMT_CLASS_PERF:
    case MAD_MGMT_CLASS_BM:
    case MAD_MGMT_CLASS_DEV_MGT:
    case MAD_MGMT_CLASS_COMM_MGT:
    case MAD_MGMT_CLASS_SNMP:
        return management;
    default:
        break;
    }
    return has_oui(mgmt_class) ? vendor_with_oui : plain;
}

mad_header load_mad_header(std::span<const std::uint8_t, mad_header::size> from) noexcept {
    const std::uint8_t* at = from.data();
    return {
        .base_version = at[0],
        .mgmt_class = at[1],
        .class_version = at[2],
        .method = at[3],
        .status = boost::endian::load_big_u16(at + 4),
        .class_specific = boost::endian::load_big_u16(at + 6),
        .transaction_id = boost::endian::load_big_u64(at + 8),
        .attribute_id = boost::endian::load_big_u16(at + 16),
        .attribute_modifier = boost::endian::load_big_u32(at + 20),
    };
}

void store(std::span<std::uint8_t, mad_header::size> to, const mad_header& header) noexcept {
    std::uint8_t* at = to.data();
    at[0] = header.base_version;
    at[1] = header.mgmt_class;
    at[2] = header.class_version;
    at[3] = header.method;
    boost::endian::store_big_u16(at + 4, header.status);
    boost::endian::store_big_u16(at + 6, header.class_specific);
    boost::endian::store_big_u64(at + 8, header.transaction_id);
    boost::endian::store_big_u16(at + 16, header.attribute_id);
    boost::endian::store_big_u16(at + 18, 0);
    boost::endian::store_big_u32(at + 20, header.attribute_modifier);
}

rmpp_header load_rmpp_header(std::span<const std::uint8_t, rmpp_header::size> from) noexcept {
    const std::uint8_t* at = from.data();
    return {
        .version = at[0],
        .type = static_cast<rmpp_type>(at[1]),
        .response_time = static_cast<std::uint8_t>(at[2] >> 3),
        .flags = static_cast<std::uint8_t>(at[2] & 7),
        .status = static_cast<rmpp_status>(at[3]),
        .segment = boost::endian::load_big_u32(at + 4),
        .length_or_window = boost::endian::load_big_u32(at + 8),
    };
}

void store(std::span<std::uint8_t, rmpp_header::size> to, const rmpp_header& header) noexcept {
    std::uint8_t* at = to.data();
    at[0] = header.version;
    at[1] = static_cast<std::uint8_t>(header.type);
    at[2] = static_cast<std::uint8_t>(header.response_time << 3 | (header.flags & 7));
    at[3] = static_cast<std::uint8_t>(header.status);
    boost::endian::store_big_u32(at + 4, header.segment);
    boost::endian::store_big_u32(at + 8, header.length_or_window);
}

sa_header load_sa_header(std::span<const std::uint8_t, sa_header::size> from) noexcept {
    const std::uint8_t* at = from.data();
    return {
        .sm_key = boost::endian::load_big_u64(at),
        .attribute_offset = boost::endian::load_big_u16(at + 8),
        .component_mask = boost::endian::load_big_u64(at + 12),
    };
}

void store(std::span<std::uint8_t, sa_header::size> to, const sa_header& header) noexcept {
    std::uint8_t* at = to.data();
    boost::endian::store_big_u64(at, header.sm_key);
    boost::endian::store_big_u16(at + 8, header.attribute_offset);
    boost::endian::store_big_u16(at + 10, 0);
    boost::endian::store_big_u64(at + 12, header.component_mask);
}

smp_header load_smp_header(std::span<const std::uint8_t, smp_header::size> from) noexcept {
    const std::uint8_t* at = from.data();
    return {
        .m_key = boost::endian::load_big_u64(at),
        .dr_slid = boost::endian::load_big_u16(at + 8),
        .dr_dlid = boost::endian::load_big_u16(at + 10),
    };
}

void store(std::span<std::uint8_t, smp_header::size> to, const smp_header& header) noexcept {
    std::ranges::fill(to, std::uint8_t{0});
    std::uint8_t* at = to.data();
    boost::endian::store_big_u64(at, header.m_key);
    boost::endian::store_big_u16(at + 8, header.dr_slid);
    boost::endian::store_big_u16(at + 10, header.dr_dlid);
}

mad_fault mad_view::parse(mad_bytes bytes, mad_view& view) noexcept {
    if (bytes.size() != mad_size) return mad_fault::wrong_size;
    mad_view made;
    made.bytes_ = bytes.data();
    made.header_ = load_mad_header(bytes.first<mad_header::size>());
    made.layout_ = layout_of(made.header_.mgmt_class);
    if (made.header_.base_version != MAD_CLASS_BASE_VERS_1) return mad_fault::base_version;
    // On the way back the pointer counts down from the hop count to 0; on the way out it ends at
    // the hop count plus 1.
    if (made.is_directed_route() &&
        (made.hop_count() > max_hops || made.hop_pointer() > made.hop_count() + 1))
        return mad_fault::hop_count;
    view = made;
    return mad_fault::none;
}

rmpp_header mad_view::rmpp() const noexcept {
    if (!layout_.rmpp) return {.version = 0, .response_time = 0};
    return load_rmpp_header(header_at<rmpp_header::size>(bytes(), mad_header_size));
}

sa_header mad_view::sa() const noexcept {
    return load_sa_header(header_at<sa_header::size>(bytes(), rmpp_data_offset));
}

smp_header mad_view::smp() const noexcept {
    return load_smp_header(header_at<smp_header::size>(bytes(), mad_header_size));
}

std::uint32_t mad_view::oui() const noexcept {
    if (layout_.class_header_size != 4) return 0;
    return boost::endian::load_big_u32(class_header().data()) & 0xFFFFFF;
}

const char* name_of(mad_fault fault) noexcept {
    switch (fault) {
    case mad_fault::none:
        return "none";
    case mad_fault::wrong_size:
        return "not 256 bytes";
    case mad_fault::base_version:
        return "base version is not 1";
    case mad_fault::hop_count:
        return "hop pointer or hop count out of range";
    }
    return "unknown";
}

const char* name_of(rmpp_status status) noexcept {
    switch (status) {
    case rmpp_status::normal:
        return "normal";
    case rmpp_status::resources_exhausted:
        return "RESX";
    case rmpp_status::total_time_too_long:
        return "T2L";
    case rmpp_status::inconsistent_last:
        return "ILPL";
    case rmpp_status::inconsistent_first:
        return "IFSN";
    case rmpp_status::bad_type:
        return "BADT";
    case rmpp_status::window_too_small:
        return "W2S";
    case rmpp_status::segment_too_big:
        return "S2B";
    case rmpp_status::illegal_status:
        return "IS";
    case rmpp_status::unsupported_version:
        return "UNV";
    case rmpp_status::too_many_retries:
        return "TMR";
    case rmpp_status::unspecified:
        return "UNSPEC";
    }
    const auto code = static_cast<std::uint8_t>(status);
    return code >= 192 ? "vendor" : code >= 128 ? "class" : "reserved";
}

} // namespace irpverbs::ibmf
