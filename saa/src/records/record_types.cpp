#include <saa/records.hpp>

#include <algorithm>
#include <array>

namespace irpverbs::saa {
namespace {

template <class Host>
const record_type& layout_for() {
    return layout_of(static_cast<const Host*>(nullptr));
}

auto all_records() {
    std::array records{
#define X(host) layout_for<host>(),
#define Y(host)
#include <saa/detail/record_types.def>
#undef Y
#undef X
    };
    std::ranges::sort(records, {}, &record_type::attribute_id);
    return records;
}

} // namespace

std::span<const record_type> record_types() noexcept {
    static const std::array records = all_records();
    return records;
}

const record_type* find_record(std::uint16_t attribute_id) noexcept {
    const auto records = record_types();
    const auto found =
        std::ranges::lower_bound(records, attribute_id, {}, &record_type::attribute_id);
    return found != records.end() && found->attribute_id == attribute_id ? &*found : nullptr;
}

const record_type* find_record(std::string_view name) noexcept {
    const auto records = record_types();
    const auto found = std::ranges::find(records, name, &record_type::name);
    return found != records.end() ? &*found : nullptr;
}

const field* find_field(const record_type& type, std::string_view name) noexcept {
    for (const field& f : type.fields)
        if (f.kind != field_kind::reserved && name == f.name) return &f;
    return nullptr;
}

} // namespace irpverbs::saa
