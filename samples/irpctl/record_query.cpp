#include "record_query.hpp"

#include "failure.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace irpctl {

namespace saa = irpverbs::saa;

namespace {

std::string plain(std::string_view name) {
    std::string made;
    for (const char each : name)
        if (each != '_') made += static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
    return made;
}

bool is_queryable(const saa::record_type& type) {
    return type.attribute_id != 0 && type.attribute_id != SA_NOTICE_ATTRID &&
           type.attribute_id != SA_INFORMINFO_ATTRID;
}

struct assignment {
    std::string name;
    std::string value;
};

assignment split(const std::string& field) {
    const std::size_t equals = field.find('=');
    if (equals == std::string::npos)
        throw wrong_usage(fmt::format("--field: NAME=VALUE was expected, not '{}'", field));
    return {field.substr(0, equals), field.substr(equals + 1)};
}

void set(const saa::record_type& type, void* host, std::uint64_t& components,
         const assignment& what) {
    const std::string wrong = saa::set_component(type, host, components, what.name, what.value);
    if (!wrong.empty()) throw wrong_usage("--field: " + wrong);
}

std::vector<std::uint64_t> room_for(std::size_t bytes) {
    return std::vector<std::uint64_t>((bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
}

ib_gid_t gid_in(const assignment& what) {
    sa_path_record_t path{};
    std::uint64_t components = 0;
    set(saa::layout_of(&path), &path, components, {"SGID", what.value});
    return path.SGID;
}

// The GIDs follow the record: sources, then destinations.
saa::any_query make_multipath(const std::vector<std::string>& fields) {
    sa_multipath_record_t record{};
    saa::any_query made{SA_MULTIPATHRECORD_ATTRID, 0, {}};
    std::vector<ib_gid_t> sources;
    std::vector<ib_gid_t> destinations;
    for (const std::string& each : fields) {
        const assignment what = split(each);
        if (what.name == "SGID")
            sources.push_back(gid_in(what));
        else if (what.name == "DGID")
            destinations.push_back(gid_in(what));
        else
            set(saa::layout_of(&record), &record, made.components, what);
    }
    constexpr std::size_t most = 5; // all GIDs fit into one datagram
    if (sources.empty() || destinations.empty() || sources.size() + destinations.size() > 2 * most)
        throw wrong_usage("MultiPathRecord: --field SGID=... and --field DGID=... name the ends, "
                          "at least one of each and ten in all");
    record.SGIDCount = static_cast<std::uint8_t>(sources.size());
    record.DGIDCount = static_cast<std::uint8_t>(destinations.size());
    made.components |= SA_MPR_COMPMASK_SGIDCOUNT | SA_MPR_COMPMASK_DGIDCOUNT;
    sources.insert(sources.end(), destinations.begin(), destinations.end());
    made.record = room_for(sizeof record + sources.size() * sizeof(ib_gid_t));
    auto* const bytes = reinterpret_cast<std::uint8_t*>(made.record.data());
    std::memcpy(bytes, &record, sizeof record);
    std::memcpy(bytes + sizeof record, sources.data(), sources.size() * sizeof(ib_gid_t));
    return made;
}

} // namespace

std::vector<const saa::record_type*> queryable_records() {
    std::vector<const saa::record_type*> found;
    for (const saa::record_type& each : saa::record_types())
        if (is_queryable(each)) found.push_back(&each);
    return found;
}

const saa::record_type& record_named(const std::string& text) {
    const saa::record_type* only = nullptr;
    std::string others;
    for (const saa::record_type* each : queryable_records()) {
        const std::string name = plain(each->name);
        if (!name.starts_with(plain(text))) continue;
        if (name == plain(text) || name == plain(text) + "record") return *each;
        others += fmt::format("{}{}", others.empty() ? "" : ", ", each->name);
        only = each;
    }
    if (only == nullptr)
        throw wrong_usage(fmt::format("no record is called '{}'; irpctl sa lists them", text));
    if (others.find(',') != std::string::npos)
        throw wrong_usage(fmt::format("'{}' may be {}; name one of them", text, others));
    return *only;
}

const saa::record_type& template_of(const saa::record_type& record) {
    const sa_path_record_t* const path = nullptr;
    return record.attribute_id == SA_TRACERECORD_ATTRID ? saa::layout_of(path) : record;
}

saa::any_query make_query(const saa::record_type& record, const std::vector<std::string>& fields) {
    if (record.attribute_id == SA_MULTIPATHRECORD_ATTRID) return make_multipath(fields);
    const saa::record_type& query_template = template_of(record);
    saa::any_query made{record.attribute_id, 0, room_for(query_template.host_size)};
    for (const std::string& each : fields)
        set(query_template, made.record.data(), made.components, split(each));
    return made;
}

} // namespace irpctl
