// Paths that SA access returns from its cache, and the delivery of a subnet event to many clients.
#include "measurements.hpp"

#include <ci/ci.h>
#include <hca/hca.h>
#include <hca/software.h>
#include <saa/ibmf_saa_extras.h>
#include <subnet_manager/subnet_manager.hpp>
#include <support/topology_file.hpp>

#include <boost/asio/use_future.hpp>

#include <atomic>
#include <map>
#include <vector>

namespace irpverbs::bench {
namespace {

namespace asio = boost::asio;

constexpr unsigned leaves = 2;
constexpr unsigned hosts_of_leaf = 32;
constexpr unsigned hosts = leaves * hosts_of_leaf;

// A fabric of two leaf switches with a subnet manager on its first host.
class subnet {
public:
    subnet() : file_(testing::fat_tree_file(leaves, 1, hosts_of_leaf)) {
        expect(NT_SUCCESS(HcaAttach(uri_.c_str(), nullptr)), "HcaAttach");
        for (unsigned h = 0; h < hosts; ++h)
            guids_.push_back(guid_of("H" + std::to_string(h)));
        subnet_manager::manager_options chosen;
        chosen.hca = guids_.front();
        chosen.light_sweep_ms = 0;
        manager_ = subnet_manager::manager(chosen);
        manager_.start(asio::use_future).get();
        manager_.wait_until_up(asio::use_future).get();
    }
    ~subnet() {
        manager_.stop(asio::use_future).get();
        HcaDetach(uri_.c_str());
    }
    subnet(const subnet&) = delete;
    subnet& operator=(const subnet&) = delete;

    ib_guid_t hca(unsigned host) const { return guids_[host]; }
    ib_guid_t port(unsigned host) const { return guids_[host] + 1; }

private:
    static ib_guid_t guid_of(const std::string& name) {
        std::vector<ib_guid_t> all(1024);
        auto count = static_cast<ULONG>(all.size());
        HcaEnumerate(all.data(), &count);
        for (ULONG i = 0; i < count; ++i) {
            char text[64] = "";
            HcaName(all[i], text, sizeof text);
            if (name == text) return all[i];
        }
        did_not_work("a host's GUID");
    }

    const testing::topology_file file_;
    const std::string uri_ = file_.uri() + "?unmanaged";
    std::vector<ib_guid_t> guids_;
    subnet_manager::manager manager_;
};

class session {
public:
    session(ib_guid_t port, uint_t flags, ibmf_saa_subnet_event_args_t events = {}) {
        expect(ibmf_sa_session_open(port, 0, events.is_event_callback ? &events : nullptr,
                                    IBMF_VERSION, flags, &handle_) == IBMF_SUCCESS,
               "ibmf_sa_session_open");
    }
    ~session() { ibmf_sa_session_close(&handle_, 0); }
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    ibmf_saa_handle_t get() const { return handle_; }

private:
    ibmf_saa_handle_t handle_ = nullptr;
};

constexpr std::uint64_t ends = SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_DGID;

sa_path_record_t path_between(const subnet& net, unsigned from, unsigned to) {
    sa_path_record_t wanted{};
    wanted.SGID = {IB_DEFAULT_GID_PREFIX, net.port(from)};
    wanted.DGID = {IB_DEFAULT_GID_PREFIX, net.port(to)};
    return wanted;
}

// Paths are cached only after the SA has accepted the port's subscriptions.
void remember(const session& by, sa_path_record_t wanted) {
    std::array<sa_path_record_t, 4> places;
    for (int turn = 0; turn < 100'000; ++turn) {
        auto count = static_cast<uint_t>(places.size());
        if (ibmf_saa_lookup_cached_paths(by.get(), &wanted, ends, &count, places.data()) ==
            IBMF_SUCCESS)
            return;
        ibmf_saa_access_args_t args{};
        args.sq_attr_id = SA_PATHRECORD_ATTRID;
        args.sq_access_type = IBMF_SAA_RETRIEVE;
        args.sq_component_mask = ends;
        args.sq_template = &wanted;
        args.sq_template_length = sizeof(wanted);
        std::size_t length = 0;
        void* result = nullptr;
        expect(ibmf_sa_access(by.get(), &args, 0, &length, &result) == IBMF_SUCCESS, "a path");
        std::free(result);
    }
    did_not_work("a path is remembered");
}

void recall(run& sample) {
    const subnet net;
    const session by(net.port(1), IBMF_SAA_SESSION_CACHED_PATHS);
    std::vector<sa_path_record_t> wanted;
    for (unsigned to = 2; to < hosts; ++to)
        remember(by, wanted.emplace_back(path_between(net, 1, to)));
    const std::uint64_t operations = sample.operations();
    std::uint64_t found = 0;
    std::size_t next = 0;
    std::array<sa_path_record_t, 4> places;
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i) {
        auto count = static_cast<uint_t>(places.size());
        ibmf_saa_lookup_cached_paths(by.get(), &wanted[next], ends, &count, places.data());
        found += count;
        next = next + 1 == wanted.size() ? 0 : next + 1;
    }
    sample.stop();
    expect(found >= operations, "ours/path_recall");
}

/// Waits for the last of a number of callbacks.
class countdown {
public:
    countdown() { KeInitializeEvent(&all_, SynchronizationEvent, FALSE); }
    void expect_calls(long count) { left_ = count; }
    void one() {
        if (--left_ == 0) KeSetEvent(&all_, IO_NO_INCREMENT, FALSE);
    }
    void wait() { KeWaitForSingleObject(&all_, Executive, KernelMode, FALSE, nullptr); }

private:
    std::atomic<long> left_{0};
    KEVENT all_;
};

constexpr unsigned sessions_of_port = 100;

void note(ibmf_saa_handle_t, ibmf_saa_subnet_event_t event, ibmf_saa_event_details_t*, void* all) {
    if (event == IBMF_SAA_EVENT_GID_UNAVAILABLE || event == IBMF_SAA_EVENT_GID_AVAILABLE)
        static_cast<countdown*>(all)->one();
}

// One operation notifies one subscriber that a host has lost its link.
void link_event(run& sample) {
    const subnet net;
    countdown all;
    const auto count = static_cast<unsigned>(sample.population(1000));
    std::vector<std::unique_ptr<session>> sessions;
    for (unsigned i = 0; i < count; ++i) {
        const unsigned host = 1 + i / sessions_of_port;
        sessions.push_back(std::make_unique<session>(net.port(host), IBMF_SAA_SESSION_CACHED_PATHS,
                                                     ibmf_saa_subnet_event_args_t{note, &all}));
        // A cached path shows that the SA reports to that port.
        if (i % sessions_of_port == 0) remember(*sessions.back(), path_between(net, host, 0));
    }
    const std::uint64_t operations = sample.in_batches_of(count);
    for (std::uint64_t i = 0; i < operations; i += count) {
        all.expect_calls(count);
        sample.start();
        HcaSoftwareSetLink(net.hca(hosts - 1), 1, FALSE);
        all.wait();
        sample.stop();
        all.expect_calls(count);
        HcaSoftwareSetLink(net.hca(hosts - 1), 1, TRUE);
        all.wait();
    }
}

struct item {
    WORK_QUEUE_ITEM work;
    countdown* to;
};

// The same number of callbacks as bare work items.
void work_items(run& sample) {
    countdown all;
    const std::size_t count = sample.population(1000);
    std::vector<item> items(count);
    for (item& each : items) {
        each.to = &all;
        ExInitializeWorkItem(
            &each.work, [](void* context) { static_cast<item*>(context)->to->one(); }, &each);
    }
    const std::uint64_t operations = sample.in_batches_of(count);
    for (std::uint64_t i = 0; i < operations; i += count) {
        all.expect_calls(static_cast<long>(count));
        sample.start();
        for (item& each : items)
            ExQueueWorkItem(&each.work, DelayedWorkQueue);
        all.wait();
        sample.stop();
    }
}

} // namespace

void add_ours_subnet(catalog& all) {
    all.add("ours/path_recall", "a path from the cache of SA access", recall);
    all.add("ours/link_event_1e3", "a link goes down, until all of 1,000 subscribers are notified",
            link_event, threads::two);
    all.add("ours/work_items_1e3", "1,000 work items queued, until the last has run", work_items,
            threads::two);
}

} // namespace irpverbs::bench
