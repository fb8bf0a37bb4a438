#include "mad_request.hpp"

#include "attributes.hpp"
#include "failure.hpp"

#include <dispatch/support/numbers.hpp>

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace irpctl {

namespace ibmf = irpverbs::ibmf;
namespace saa = irpverbs::saa;

namespace {

std::uint64_t number(std::string_view option, std::string_view text, std::uint64_t most) {
    const std::optional<std::uint64_t> value = irpverbs::dispatch::number_in(text, most);
    if (!value)
        throw wrong_usage(
            fmt::format("{}: a number up to 0x{:x} was expected, not '{}'", option, most, text));
    return *value;
}

// The permissive LID is allowed.
std::uint16_t lid_in(std::string_view text) {
    const std::uint64_t lid = number("--lid", text, IB_LID_PERMISSIVE);
    if (lid == 0) throw wrong_usage("--lid: a number from 1 to 0xffff was expected, not '0'");
    return static_cast<std::uint16_t>(lid);
}

std::uint8_t class_of(const mad_request_words& words) {
    if (words.is_routed) return MAD_MGMT_CLASS_SUBN_DIRECT_ROUTE;
    const std::optional<std::uint8_t> found = class_from(words.management_class);
    if (!found || *found == 0)
        throw wrong_usage(fmt::format("--class: smp, sa, perf, baseboard, device, cm, snmp or a "
                                      "number from 1 to 0xff was expected, not '{}'",
                                      words.management_class));
    if (*found == MAD_MGMT_CLASS_SUBN_DIRECT_ROUTE)
        throw wrong_usage("--class directed requires --route");
    return *found;
}

ibmf::mad_header header_of(const mad_request_words& words) {
    ibmf::mad_header header;
    header.mgmt_class = class_of(words);
    header.class_version = header.mgmt_class == MAD_MGMT_CLASS_SUBN_ADM ? 2 : 1;
    const std::optional<std::uint8_t> method = method_from(words.method);
    if (!method)
        throw wrong_usage(fmt::format("--method: Get, Set, GetTable, ... or a number up to 0xff "
                                      "was expected, not '{}'",
                                      words.method));
    header.method = *method;
    const std::optional<attribute> which = attribute_from(header.mgmt_class, words.attribute);
    if (!which)
        throw wrong_usage(fmt::format("--attribute: class {} has no '{}' that irpctl knows; a "
                                      "number up to 0xffff is accepted, too",
                                      class_text(header.mgmt_class), words.attribute));
    header.attribute_id = which->id;
    header.attribute_modifier =
        static_cast<std::uint32_t>(number("--modifier", words.modifier, 0xFFFF'FFFF));
    header.transaction_id = 1;
    return header;
}

std::uint8_t digit(const std::string& text, std::size_t at) {
    const auto each = static_cast<unsigned char>(text[at]);
    if (std::isxdigit(each) == 0)
        throw wrong_usage("--data: hexadecimal digits were expected, two per byte");
    return static_cast<std::uint8_t>(std::isdigit(each) != 0 ? each - '0'
                                                             : std::tolower(each) - 'a' + 10);
}

void write_data(const std::string& digits, std::vector<std::uint8_t>& data) {
    if (digits.size() % 2 != 0)
        throw wrong_usage("--data: hexadecimal digits were expected, two per byte");
    if (digits.size() / 2 > data.size())
        throw wrong_usage(fmt::format("--data: this class has room for {} bytes, not {}",
                                      data.size(), digits.size() / 2));
    for (std::size_t i = 0; i < digits.size(); i += 2)
        data[i / 2] = static_cast<std::uint8_t>(digit(digits, i) << 4 | digit(digits, i + 1));
}

// Attributes of classes without component masks: every field can be set by name.
std::vector<saa::field> nameable(const saa::record_type& layout, bool has_components) {
    std::vector<saa::field> fields(layout.fields.begin(), layout.fields.end());
    for (saa::field& each : fields)
        if (!has_components) each.component = 1;
    return fields;
}

// Sets the fields in the data, and returns their components.
std::uint64_t write_fields(const mad_request_words& words, mad_request& made) {
    if (words.fields.empty()) return 0;
    const saa::record_type* const known =
        attribute_of(made.header.mgmt_class, made.header.attribute_id).layout;
    if (known == nullptr)
        throw wrong_usage("--field: irpctl does not know the fields of this attribute; --data "
                          "sets its bytes");
    const std::vector<saa::field> fields = nameable(*known, made.is_for_the_sa());
    saa::record_type layout = *known;
    layout.fields = fields;
    std::vector<std::uint64_t> host(layout.host_size / sizeof(std::uint64_t) + 1);
    saa::unpack(layout, made.data, host.data());
    std::uint64_t mask = 0;
    for (const std::string& each : words.fields) {
        const std::size_t sign = each.find('=');
        if (sign == std::string::npos)
            throw wrong_usage(fmt::format("--field: NAME=VALUE was expected, not '{}'", each));
        const std::string wrong =
            saa::set_component(layout, host.data(), mask, std::string_view(each).substr(0, sign),
                               std::string_view(each).substr(sign + 1));
        if (!wrong.empty()) throw wrong_usage(fmt::format("--field: {}", wrong));
    }
    saa::pack(layout, host.data(), made.data);
    return mask;
}

// The directed route follows the 64 bytes of an attribute: one port per hop, from entry 1 on.
void write_route(const mad_request_words& words, mad_request& made) {
    std::size_t hops = 0;
    for (std::string_view rest = words.route; !rest.empty();) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        if (hops == ibmf::max_hops) throw wrong_usage("--route: more than 63 hops");
        const std::uint64_t port = number("--route", rest.substr(0, comma), 0xFE);
        made.data[64 + ++hops] = static_cast<std::uint8_t>(port);
        rest.remove_prefix(comma);
        if (rest == ",") throw wrong_usage("--route: a port was expected after the last comma");
        if (!rest.empty()) rest.remove_prefix(1);
    }
    made.header.class_specific = static_cast<std::uint16_t>(hops);
    made.lid = IB_LID_PERMISSIVE;
}

void write_class_header(const mad_request_words& words, std::uint64_t mask, mad_request& made) {
    const std::uint64_t key = words.key.empty() ? 0 : number("--key", words.key, ~0ull);
    std::vector<std::uint8_t>& header = made.class_header;
    if (made.is_for_the_sa()) {
        if (!words.mask.empty()) mask = number("--mask", words.mask, ~0ull);
        ibmf::store(std::span(header).first<ibmf::sa_header::size>(),
                    ibmf::sa_header{key, 0, mask});
        return;
    }
    if (!words.mask.empty()) throw wrong_usage("--mask: only the SA has components");
    const std::uint8_t mgmt_class = made.header.mgmt_class;
    const bool managing = (mgmt_class & 0x7F) == MAD_MGMT_CLASS_SUBN_LID_ROUTED;
    if (!words.key.empty() && !managing) throw wrong_usage("--key: only SMPs and the SA have one");
    if (managing)
        ibmf::store(std::span(header).first<ibmf::smp_header::size>(),
                    ibmf::smp_header{key, IB_LID_PERMISSIVE, IB_LID_PERMISSIVE});
    const bool has_oui = ibmf::has_oui(mgmt_class);
    if (has_oui == words.oui.empty())
        throw wrong_usage(has_oui ? "--oui: classes 0x30 to 0x4f need one"
                                  : "--oui: only classes 0x30 to 0x4f have one");
    if (!has_oui) return;
    made.oui = static_cast<std::uint32_t>(number("--oui", words.oui, 0xFF'FFFF));
    ibmf::store_oui(std::span(header).first<4>(), made.oui);
}

} // namespace

mad_request make_mad_request(const mad_request_words& words) {
    mad_request made;
    made.header = header_of(words);
    const ibmf::class_layout layout = ibmf::layout_of(made.header.mgmt_class);
    made.class_header.resize(layout.class_header_size);
    made.data.resize(layout.data_size());
    write_data(words.data, made.data);
    const std::uint64_t mask = write_fields(words, made);
    write_class_header(words, mask, made);
    if (made.is_directed())
        write_route(words, made);
    else if (!words.lid.empty())
        made.lid = lid_in(words.lid);
    return made;
}

} // namespace irpctl
