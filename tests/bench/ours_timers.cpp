// KeSetTimer and KeCancelTimer under the load of timer_load.hpp, and the least that keeps timers in
// the order of their deadlines.
#include "measurements.hpp"
#include "timer_load.hpp"

#include <dispatch/ke.h>

#include <vector>

namespace irpverbs::bench {
namespace {

// The load's time begins far in the future, so no timer expires.
class ke_timers {
public:
    explicit ke_timers(std::size_t count) : requests_(count) {
        for (request& each : requests_)
            KeInitializeTimer(&each.timer);
    }
    ~ke_timers() {
        for (request& each : requests_)
            KeCancelTimer(&each.timer);
    }
    ke_timers(const ke_timers&) = delete;
    ke_timers& operator=(const ke_timers&) = delete;

    void arm(std::size_t index, std::uint64_t deadline) {
        LARGE_INTEGER due;
        due.QuadPart = -static_cast<LONGLONG>(beginning + deadline / nanoseconds_in_unit);
        KeSetTimer(&requests_[index].timer, due, nullptr);
    }
    void cancel(std::size_t index) { KeCancelTimer(&requests_[index].timer); }
    void turn() {}

private:
    static constexpr std::uint64_t nanoseconds_in_unit = 100;
    static constexpr std::uint64_t beginning = 10'000ull * 3600 * 10'000'000; // hours
    struct alignas(128) request {                                             // as a record is
        KTIMER timer;
    };
    std::vector<request> requests_;
};

// The limit of timers with equal time-outs: a list in the order of arming, without a lock, a clock
// or slots. Each cancellation has to write both neighbours.
class linked_records {
public:
    explicit linked_records(std::size_t count) : records_(count) { InitializeListHead(&armed_); }

    void arm(std::size_t index, std::uint64_t deadline) {
        records_[index].deadline = deadline;
        InsertTailList(&armed_, &records_[index].entry);
    }
    void cancel(std::size_t index) { RemoveEntryList(&records_[index].entry); }
    void turn() {}

private:
    struct alignas(128) record {
        LIST_ENTRY entry;
        std::uint64_t deadline;
    };
    std::vector<record> records_;
    LIST_ENTRY armed_;
};

} // namespace

void add_ours_timers(catalog& all) {
    add_timer_load<ke_timers>(all, "ours");
    add_timer_load<linked_records>(all, "limit");
}

} // namespace irpverbs::bench
