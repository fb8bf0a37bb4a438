// irpctl sa: prints records of the subnet administrator as they arrive.
#include "commands.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "record_query.hpp"
#include "sa_session.hpp"

#include <saa/ibmf_saa_extras.h>

#include <cstdio>
#include <fmt/format.h>

namespace irpctl {

namespace {

constexpr std::size_t buffered = 64 * 1024;
constexpr std::size_t sources_at_once = 8;

/// Writes records as they arrive: one JSON value per line, or one paragraph each.
class record_writer {
public:
    explicit record_writer(bool json) : json_(json) {}

    void write(const saa::any_found& found) {
        for (std::size_t i = 0; i < found.size(); ++i) {
            add(*found.type, found[i]);
            if (text_.size() >= buffered) flush();
        }
        flush();
    }
    std::uint64_t count() const { return count_; }

private:
    void add(const saa::record_type& type, const void* record) {
        if (json_) {
            saa::append_json(type, record, text_);
            text_ += '\n';
        } else {
            if (count_ != 0) text_ += '\n';
            saa::append_text(type, record, text_);
        }
        ++count_;
    }
    void flush() {
        write_out(text_);
        text_.clear();
    }

    const bool json_;
    std::string text_;
    std::uint64_t count_ = 0;
};

// All paths of a subnet are one response of hundreds of megabytes, which an SA computes for a long
// time. The command queries each source by itself instead.
bool is_all_pairs(const saa::any_query& query) {
    constexpr std::uint64_t ends =
        SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_SLID | SA_PR_COMPMASK_DGID | SA_PR_COMPMASK_DLID;
    return query.attribute == SA_PATHRECORD_ATTRID && (query.components & ends) == 0;
}

/// One query of the user, as one or more queries to the SA.
class user_query {
public:
    user_query(session& here, sa_session& sa, const saa::any_query& query)
        : sa_(sa), query_(query), out_(here.json()) {}

    asio::awaitable<void> run() {
        if (is_all_pairs(query_))
            co_await query_by_source();
        else
            co_await query_once();
    }
    std::string progress() const {
        if (sources_.empty()) return fmt::format("{} records ...", out_.count());
        return fmt::format("{} records, of {} of {} ports", out_.count(), done_, sources_.size());
    }
    std::uint64_t count() const { return out_.count(); }

private:
    asio::awaitable<void> query_once() {
        saa::any_record_stream stream(sa_.handle(), query_);
        for (;;) {
            const saa::any_found found = co_await sa_.next(stream);
            if (found.size() == 0) break;
            out_.write(found);
        }
    }
    asio::awaitable<void> query_by_source() {
        const auto nodes = co_await sa_.all<sa_node_record_t>();
        for (const sa_node_record_t& each : nodes)
            sources_.push_back(sa_.gid_of(each.NodeInfo.PortGUID));
        std::vector<asio::awaitable<void>> askers;
        for (std::size_t i = 0; i < std::min(sources_at_once, sources_.size()); ++i)
            askers.push_back(query_from());
        co_await all_of(std::move(askers));
    }
    asio::awaitable<void> query_from() {
        while (next_ < sources_.size()) {
            saa::any_query from_one = query_;
            auto* const record = reinterpret_cast<sa_path_record_t*>(from_one.record.data());
            record->SGID = sources_[next_++];
            from_one.components |= SA_PR_COMPMASK_SGID;
            const saa::any_found found = co_await sa_.all(std::move(from_one), IBMF_SAA_BULK);
            out_.write(found);
            ++done_;
        }
    }

    sa_session& sa_;
    const saa::any_query& query_;
    record_writer out_;
    std::vector<ib_gid_t> sources_;
    std::size_t next_ = 0;
    std::size_t done_ = 0;
};

std::string values_of(const saa::field& field) {
    std::string text;
    for (const saa::named_value& each : field.names)
        text += (text.empty() ? "" : ", ") + std::string(each.name);
    return text;
}

} // namespace

asio::awaitable<void> list_records(session&) {
    std::vector<std::vector<std::string>> rows;
    for (const saa::record_type* each : queryable_records())
        rows.push_back({each->name, fmt::format("0x{:04x}", each->attribute_id)});
    print_table({{"RECORD"}, {"ATTRIBUTE"}}, rows);
    co_return;
}

asio::awaitable<void> list_fields(session&, const saa::record_type* record) {
    std::vector<std::vector<std::string>> rows;
    for (const saa::field& each : template_of(*record).fields) {
        if (each.kind == saa::field_kind::reserved || each.component == 0) continue;
        const bool is_text = each.kind == saa::field_kind::text;
        rows.push_back({each.name,
                        is_text ? fmt::format("{} bytes", each.count)
                                : fmt::format("{}", std::size_t{each.count} * each.wire_width),
                        values_of(each)});
    }
    print_table({{"FIELD"}, {"BITS"}, {"VALUES"}}, rows);
    co_return;
}

asio::awaitable<void> show_records(session& here, sa_options options) {
    co_await with_sa(here, options.parameters, [&](sa_session& sa) -> asio::awaitable<void> {
        user_query query(here, sa, options.query);
        co_await while_showing([&] { return query.progress(); }, query.run());
        if (query.count() == 0 && !here.json()) print_line("no record matches");
    });
}

} // namespace irpctl
