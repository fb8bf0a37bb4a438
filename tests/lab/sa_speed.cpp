// Measures how fast the SA of a lab responds to queries by libibumad alone, libibmad, IBMF and SA
// access, and how fast our own subnet manager answers in this process, on a fat tree of the same
// size. All sides run in turn, round after round; the result is the median of the ratios. A bar is
// impossible where its limit misses it too: libibumad alone with as many queries outstanding. Exits
// with 1 when a bar is missed for another reason. tests/lab/lab.py starts it, on a fabric of up to
// 1,920 hosts; docs/speed.md has the figures.
//
//   usage: sa_speed [--print] [--tolerance FRACTION] [QUERIES [ROUNDS [SIDE]]]
//
// Defaults: 10,000 PathRecords per round, 9 rounds, all sides, tolerance 0.1. With --print it exits
// with 0 even if a bar is missed.
#include "own_manager.hpp"
#include "raw_ibmad.hpp"

#include <ibmf/ibmf.h>
#include <ibmf/mad.hpp>
#include <saa/async.hpp>
#include <saa/ibmf_saa_extras.h>
#include <support/coroutines.hpp>
#include <support/verbs.hpp>

#include <hca/rdma.h>

#include <boost/endian/conversion.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <infiniband/umad.h>
#include <infiniband/umad_sa.h>
#include <memory>
#include <optional>
#include <string>
#include <sys/resource.h>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

using all_completed = irpverbs::testing::signal;

constexpr std::uint8_t get_table = 0x12;
constexpr std::size_t data_at = ibmf::rmpp_data_offset + ibmf::sa_header::size;

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "sa_speed: %s failed\n", what);
    std::exit(1);
}
void expect(bool truth, const char* what) {
    if (!truth) fail(what);
}

/// The local port, and the other ports of the subnet.
struct surroundings {
    ib_gid_t here{};
    ib_lid_t sm_lid = 0;
    ib_guid_t hca = 0;
    std::vector<ib_gid_t> others;
};

/// The request for one path; indices ask for distinct pairs until all pairs are used.
saa::query_template<sa_path_record_t> path_wanted(const surroundings& around, std::size_t index) {
    const std::size_t ports = around.others.size();
    return saa::path_template({.sgid = around.others[index % ports],
                               .dgid = around.others[(index + index / ports + 1) % ports]});
}

using mad = std::array<std::uint8_t, ibmf::mad_size>;

mad path_request(const surroundings& around, std::size_t index, std::uint64_t transaction) {
    mad bytes{};
    ibmf::store(ibmf::header_at<ibmf::mad_header::size>(ibmf::mad_buffer(bytes), 0),
                ibmf::mad_header{.mgmt_class = MAD_MGMT_CLASS_SUBN_ADM,
                                 .class_version = 2,
                                 .method = MAD_METHOD_GET,
                                 .transaction_id = transaction,
                                 .attribute_id = SA_PATHRECORD_ATTRID});
    const auto wanted = path_wanted(around, index);
    ibmf::store(std::span(bytes).subspan<ibmf::rmpp_data_offset, ibmf::sa_header::size>(),
                ibmf::sa_header{0, 0, wanted.components});
    saa::pack(wanted.record, std::span(bytes).subspan(data_at));
    return bytes;
}

/// Queries by libibumad alone.
class umad_side {
public:
    explicit umad_side(const surroundings& around) : around_(around) {
        umad_init();
        port_ = umad_open_port(nullptr, 0);
        agent_ = umad_register(port_, UMAD_CLASS_SUBN_ADM, UMAD_SA_CLASS_VERSION, 1, nullptr);
        expect(port_ >= 0 && agent_ >= 0, "libibumad");
    }
    ~umad_side() {
        umad_unregister(port_, agent_);
        umad_close_port(port_);
    }
    umad_side(const umad_side&) = delete;
    umad_side& operator=(const umad_side&) = delete;

    /// Asks for `count` paths, `depth` at a time.
    void paths(unsigned count, unsigned depth) {
        unsigned sent = 0;
        while (sent < std::min(depth, count))
            send(path_request(around_, sent, sent + 1)), ++sent;
        for (unsigned received = 0; received < count; ++received) {
            receive(ibmf::mad_size);
            if (sent < count) send(path_request(around_, sent, sent + 1)), ++sent;
        }
    }
    void table(const mad& request) {
        send(request);
        receive(room_);
    }

private:
    void send(const mad& request) {
        std::memcpy(buffer_.data() + umad_size(), request.data(), request.size());
        umad_set_addr(buffer_.data(), around_.sm_lid, 1, 0, static_cast<int>(IB_QP1_QKEY));
        expect(umad_send(port_, agent_, buffer_.data(), ibmf::mad_size, 5000, 3) == 0, "umad_send");
    }
    void receive(std::size_t room) {
        auto length = static_cast<int>(room);
        expect(umad_recv(port_, buffer_.data(), &length, 20'000) == agent_ &&
                   umad_status(buffer_.data()) == 0,
               "umad_recv");
    }

    static constexpr std::size_t room_ = std::size_t{4} << 20;
    const surroundings& around_;
    int port_;
    int agent_;
    std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(room_);
};

raw_ibmad::gid wire(const ib_gid_t& gid) {
    raw_ibmad::gid bytes{};
    boost::endian::store_big_u64(bytes.data(), gid.gid_prefix);
    boost::endian::store_big_u64(bytes.data() + 8, gid.gid_guid);
    return bytes;
}

/// Queries by libibmad's call for a path, one after another.
class ibmad_side {
public:
    explicit ibmad_side(const surroundings& around) : around_(around), by_(around.sm_lid) {}

    void paths(unsigned count) {
        for (unsigned i = 0; i < count; ++i) {
            const sa_path_record_t wanted = path_wanted(around_, i).record;
            expect(by_.ask_path(wire(wanted.SGID), wire(wanted.DGID)), "ib_path_query_via");
        }
    }

private:
    const surroundings& around_;
    raw_ibmad by_;
};

/// Queries by IBMF with callbacks, several outstanding at once.
class ibmf_side {
public:
    explicit ibmf_side(const surroundings& around) : around_(around), queries_(max_at_once) {
        ibmf_register_info_t who{around.hca, 1, SUBN_ADM_MANAGER};
        ibmf_impl_caps_t capabilities{};
        expect(ibmf_register(&who, IBMF_VERSION, IBMF_REG_FLAG_RMPP | IBMF_REG_FLAG_NO_OFFLOAD,
                             nullptr, nullptr, &client_, &capabilities) == IBMF_SUCCESS,
               "ibmf_register");
        expect(ibmf_limit_port(client_, max_at_once) == IBMF_SUCCESS, "ibmf_limit_port");
        for (request& each : queries_)
            prepare(each);
    }
    ~ibmf_side() {
        for (request& each : queries_)
            ibmf_free_msg(client_, &each.message);
        ibmf_unregister(&client_, 0);
    }
    ibmf_side(const ibmf_side&) = delete;
    ibmf_side& operator=(const ibmf_side&) = delete;

    void paths(unsigned count, unsigned depth) {
        left_to_send_ = count;
        left_to_come_ = count;
        all_completed all;
        all_ = &all;
        for (request& each : std::span(queries_).first(depth))
            send_next(each);
        all.wait();
    }
    void table(const mad& asked) {
        request& only = queries_.front();
        only.bytes = asked;
        ibmf_retrans_t times{3, 5'000'000, 500'000, 0};
        expect(ibmf_msg_transport(client_, IBMF_QP_HANDLE_DEFAULT, only.message, &times, nullptr,
                                  nullptr, IBMF_MSG_TRANS_FLAG_SEQ) == IBMF_SUCCESS,
               "a table by IBMF");
    }

private:
    struct request {
        ibmf_side* of = nullptr;
        ibmf_msg_t* message = nullptr;
        mad bytes{};
    };

    void prepare(request& each) {
        each.of = this;
        expect(ibmf_alloc_msg(client_, IBMF_ALLOC_SLEEP, &each.message) == IBMF_SUCCESS,
               "ibmf_alloc_msg");
        ibmf_msg_bufs_t& parts = each.message->im_msgbufs_send;
        parts.im_bufs_mad_hdr = reinterpret_cast<ib_mad_hdr_t*>(each.bytes.data());
        parts.im_bufs_cl_hdr = each.bytes.data() + ibmf::rmpp_data_offset;
        parts.im_bufs_cl_hdr_len = ibmf::sa_header::size;
        parts.im_bufs_cl_data = each.bytes.data() + data_at;
        parts.im_bufs_cl_data_len = ibmf::mad_size - data_at;
        ibmf_addr_info_t& to = each.message->im_local_addr;
        to.ia_remote_lid = around_.sm_lid;
        to.ia_remote_qno = 1;
        to.ia_p_key = IB_PKEY_DEFAULT_FULL;
        to.ia_q_key = IB_QP1_QKEY;
    }
    void send_next(request& by) {
        const unsigned index = left_to_send_.fetch_sub(1);
        if (index == 0 || index > far_beyond) {
            left_to_send_ = 0;
            return;
        }
        by.bytes = path_request(around_, index, index);
        ibmf_retrans_t times{3, 5'000'000, 500'000, 0};
        expect(ibmf_msg_transport(client_, IBMF_QP_HANDLE_DEFAULT, by.message, &times, on_response,
                                  &by, IBMF_MSG_TRANS_FLAG_SEQ) == IBMF_SUCCESS,
               "ibmf_msg_transport");
    }
    static void on_response(ibmf_handle_t, ibmf_msg_t* message, void* context) {
        auto& by = *static_cast<request*>(context);
        expect(message->im_msg_status == IBMF_SUCCESS, "a path by IBMF");
        by.of->send_next(by);
        if (by.of->left_to_come_.fetch_sub(1) == 1) by.of->all_->set();
    }

    static constexpr unsigned max_at_once = 256;
    static constexpr unsigned far_beyond = 1u << 31; // a counter above it has wrapped below zero
    const surroundings& around_;
    ibmf_handle_t client_ = nullptr;
    std::vector<request> queries_;
    std::atomic<unsigned> left_to_send_{0};
    std::atomic<unsigned> left_to_come_{0};
    all_completed* all_ = nullptr;
};

/// Queries by SA access, all at once.
class access_side {
public:
    explicit access_side(const surroundings& around) : around_(around) {
        expect(ibmf_sa_session_open(around.here.gid_guid, 0, nullptr, IBMF_VERSION,
                                    IBMF_SAA_SESSION_NO_OFFLOAD, &session_) == IBMF_SUCCESS,
               "ibmf_sa_session_open");
    }
    ~access_side() { ibmf_sa_session_close(&session_, 0); }
    access_side(const access_side&) = delete;
    access_side& operator=(const access_side&) = delete;

    /// By default 64 are outstanding; SA access queues the others.
    void paths(unsigned count) {
        left_ = count;
        all_completed all;
        all_ = &all;
        for (unsigned i = 0; i < count; ++i) {
            auto wanted = path_wanted(around_, i);
            ibmf_saa_access_args_t asked{};
            asked.sq_attr_id = SA_PATHRECORD_ATTRID;
            asked.sq_access_type = IBMF_SAA_RETRIEVE;
            asked.sq_component_mask = wanted.components;
            asked.sq_template = &wanted.record;
            asked.sq_template_length = sizeof(wanted.record);
            asked.sq_callback = on_response;
            asked.sq_callback_arg = this;
            std::size_t none = 0;
            void* no_result = nullptr;
            expect(ibmf_sa_access(session_, &asked, 0, &none, &no_result) == IBMF_SUCCESS,
                   "ibmf_sa_access");
        }
        all.wait();
    }

private:
    static void on_response(void* context, std::size_t, char* result, int status) {
        auto& self = *static_cast<access_side*>(context);
        expect(status == IBMF_SUCCESS, "a path by SA access");
        std::free(result);
        if (self.left_.fetch_sub(1) == 1) self.all_->set();
    }

    const surroundings& around_;
    ibmf_saa_handle_t session_ = nullptr;
    std::atomic<unsigned> left_{0};
    all_completed* all_ = nullptr;
};

/// Our subnet manager, queried by datagrams from another host.
class manager_side {
public:
    explicit manager_side(const surroundings& lab)
        : tree_(static_cast<unsigned>((lab.others.size() + hosts_of_leaf - 1) / hosts_of_leaf),
                spines, hosts_of_leaf) {
        around_.others = tree_.gids();
        queries_.emplace(tree_.hca(1), [this](std::size_t index) {
            return path_request(around_, index, index + 1);
        });
    }
    void paths(unsigned count, unsigned depth) {
        expect(queries_->ask(count, depth), "a path by our subnet manager");
    }

private:
    static constexpr unsigned spines = 16;
    static constexpr unsigned hosts_of_leaf = 32;

    managed_tree tree_;
    surroundings around_;
    std::optional<raw_queries> queries_;
};

surroundings look_around(const attached& hcas) {
    surroundings around;
    around.hca = hcas.guid();
    IB_CA* const ca = open_ca(hcas.fdo());
    {
        const port_block port(ca, 1);
        around.sm_lid = port->SmLid;
        around.here = *IbPortGid(&*port, 0);
    }
    expect(close_ca(ca) == STATUS_SUCCESS, "closing the CA");
    ibmf_saa_handle_t session = nullptr;
    expect(ibmf_sa_session_open(around.here.gid_guid, 0, nullptr, IBMF_VERSION, 0, &session) ==
               IBMF_SUCCESS,
           "ibmf_sa_session_open");
    call_result<saa::found<sa_path_record_t>> paths;
    saa::paths_from_gid(session, around.here, 0, true, 0, paths.handler());
    for (const sa_path_record_t& each : paths.result().records)
        if (each.DGID.gid_guid != around.here.gid_guid) around.others.push_back(each.DGID);
    expect(!around.others.empty(), "looking for other ports");
    ibmf_sa_session_close(&session, 0);
    return around;
}

mad table_request() {
    mad bytes{};
    ibmf::store(ibmf::header_at<ibmf::mad_header::size>(ibmf::mad_buffer(bytes), 0),
                ibmf::mad_header{.mgmt_class = MAD_MGMT_CLASS_SUBN_ADM,
                                 .class_version = 2,
                                 .method = get_table,
                                 .transaction_id = 1,
                                 .attribute_id = SA_NODERECORD_ATTRID});
    return bytes;
}

const std::array<std::string, 4> umad_deep{"umad, 8", "umad, 64", "umad, 256", "umad, 512"};

struct side {
    std::string name;
    unsigned operations;
    /// Returns the run; its destructor closes the side.
    std::function<std::function<void()>()> open;
    std::vector<double> seconds{}, busy{}, switches{}; // per operation, by round
};

template <class Side, class Run>
std::function<std::function<void()>()> opening(const surroundings& around, Run run) {
    return [&around, run] { return [by = std::make_shared<Side>(around), run] { run(*by); }; };
}

/// The use of processors by this process since its start.
struct usage {
    double seconds;  // of processors
    double switches; // of threads, when one has to wait
};

usage used_so_far() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return {seconds(used.ru_utime) + seconds(used.ru_stime), static_cast<double>(used.ru_nvcsw)};
}

void take_sample(side& each) {
    const std::function<void()> run = each.open();
    const ULONGLONG begun = KeQueryInterruptTime();
    const usage before = used_so_far();
    run();
    const usage after = used_so_far();
    each.busy.push_back((after.seconds - before.seconds) / each.operations);
    each.switches.push_back((after.switches - before.switches) / each.operations);
    each.seconds.push_back(static_cast<double>(KeQueryInterruptTime() - begun) * 1e-7 /
                           each.operations);
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

double ratio(const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> of_rounds;
    for (std::size_t i = 0; i < a.size(); ++i)
        of_rounds.push_back(a[i] / b[i]);
    return median(std::move(of_rounds));
}

void report_each(const std::vector<side>& all) {
    std::printf("%-28s %12s %12s %12s\n", "", "a second", "us busy each", "waits each");
    for (const side& each : all)
        std::printf("%-28s %12.0f %12.2f %12.2f\n", each.name.c_str(), 1 / median(each.seconds),
                    1e6 * median(each.busy), median(each.switches));
}

const side& named(const std::vector<side>& all, std::string_view name) {
    return *std::ranges::find(all, name, &side::name);
}

/// libibumad at its fastest depth.
const side& best_umad(const std::vector<side>& all) {
    const auto time = [&](const std::string& name) { return median(named(all, name).seconds); };
    return named(all, *std::ranges::min_element(umad_deep, {}, time));
}

struct bar {
    std::string what;
    double measured;
    double bound;
    bool upper;                    // the bound is a maximum, else a minimum
    std::optional<double> limit{}; // the same ratio of the least client

    bool met(double by, double tolerance) const {
        return upper ? by <= bound * (1 + tolerance) : by * (1 + tolerance) >= bound;
    }
    bool is_near_limit() const {
        return upper ? measured <= *limit * near : measured * near >= *limit;
    }
    const char* verdict(double tolerance) const {
        if (met(measured, tolerance)) return "met";
        return limit && !met(*limit, tolerance) && is_near_limit() ? "impossible" : "missed";
    }

    static constexpr double near = 1.05;
};

std::vector<bar> bars_of(const std::vector<side>& all) {
    const side& deep = best_umad(all);
    const side& as_deep = named(all, "umad, 64");
    const auto speed = [&](const char* ours, const side& theirs, double bound) {
        return bar{ours + std::string(" / ") + theirs.name,
                   ratio(theirs.seconds, named(all, ours).seconds), bound, false};
    };
    bar deepest = speed("ibmf, 64", deep, 0.95);
    deepest.limit = ratio(deep.seconds, as_deep.seconds);
    return {
        deepest,
        speed("ibmf, 64", as_deep, 0.95),
        speed("ibmf, 256", named(all, "umad, 256"), 0.95),
        speed("ibmf, 64", named(all, "ibmad"), 3),
        speed("ibmf, 1", named(all, "umad, 1"), 0.9),
        speed("ibmf, table", named(all, "umad, table"), 0.91),
        speed("access", as_deep, 0.9),
        speed("access", named(all, "ibmad"), 3),
        speed("own manager, 64", as_deep, 3),
        {"processor time, ibmf, 64 / " + deep.name, ratio(named(all, "ibmf, 64").busy, deep.busy),
         1.2, true, ratio(as_deep.busy, deep.busy)},
    };
}

bool report_bars(const std::vector<side>& all, double tolerance) {
    bool all_met = true;
    for (const bar& each : bars_of(all)) {
        const std::string verdict = each.verdict(tolerance);
        all_met = all_met && verdict != "missed";
        std::printf("%-40s %6.2f  bar %s %4.2f  %s", each.what.c_str(), each.measured,
                    each.upper ? "<=" : ">=", each.bound, verdict.c_str());
        if (each.limit) std::printf(", the limit is %.2f", *each.limit);
        std::printf("\n");
    }
    return all_met;
}

/// The options of the command line.
struct wanted {
    unsigned queries = 10'000;
    int rounds = 9;
    std::string side; // empty: all, and their bars
    bool only_print = false;
    double tolerance = 0.1;
};

wanted asked_for(int count, char** words) {
    wanted chosen;
    std::vector<std::string> plain;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        if (word == "--print")
            chosen.only_print = true;
        else if (word == "--tolerance" && i + 1 < count)
            chosen.tolerance = std::atof(words[++i]);
        else
            plain.push_back(word);
    }
    if (!plain.empty()) chosen.queries = static_cast<unsigned>(std::atoi(plain[0].c_str()));
    if (plain.size() > 1) chosen.rounds = std::atoi(plain[1].c_str());
    if (plain.size() > 2) chosen.side = plain[2];
    expect(chosen.queries > 0 && chosen.rounds > 0, "reading QUERIES and ROUNDS");
    return chosen;
}

} // namespace

int main(int count, char** words) {
    const wanted chosen = asked_for(count, words);
    dispatch::asio_machine machine{{.processors = 2}};
    const dispatch::machine::scope inside(machine);
    const attached hcas("rdma:");
    const surroundings around = look_around(hcas);
    const mad table = table_request();
    const unsigned queries = chosen.queries;
    const unsigned few = std::max(queries / 10, 1u);
    const auto umad = [&](unsigned each, unsigned depth) {
        return opening<umad_side>(around, [=](umad_side& by) { by.paths(each, depth); });
    };
    // Each side opens and closes for each sample, since only one may have the SA's class at a time.
    std::vector<side> all{
        {"umad, 8", queries, umad(queries, 8)},
        {"umad, 64", queries, umad(queries, 64)},
        {"umad, 256", queries, umad(queries, 256)},
        {"umad, 512", queries, umad(queries, 512)},
        {"ibmf, 64", queries,
         opening<ibmf_side>(around, [=](ibmf_side& by) { by.paths(queries, 64); })},
        {"ibmf, 256", queries,
         opening<ibmf_side>(around, [=](ibmf_side& by) { by.paths(queries, 256); })},
        {"access", queries,
         opening<access_side>(around, [=](access_side& by) { by.paths(queries); })},
        {"own manager, 64", queries,
         opening<manager_side>(around, [=](manager_side& by) { by.paths(queries, 64); })},
        {"ibmad", few, opening<ibmad_side>(around, [=](ibmad_side& by) { by.paths(few); })},
        {"umad, 1", few, umad(few, 1)},
        {"ibmf, 1", few, opening<ibmf_side>(around, [=](ibmf_side& by) { by.paths(few, 1); })},
        {"umad, table", 1, opening<umad_side>(around, [=](umad_side& by) { by.table(table); })},
        {"ibmf, table", 1, opening<ibmf_side>(around, [=](ibmf_side& by) { by.table(table); })},
    };
    if (!chosen.side.empty())
        std::erase_if(all, [&](const side& each) { return chosen.side != each.name; });
    expect(!all.empty(), "looking for the side");
    for (int round = 0; round < chosen.rounds; ++round)
        for (side& each : all)
            take_sample(each);
    std::printf("%zu other ports, %d rounds\n", around.others.size(), chosen.rounds);
    report_each(all);
    if (!chosen.side.empty()) return 0;
    return report_bars(all, chosen.tolerance) || chosen.only_print ? 0 : 1;
}
