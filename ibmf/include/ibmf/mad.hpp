/// Datagrams as bytes: the layout of each class, the headers in host byte order, and a checked
/// view. Every length in a datagram is checked before it is used.
#ifndef IRPVERBS_IBMF_MAD_HPP
#define IRPVERBS_IBMF_MAD_HPP

#include <ci/mad.h>
#include <ibmf/ib_mad.h>

#include <boost/endian/conversion.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace irpverbs::ibmf {

inline constexpr std::size_t mad_size = MAD_SIZE_IN_BYTES;
inline constexpr std::size_t mad_header_size = sizeof(ib_mad_hdr_t);
inline constexpr std::size_t rmpp_header_size = 12;
inline constexpr std::size_t rmpp_data_offset = mad_header_size + rmpp_header_size;
inline constexpr std::size_t rmpp_segment_size =
    mad_size - rmpp_data_offset; // class header and data
inline constexpr std::size_t max_hops = 63;

using mad_bytes = std::span<const std::uint8_t>;
using mad_buffer = std::span<std::uint8_t, mad_size>;

/// The layout behind the common header of a class. Source: IBA 13.4, and the table in each class's
/// chapter.
struct class_layout {
    bool rmpp; // an RMPP header is at offset 24
    std::size_t class_header_offset;
    std::size_t class_header_size;

    constexpr std::size_t data_offset() const { return class_header_offset + class_header_size; }
    constexpr std::size_t data_size() const { return mad_size - data_offset(); } // one datagram
};

/// True for the classes that vendors share: the OUI in the class header distinguishes the vendors.
inline bool has_oui(std::uint8_t mgmt_class) { return IbClassHasOui(mgmt_class) != FALSE; }

/// Defined for every class: an unknown class has the common header and 232 bytes of data.
NT_API class_layout layout_of(std::uint8_t mgmt_class) noexcept;

/// The common header. Source: IBA table 101.
struct mad_header {
    static constexpr std::size_t size = mad_header_size;

    std::uint8_t base_version = MAD_CLASS_BASE_VERS_1;
    std::uint8_t mgmt_class = 0;
    std::uint8_t class_version = 1;
    std::uint8_t method = 0; // includes the response bit
    std::uint16_t status = 0;
    std::uint16_t class_specific = 0;
    std::uint64_t transaction_id = 0;
    std::uint16_t attribute_id = 0;
    std::uint32_t attribute_modifier = 0;

    bool is_response() const { return (method & MAD_RESPONSE_BIT) != 0; }
    bool operator==(const mad_header&) const = default;
};

enum class rmpp_type : std::uint8_t { none = 0, data = 1, ack = 2, stop = 3, abort = 4 };

/// RMPPFlags, three bits.
enum rmpp_flags : std::uint8_t { rmpp_active = 1, rmpp_first = 2, rmpp_last = 4 };

/// RMPPStatus. A STOP has resources_exhausted, an ABORT any other status. Source: IBA table 165.
enum class rmpp_status : std::uint8_t {
    normal = 0,
    resources_exhausted = 1,
    total_time_too_long = 118,
    inconsistent_last = 119,
    inconsistent_first = 120,
    bad_type = 121,
    window_too_small = 122,
    segment_too_big = 123,
    illegal_status = 124,
    unsupported_version = 125,
    too_many_retries = 126,
    unspecified = 127,
};

/// The name in the IBA, such as "BADT"; "reserved", "class" or "vendor" for the ranges without
/// names.
NT_API const char* name_of(rmpp_status status) noexcept;

/// The RMPP header, at offset 24. Source: IBA table 163.
struct rmpp_header {
    static constexpr std::size_t size = rmpp_header_size;
    static constexpr std::uint8_t no_response_time = 0x1F;

    std::uint8_t version = 1;
    rmpp_type type = rmpp_type::none;
    std::uint8_t response_time = no_response_time; // 4.096 us * 2^n, 5 bits
    std::uint8_t flags = 0;
    rmpp_status status = rmpp_status::normal;
    std::uint32_t segment = 0;          // DATA: counted from 1; ACK: last segment received in order
    std::uint32_t length_or_window = 0; // DATA: PayloadLength; ACK: NewWindowLast

    bool active() const { return (flags & rmpp_active) != 0; }
    bool first() const { return (flags & rmpp_first) != 0; }
    bool last() const { return (flags & rmpp_last) != 0; }
    bool operator==(const rmpp_header&) const = default;
};

/// The SA's class header, at offset 36. Source: IBA table 186.
struct sa_header {
    static constexpr std::size_t size = 20;

    std::uint64_t sm_key = 0;
    std::uint16_t attribute_offset = 0; // distance of records in units of 8 bytes; tables only
    std::uint64_t component_mask = 0;

    bool operator==(const sa_header&) const = default;
};

/// The class header of both SMP classes, at offset 24. The LIDs are reserved in LID-routed SMPs.
/// Source: IBA tables 129 and 130.
struct smp_header {
    static constexpr std::size_t size = 40;

    std::uint64_t m_key = 0;
    std::uint16_t dr_slid = 0;
    std::uint16_t dr_dlid = 0;

    bool operator==(const smp_header&) const = default;
};

NT_API mad_header load_mad_header(std::span<const std::uint8_t, mad_header::size> from) noexcept;
NT_API rmpp_header load_rmpp_header(std::span<const std::uint8_t, rmpp_header::size> from) noexcept;
NT_API sa_header load_sa_header(std::span<const std::uint8_t, sa_header::size> from) noexcept;
NT_API smp_header load_smp_header(std::span<const std::uint8_t, smp_header::size> from) noexcept;

/// Writes all bytes of the header; reserved bytes are zero.
NT_API void store(std::span<std::uint8_t, mad_header::size> to, const mad_header& header) noexcept;
NT_API void store(std::span<std::uint8_t, rmpp_header::size> to,
                  const rmpp_header& header) noexcept;
NT_API void store(std::span<std::uint8_t, sa_header::size> to, const sa_header& header) noexcept;
NT_API void store(std::span<std::uint8_t, smp_header::size> to, const smp_header& header) noexcept;

/// The bytes of a header within a datagram.
template <std::size_t Size>
std::span<const std::uint8_t, Size> header_at(std::span<const std::uint8_t, mad_size> datagram,
                                              std::size_t offset) {
    return datagram.subspan(offset).first<Size>();
}
template <std::size_t Size>
std::span<std::uint8_t, Size> header_at(mad_buffer datagram, std::size_t offset) {
    return datagram.subspan(offset).first<Size>();
}

/// The reason why bytes are not a valid datagram.
enum class mad_fault : std::uint8_t {
    none,
    wrong_size,   // not 256 bytes
    base_version, // not 1
    hop_count,    // directed route: more than 63 hops, or a hop pointer beyond them
};

NT_API const char* name_of(mad_fault fault) noexcept;

/// A checked datagram. The view does not own the bytes: they must outlive it.
class NT_API mad_view {
public:
    /// Makes `view` a view of `bytes`, or leaves it unchanged and returns the fault. RMPP fields
    /// are not checked here; the transfer checks them.
    static mad_fault parse(mad_bytes bytes, mad_view& view) noexcept;

    mad_view() = default;
    const mad_header& header() const { return header_; }
    const class_layout& layout() const { return layout_; }
    std::span<const std::uint8_t, mad_size> bytes() const {
        return std::span<const std::uint8_t, mad_size>(bytes_, mad_size);
    }
    mad_bytes class_header() const {
        return bytes().subspan(layout_.class_header_offset, layout_.class_header_size);
    }
    mad_bytes data() const { return bytes().subspan(layout_.data_offset()); }

    /// The RMPP header. A class without RMPP has type none and 0 in the other members. A datagram
    /// whose header is not active is not part of a transfer.
    rmpp_header rmpp() const noexcept;
    bool rmpp_active() const { return rmpp().active(); }

    /// The class header of SUBN_ADM.
    sa_header sa() const noexcept;

    /// The class header of both SMP classes.
    smp_header smp() const noexcept;

    /// The OUI of classes 0x30 to 0x4F; 0 for other classes.
    std::uint32_t oui() const noexcept;

    bool is_directed_route() const {
        return header_.mgmt_class == MAD_MGMT_CLASS_SUBN_DIRECT_ROUTE;
    }
    /// True if an SMP of class SUBN_DIRECT_ROUTE is on its way back.
    bool returning() const { return (header_.status & 0x8000) != 0; } // the D bit
    std::uint8_t hop_pointer() const {
        return static_cast<std::uint8_t>(header_.class_specific >> 8);
    }
    std::uint8_t hop_count() const { return static_cast<std::uint8_t>(header_.class_specific); }
    mad_bytes smp_data() const { return bytes().subspan(64, 64); }
    mad_bytes initial_path() const { return bytes().subspan(128, max_hops + 1); }
    mad_bytes return_path() const { return bytes().subspan(192, max_hops + 1); }

private:
    const std::uint8_t* bytes_ = nullptr;
    mad_header header_;
    class_layout layout_{};
};

/// Writes the class header of classes 0x30 to 0x4F.
inline void store_oui(std::span<std::uint8_t, 4> to, std::uint32_t oui) {
    boost::endian::store_big_u32(to.data(), oui & 0xFFFFFF);
}

} // namespace irpverbs::ibmf

#endif
