#include "mad_response.hpp"

#include "attributes.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include <fmt/format.h>

namespace irpctl {

namespace ibmf = irpverbs::ibmf;
namespace json = boost::json;
namespace saa = irpverbs::saa;

namespace {

using wire = std::span<const std::uint8_t>;

// Values appear by name, and in hexadecimal where that is usual, as in irpctl sa.
json::object in_words(const saa::record_type& layout, const void* record) {
    json::object made{{"record", layout.name}};
    for (const saa::field& each : layout.fields) {
        if (each.kind == saa::field_kind::reserved) continue;
        std::string text;
        saa::append_value(each, record, text);
        made[each.name] = text;
    }
    return made;
}

json::object in_json(const saa::record_type& layout, const void* record) {
    std::string text;
    saa::append_json(layout, record, text);
    return json::parse(text).as_object();
}

void add_record(json::array& records, output_form form, const saa::record_type& layout,
                wire bytes) {
    std::vector<std::uint64_t> host(layout.host_size / sizeof(std::uint64_t) + 1);
    if (!saa::unpack(layout, bytes, host.data())) return;
    records.push_back(form == output_form::text ? in_words(layout, host.data())
                                                : in_json(layout, host.data()));
}

json::array records_of(const mad_response& what, output_form form, const saa::record_type& layout) {
    json::array records;
    if (!what.has_table) {
        add_record(records, form, layout, what.data);
        return records;
    }
    const ibmf::sa_header header =
        ibmf::load_sa_header(std::span(what.class_header).first<ibmf::sa_header::size>());
    const auto table = saa::record_table::parse(layout, header.attribute_offset, what.data);
    for (std::size_t i = 0; table && i < table->size(); ++i)
        add_record(records, form, layout, (*table)[i]);
    return records;
}

json::array lines_of(wire data) {
    constexpr std::size_t bytes_a_line = 16;
    json::array lines;
    for (std::size_t at = 0; at < data.size(); at += bytes_a_line) {
        std::string text;
        for (const std::uint8_t each : data.subspan(at, std::min(bytes_a_line, data.size() - at)))
            text += fmt::format("{}{:02x}", text.empty() ? "" : " ", each);
        lines.push_back({{"offset", fmt::format("0x{:03x}", at)}, {"bytes", text}});
    }
    return lines;
}

} // namespace

json::object describe(const mad_response& what, output_form form) {
    const ibmf::mad_header& header = what.header;
    const attribute which = attribute_of(header.mgmt_class, header.attribute_id);
    json::object output{{"from_lid", what.from_lid},
                        {"class", class_text(header.mgmt_class)},
                        {"method", method_text(header.method)},
                        {"attribute", which.name.empty() ? fmt::format("0x{:04x}", which.id)
                                                         : std::string(which.name)},
                        {"modifier", header.attribute_modifier},
                        {"status", fmt::format("0x{:04x}", header.status)},
                        {"meaning", status_text(header.mgmt_class, header.status)},
                        {"milliseconds", static_cast<double>(what.ticks) / 1e4}};
    if (which.layout != nullptr)
        output["records"] = records_of(what, form, *which.layout);
    else
        output["data"] = lines_of(what.data);
    return output;
}

} // namespace irpctl
