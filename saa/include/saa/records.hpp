// SA records as data: one table of fields, and the functions derived from it: packing, unpacking,
// text, JSON, query templates, matching. Pure functions; none blocks. IRQL: <= DISPATCH_LEVEL where
// no std::string is involved. Source: IBA 15.2.5 and 14.2.5, OpenSM's ib_types.h.
#ifndef IRPVERBS_SAA_RECORDS_HPP
#define IRPVERBS_SAA_RECORDS_HPP

#include <saa/sa_recs.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace irpverbs::saa {

enum class field_kind : std::uint8_t {
    number,
    hex,
    guid,
    gid,     // two elements of 64 bits
    key128,  // two elements of 64 bits, one number
    text,    // UTF-8, ended by NUL or by the field's end
    bytes,   // opaque
    reserved // kept, but neither printed nor set
};

/// A value that has a name: `{4, "Active"}`.
struct named_value {
    std::uint64_t value;
    const char* name;
};

/// A field, or an array of equal elements.
struct field {
    const char* name;
    field_kind kind;
    std::uint16_t count;       // elements
    std::uint16_t wire_bit;    // from the record's first bit, most significant first
    std::uint16_t wire_width;  // bits per element, at most 64
    std::uint16_t wire_stride; // bits
    std::uint16_t host_offset;
    std::uint16_t host_stride;
    std::uint8_t host_size;  // bytes of the member: 1, 2, 4, 8
    std::uint8_t host_shift; // the position of the value's first bit in the member
    std::uint64_t component; // mask bits: one per element, or one for all elements; 0: none
    std::span<const named_value> names;
};

/// The layout of one host structure.
struct record_type {
    const char* name;
    std::uint16_t attribute_id; // 0: not an SA record
    std::uint16_t wire_size;
    std::uint16_t old_wire_size; // before IBA 1.2; smaller or equal
    std::uint16_t host_size;
    std::span<const field> fields;
    // Functions that the compiler generates from the fields, for records of the newer generation;
    // the destination is zeroed before. Null: pack and unpack read the table of fields at run time.
    void (*pack_all)(const void* host, std::uint8_t* wire) = nullptr;
    void (*unpack_all)(const std::uint8_t* wire, void* host) = nullptr;

    /// The bytes of one record and its padding in a table.
    constexpr std::size_t stride() const { return (wire_size + 7u) / 8 * 8; }
};

/// All SA records, by attribute id.
NT_API std::span<const record_type> record_types() noexcept;

/// Returns nullptr for an unknown record.
NT_API const record_type* find_record(std::uint16_t attribute_id) noexcept;
NT_API const record_type* find_record(std::string_view name) noexcept;
NT_API const field* find_field(const record_type& type, std::string_view name) noexcept;

#define X(host) NT_API const record_type& layout_of(const host*) noexcept;
#define Y(host) X(host)
#include <saa/detail/record_types.def>
#undef Y
#undef X

/// Writes the record, reserved bits zero, and returns type.wire_size. Returns 0 without effect when
/// `wire` is too short. `host` is the structure that `type` describes. Bits above a field's width
/// are cut off.
NT_API std::size_t pack(const record_type& type, const void* host,
                        std::span<std::uint8_t> wire) noexcept;

/// Fills `host`. Returns false, and leaves `host` unchanged, when `wire` is shorter than either
/// generation. Fields that an old record lacks become 0. Bytes past the record are not read.
NT_API bool unpack(const record_type& type, std::span<const std::uint8_t> wire,
                   void* host) noexcept;

template <class Host>
std::size_t pack(const Host& host, std::span<std::uint8_t> wire) noexcept {
    return pack(layout_of(&host), &host, wire);
}

template <class Host>
std::optional<Host> unpack(std::span<const std::uint8_t> wire) noexcept {
    Host host{};
    if (!unpack(layout_of(&host), wire, &host)) return std::nullopt;
    return host;
}

/// The records of a GetTable response, in place. The table must not outlive the payload.
class record_table {
public:
    /// `payload`: all class data. `attribute_offset`: from the SA header, in units of 8 bytes.
    /// Returns nullopt when the stride is smaller than a record of the older generation.
    NT_API static std::optional<record_table> parse(const record_type& type,
                                                    std::uint16_t attribute_offset,
                                                    std::span<const std::uint8_t> payload) noexcept;

    std::size_t size() const noexcept { return count_; }

    /// The bytes of one record, of the generation that the stride implies.
    NT_API std::span<const std::uint8_t> operator[](std::size_t index) const noexcept;

private:
    std::span<const std::uint8_t> payload_;
    std::size_t stride_ = 0;
    std::size_t record_size_ = 0;
    std::size_t count_ = 0;
};

/// Reads one element of a field. `index` < count.
NT_API std::uint64_t get_element(const field& f, const void* host, std::size_t index) noexcept;
NT_API void set_element(const field& f, void* host, std::size_t index,
                        std::uint64_t value) noexcept;

/// Returns the component bit or bits of an element.
NT_API std::uint64_t component_of(const field& f, std::size_t index) noexcept;

/// Whether every component in `mask` is equal in both records. Source: IBA 15.4.4.
NT_API bool matches(const record_type& type, std::uint64_t mask, const void* wanted,
                    const void* candidate) noexcept;

/// Appends `Name: value` lines, or one JSON object without a line end. Text fields are escaped:
/// dispatch/support/safe_text.hpp.
NT_API void append_text(const record_type& type, const void* host, std::string& out);
NT_API void append_json(const record_type& type, const void* host, std::string& out);

/// Returns the bytes of a text field, as received and without escapes. They lie in `host`.
NT_API std::string_view text_of(const field& f, const void* host) noexcept;

/// Appends one value in the format of append_text, without its name.
NT_API void append_value(const field& f, const void* host, std::string& out);

/// Sets a field of a query template from text ("DLID", "0x12"; "PortState", "Active";
/// "ServiceData8[3]", "7") and its bits in `mask`. Returns an empty string on success, else a
/// message that states what was expected.
NT_API std::string set_component(const record_type& type, void* host, std::uint64_t& mask,
                                 std::string_view name, std::string_view value);

/// Returns the table as Markdown, one section per record: the text of docs/reference/sa-records.md.
NT_API std::string records_reference();

/// Packs the fixed part and the GIDs of a MultiPathRecord request. `gids`: the sources, then the
/// destinations, as many as the record counts. Returns the bytes written, or 0 when the counts do
/// not fit or `wire` is too short.
NT_API std::size_t pack_multipath(const sa_multipath_record_t& record,
                                  std::span<const ib_gid_t> gids,
                                  std::span<std::uint8_t> wire) noexcept;

/// Unpacks the fixed part and as many of the GIDs as `out` holds. Returns the number of GIDs, or
/// nullopt when `wire` ends before the last of them.
NT_API std::optional<std::size_t> unpack_multipath(std::span<const std::uint8_t> wire,
                                                   sa_multipath_record_t& record,
                                                   std::span<ib_gid_t> out) noexcept;

} // namespace irpverbs::saa

#endif
