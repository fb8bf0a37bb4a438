// verbs_speed [DEVICE]: compares verbs through the channel interface with libibverbs alone,
// alternating in one run, over the scripted kernel of the tests and then on a real device. Exits
// with 1 if a gate was missed. docs/speed.md describes the measurements and gates.
#include "speed_subject.hpp"

#include "posts.hpp"

#include <ci/data_path.h>
#include <ci/qp_changes.hpp>

#include <dispatch/machine.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <sstream>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

// The median of many short samples counts, each beside its peer's, since other load of the machine
// disturbs only few of them.
constexpr unsigned rounds = 301;
constexpr int at_once = 16; // entries per poll

double now(clockid_t which = CLOCK_MONOTONIC) {
    timespec time{};
    clock_gettime(which, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

double median(std::vector<double> of) {
    std::ranges::sort(of);
    return of[of.size() / 2];
}

/// Nanoseconds per operation, over `count` operations.
template <class Operation>
double time_of(unsigned count, const Operation& operation) {
    const double begin = now();
    for (unsigned i = 0; i < count; ++i)
        operation();
    return (now() - begin) / count;
}

// ---- output

bool all_gates_met = true;

/// Prints a measurement with its bar; a `gate` of 0 is no gate.
void report(const char* what, double measured, const char* unit, double bar, double gate) {
    const bool met = measured <= bar;
    const bool held = gate == 0 || measured <= gate;
    std::printf("%-48s %10.2f %-5s at most %.2f: %s%s\n", what, measured, unit, bar,
                met ? "met" : "not met", held ? "" : "; GATE MISSED");
    if (gate != 0) std::printf("%-48s %10.2f %s\n", "    gate", gate, unit);
    all_gates_met = all_gates_met && held;
}

void note(const char* what, double measured, const char* unit) {
    std::printf("%-48s %10.2f %s\n", what, measured, unit);
}

// ---- verbs with one IRP that is reused

class caller {
public:
    caller() { KeInitializeEvent(&completed_, SynchronizationEvent, FALSE); }
    ~caller() { IoFreeIrp(irp_); }
    caller(const caller&) = delete;
    caller& operator=(const caller&) = delete;

    IRP* prepared() {
        IoReuseIrp(irp_, STATUS_SUCCESS);
        IoSetCompletionRoutine(irp_, note_completion, this, TRUE, TRUE, TRUE);
        return irp_;
    }
    template <class Verb>
    ULONG_PTR call(const Verb& verb) {
        verb(prepared());
        KeWaitForSingleObject(&completed_, Executive, KernelMode, FALSE, nullptr);
        return irp_->IoStatus.Information;
    }
    /// Calls a verb that completes inside the call.
    template <class Verb>
    ULONG_PTR call_inside(const Verb& verb) {
        IoReuseIrp(irp_, STATUS_SUCCESS);
        IoSetCompletionRoutine(irp_, keep, nullptr, TRUE, TRUE, TRUE);
        verb(irp_);
        return irp_->IoStatus.Information;
    }
    void round_trip() {
        ExInitializeWorkItem(&item_, wake, this);
        ExQueueWorkItem(&item_, DelayedWorkQueue);
        KeWaitForSingleObject(&completed_, Executive, KernelMode, FALSE, nullptr);
    }

private:
    static NTSTATUS note_completion(DEVICE_OBJECT*, IRP*, void* self) {
        wake(self);
        return STATUS_MORE_PROCESSING_REQUIRED;
    }
    static NTSTATUS keep(DEVICE_OBJECT*, IRP*, void*) { return STATUS_MORE_PROCESSING_REQUIRED; }
    static void wake(void* self) {
        KeSetEvent(&static_cast<caller*>(self)->completed_, IO_NO_INCREMENT, FALSE);
    }

    IRP* irp_ = IoAllocateIrp(1, FALSE);
    KEVENT completed_;
    WORK_QUEUE_ITEM item_{};
};

// ---- polls

/// Polls 16 entries at a time by `poll`, which returns their number; adds the nanoseconds of each
/// poll that found 16.
template <class Poll>
void time_full_polls(speed_subject& on, const Poll& poll, std::vector<double>& spent) {
    on.complete(3 * at_once);
    for (unsigned taken = 0; taken < 3 * at_once;) {
        const double begin = now();
        const int got = poll();
        const double end = now();
        taken += static_cast<unsigned>(std::max(got, 0));
        if (got == at_once) spent.push_back(end - begin);
    }
}

void measure_polls(speed_subject& on, double gate) {
    IB_CQ* cq = create_cq(on.ca(), 128);
    ibv_cq* raw = speed_subject::raw();
    caller by;
    std::array<IB_WC, at_once> entries;
    std::array<ibv_wc, at_once> raw_entries;
    const auto straight = [&] {
        ULONG taken = 0;
        CiGetCqResults(cq, at_once, entries.data(), &taken);
        return static_cast<int>(taken);
    };
    const auto by_irp = [&] {
        return static_cast<int>(
            by.call_inside([&](IRP* irp) { return CiPollCq(cq, at_once, entries.data(), irp); }));
    };
    const auto by_library = [&] { return ibv_poll_cq(raw, at_once, raw_entries.data()); };
    std::vector<double> ours, irps, alone, ours_full, irps_full, alone_full, clock;
    // The order rotates, since the kernel still works after the queue was filled and slows the
    // first.
    const std::array<std::function<void()>, 3> empty = {
        [&] { ours.push_back(time_of(50, straight)); },
        [&] { alone.push_back(time_of(50, by_library)); },
        [&] { irps.push_back(time_of(50, by_irp)); }};
    const std::array<std::function<void()>, 3> filled = {
        [&] { time_full_polls(on, straight, ours_full); },
        [&] { time_full_polls(on, by_library, alone_full); },
        [&] { time_full_polls(on, by_irp, irps_full); }};
    for (unsigned i = 0; i < rounds; ++i) {
        for (unsigned k = 0; k < 3; ++k)
            empty[(i + k) % 3]();
        for (unsigned k = 0; k < 3; ++k)
            filled[(i + k) % 3]();
        clock.push_back(time_of(50, [] { now(); }));
    }
    const double measuring = median(clock);
    const double full = median(alone_full) - measuring;
    note("ibv_poll_cq, empty", median(alone), "ns");
    note("ibv_poll_cq, 16 entries", full, "ns");
    report("CiGetCqResults, empty / ibv_poll_cq", median(ours) / median(alone), "", 1.15, gate);
    report("CiGetCqResults, 16 entries / ibv_poll_cq", (median(ours_full) - measuring) / full, "",
           1.15, gate);
    note("    as an IRP, empty", median(irps) / median(alone), "");
    note("    as an IRP, 16 entries", (median(irps_full) - measuring) / full, "");
    on.stop_completing();
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

// ---- posts

constexpr unsigned posts_at_once = 8;

/// A queue pair that is connected to itself, and writes into its own memory.
class writer {
public:
    explicit writer(IB_CA* ca)
        : domain_(allocate_pd(ca)), cq_(create_cq(ca, 64)),
          region_(register_mr(domain_, bytes_.data(), bytes_.size(),
                              IB_AC_LOCAL_WRITE | IB_AC_RDMA_WRITE)) {
        ib_qp_create_t wanted = small_qp(cq_);
        wanted.sq_depth = 4 * posts_at_once;
        pair_ = create_qp(domain_, wanted);
        ci::rtr_attributes path;
        path.av.port_num = 1;
        path.av.grh_valid = TRUE;
        path.av.grh.dest_gid = *IbPortGid(&*port_block(ca, 1), 0);
        path.av.grh.hop_limit = 1;
        path.dest_qp = pair_->Num;
        constexpr ib_qp_type_t type = IB_QPT_RELIABLE_CONN;
        EXPECT_EQ(modify_qp(pair_, ci::to_init(type, {.access = IB_AC_RDMA_WRITE})),
                  STATUS_SUCCESS);
        EXPECT_EQ(modify_qp(pair_, ci::to_rtr(type, path)), STATUS_SUCCESS);
        EXPECT_EQ(modify_qp(pair_, ci::to_rts(type)), STATUS_SUCCESS);
    }
    ~writer() {
        EXPECT_EQ(destroy_qp(pair_), STATUS_SUCCESS);
        EXPECT_EQ(deregister_mr(region_), STATUS_SUCCESS);
        EXPECT_EQ(destroy_cq(cq_), STATUS_SUCCESS);
        EXPECT_EQ(deallocate_pd(domain_), STATUS_SUCCESS);
    }
    writer(const writer&) = delete;
    writer& operator=(const writer&) = delete;

    void post() {
        ib_local_ds_t segment{address(), 64, region_->LKey};
        ib_send_wr_t what{};
        what.ds_array = &segment;
        what.num_ds = 1;
        what.wr_type = WR_RDMA_WRITE;
        what.send_opt = IB_SEND_OPT_SIGNALED;
        what.remote_ops = {address() + 64, 0, 0, region_->RKey};
        EXPECT_EQ(CiPostSend(pair_, &what, nullptr), STATUS_SUCCESS);
    }
    /// Posts to the same queue pair by libibverbs.
    void post_by_library() {
        ibv_sge segment{address(), 64, region_->LKey};
        ibv_send_wr what{};
        what.sg_list = &segment;
        what.num_sge = 1;
        what.opcode = IBV_WR_RDMA_WRITE;
        what.send_flags = IBV_SEND_SIGNALED;
        what.wr.rdma.remote_addr = address() + 64;
        what.wr.rdma.rkey = region_->RKey;
        ibv_send_wr* bad = nullptr;
        EXPECT_EQ(ibv_post_send(raw(), &what, &bad), 0);
    }
    void await(unsigned count) {
        std::array<IB_WC, posts_at_once> entries;
        while (count != 0) {
            ULONG taken = 0;
            CiGetCqResults(cq_, count, entries.data(), &taken);
            for (ULONG i = 0; i < taken; ++i)
                EXPECT_EQ(entries[i].Status, ULONG{IB_WC_SUCCESS});
            count -= taken;
        }
    }

private:
    ULONGLONG address() { return reinterpret_cast<std::uintptr_t>(bytes_.data()); }
    ibv_qp* raw() const {
        const auto* posts = reinterpret_cast<const HCA_QP_POSTS*>(pair_ + 1);
        return static_cast<hca_rdma::post_target*>(posts->Queue)->pair;
    }

    IB_PD* domain_;
    IB_CQ* cq_;
    std::array<UCHAR, 128> bytes_{};
    IB_MR* region_;
    IB_QP* pair_ = nullptr;
};

// The kernel transports during the post, so several posts before a wait cost what single ones do.
void measure_posts(const speed_subject& on, double gate) {
    writer by(on.ca());
    std::vector<double> ours, alone;
    const std::array<std::function<void()>, 2> both = {
        [&] { ours.push_back(time_of(posts_at_once, [&] { by.post(); })); },
        [&] { alone.push_back(time_of(posts_at_once, [&] { by.post_by_library(); })); }};
    for (unsigned i = 0; i < 2 * rounds; ++i) {
        both[i % 2]();
        by.await(posts_at_once);
    }
    note("ibv_post_send", median(alone), "ns");
    report("CiPostSend / ibv_post_send", median(ours) / median(alone), "", 1.03, gate);
}

// ---- a query

void measure_query(speed_subject& on, ibv_context* raw, double gate) {
    caller by;
    IB_PORT_ATTR attr{};
    std::vector<double> ours, alone, trip;
    for (unsigned i = 0; i < rounds; ++i) {
        ours.push_back(time_of(1, [&] {
            by.call([&](IRP* irp) { return CiQueryPort(on.ca(), 1, sizeof(attr), &attr, irp); });
        }));
        alone.push_back(time_of(1, [&] {
            ibv_port_attr port{};
            speed_subject::library().query_port(raw, 1, &port);
        }));
        trip.push_back(time_of(1, [&] { by.round_trip(); }));
    }
    note("CiQueryPort, end to end", median(ours) / 1000, "us");
    note("ibv_query_port", median(alone) / 1000, "us");
    note("a work item, there and back", median(trip) / 1000, "us");
    report("CiQueryPort / (ibv_query_port + 2 work items)",
           median(ours) / (median(alone) + 2 * median(trip)), "", 1, gate);
}

// ---- 1,000 creates at a time

/// Ticks of a processor since the start: in programs, in the kernel, and idle.
struct processor_time {
    double user, kernel, idle;
};
std::vector<processor_time> processor_times() {
    std::vector<processor_time> all;
    std::ifstream in("/proc/stat");
    for (std::string line; std::getline(in, line) && line.starts_with("cpu");) {
        std::istringstream words(line);
        std::string name;
        double user = 0, nice = 0, kernel = 0, idle = 0, io = 0, hard = 0, soft = 0;
        words >> name >> user >> nice >> kernel >> idle >> io >> hard >> soft;
        if (name != "cpu") all.push_back({user + nice, kernel + hard + soft, idle + io});
    }
    return all;
}

/// Creates as many queues as there are calls, and runs `activity` until all exist; returns them.
template <class Activity>
std::vector<IB_CQ*> create_many(speed_subject& on, ULONG entries, std::vector<verb_call>& calls,
                                const Activity& activity) {
    for (verb_call& each : calls)
        each.send(
            [&](IRP* irp) { return CiCreateCq(on.ca(), entries, nullptr, nullptr, nullptr, irp); });
    while (!std::ranges::all_of(calls, &verb_call::done))
        activity();
    std::vector<IB_CQ*> made;
    for (verb_call& each : calls)
        made.push_back(each.object<IB_CQ>());
    return made;
}

void destroy_all(const std::vector<IB_CQ*>& all) {
    for (IB_CQ* each : all)
        EXPECT_EQ(destroy_cq(each), STATUS_SUCCESS);
}

constexpr unsigned creates = 1000;
constexpr ULONG entries_of_each = 1024;

// The caller sleeps, so the processors are busy with the creates only.
void measure_processors(speed_subject& on) {
    std::vector<verb_call> calls(creates);
    const std::vector<processor_time> before = processor_times();
    const auto sleep_a_while = [&] {
        for (verb_call& each : calls)
            each.status();
    };
    const std::vector<IB_CQ*> made = create_many(on, entries_of_each, calls, sleep_a_while);
    const std::vector<processor_time> after = processor_times();
    double all_idle = 0;
    for (std::size_t i = 0; i < after.size(); ++i) {
        const double user = after[i].user - before[i].user;
        const double kernel = after[i].kernel - before[i].kernel;
        const double idle = after[i].idle - before[i].idle;
        const std::string which = "1,000 creates: processor " + std::to_string(i);
        report((which + " not in the kernel").c_str(), 100 * (user + idle) / (user + kernel + idle),
               "%", 10, 0);
        all_idle += 100 * idle / (user + kernel + idle);
    }
    // Creates one after the other would leave half of two processors idle. The gate is higher than
    // the bar, since other load may keep one processor busy longer than the other.
    report("1,000 creates: processors idle", all_idle / static_cast<double>(after.size()), "%", 10,
           35);
    destroy_all(made);
}

// The caller works: it gets its share of a processor, and each of its calls returns at once.
void measure_caller(speed_subject& on) {
    std::vector<verb_call> calls(creates);
    volatile unsigned work = 0;
    const double begin = now();
    const double begin_of_caller = now(CLOCK_THREAD_CPUTIME_ID);
    double sent = 0;
    const std::vector<IB_CQ*> made = create_many(on, entries_of_each, calls, [&] {
        if (sent == 0) sent = now() - begin;
        for (unsigned i = 0; i < 1000; ++i)
            work = work + 1;
    });
    const double whole = now() - begin;
    const double own = now(CLOCK_THREAD_CPUTIME_ID) - begin_of_caller;
    note("1,000 creates, all", whole / 1e6, "ms");
    report("of these, until all calls had returned", 100 * sent / whole, "%", 10, 25);
    report("of these, the caller did not work", 100 * (1 - own / whole), "%", 50, 65);
    destroy_all(made);
}

void measure_creates(speed_subject& on) {
    measure_processors(on);
    measure_caller(on);
}

void measure(const char* name, const std::string& device) {
    std::printf("%s\n", name);
    speed_subject on(device);
    IB_CQ* some = create_cq(on.ca());
    ibv_context* context = speed_subject::raw()->context;
    measure_polls(on, 1.5);
    measure_query(on, context, 1.25);
    if (!on.is_fake()) measure_posts(on, 1.1); // the scripted kernel transports nothing
    if (!on.is_fake()) measure_creates(on);    // its creates take no time
    EXPECT_EQ(destroy_cq(some), STATUS_SUCCESS);
}

} // namespace

int main(int count, char** words) {
    dispatch::asio_machine machine{{.processors = 2}};
    const dispatch::machine::scope inside{machine};
    measure("scripted kernel", "");
    if (count > 1) measure(words[1], words[1]);
    return all_gates_met ? 0 : 1;
}
