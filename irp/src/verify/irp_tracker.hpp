// The records of one machine's IRPs, and the findings made from them.
#pragma once

#include "frames.hpp"
#include "record.hpp"
#include "rules.hpp"

#include <dispatch/machine.hpp>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace irpverbs::irp::verify {

/// A finding that is ready to be reported. The tracker owns it: a bug-check handler may unwind or
/// end the reporting thread.
struct pending_report {
    core::finding found;
    core::call_stack stacks[3];
    std::size_t stack_count = 0;
    // From an IRP's history, for a finding whose only own stack is the one of its report.
    const char* last_known = nullptr;
    core::call_stack last_known_at;

    pending_report& with(const char* label, const core::call_stack& where);
    pending_report& parameters(ULONG_PTR p2, ULONG_PTR p3 = 0, ULONG_PTR p4 = 0);
};

struct remove_lock_record {
    struct holder {
        void* tag;
        std::uint64_t within; // the dispatch routine that acquired it; 0: none, or already reported
        std::uint64_t request; // generation of that routine's IRP; 0: in no dispatch routine
        core::call_stack where;
    };
    std::uint32_t number = 0;
    bool watched = false;                  // its initialisation was seen
    bool removed = false;                  // later acquisitions fail
    const DEVICE_OBJECT* device = nullptr; // only its identity: its dispatch routines acquire it
    std::vector<holder> holders;
    core::call_stack released_at; // last
};

struct device_record {
    std::uint32_t number = 0;
    bool deleted = false;
    bool start_io_cancelable = false;          // as set by IoSetStartIoAttributes
    bool cancel_lock_required = false;         // as set by VerifierRequireCancelLock
    const core::processor* starting = nullptr; // the processor in its DriverStartIo
    std::uint32_t references = 0;              // references of IoGetAttachedDeviceReference
    core::call_stack deleted_at;
    core::call_stack referenced_at;
    std::deque<event> log;
};

/// A deferred completion, whose DPC is queued.
struct deferred_completion {
    KDPC dpc{};
    IRP* irp = nullptr;
};

struct trace_log; // tracing.hpp

struct tracker_counters {
    std::uint64_t tracked = 0;
    std::uint64_t outstanding = 0;
    std::uint64_t calls = 0;
    std::uint64_t completions = 0;
    std::uint64_t cancels = 0;
    std::uint64_t forced = 0;
    std::uint64_t warnings = 0;
};

/// Everything in it is guarded by `lock`, under which no outside code is called. An IRP's memory is
/// read only where a record shows under the same lock that no completion has taken it away.
class irp_tracker {
public:
    static irp_tracker& of(core::processor& self);

    explicit irp_tracker() = default;
    ~irp_tracker();
    irp_tracker(const irp_tracker&) = delete;
    irp_tracker& operator=(const irp_tracker&) = delete;

    core::raw_spin_lock lock;

    record* find(const IRP* irp);
    /// The record of a live IRP; created if there is none.
    record& record_of(IRP* irp);
    /// Begins a new record for the IRP at that address.
    record& create_record(IRP* irp, origin made, CCHAR stack_count);
    void reference(record& which) { ++which.references; }
    void dereference(record& which); // acquires the lock itself
    /// Ends the record of an IRP whose memory is freed.
    void end_record(const IRP* irp);

    /// Adds an event of the IRP to its history, the device's ring and the trace.
    void log_event(core::processor& self, record& irp, const char* what, int location = 0,
                   std::uint32_t device_number = 0);
    void log_event(core::processor& self, record& irp, const char* what, int location,
                   std::uint32_t device_number, NTSTATUS status);

    device_record& device(const DEVICE_OBJECT* which);

    /// Makes the finding of a broken rule. The text adds the facts of the case to the rule's
    /// meaning.
    pending_report& violation(rule which, const record* irp, std::string text);

    std::map<const DEVICE_OBJECT*, device_record> devices;
    std::unordered_map<const void*, remove_lock_record> remove_locks;
    std::uint64_t holders = 0; // number of dispatch routines that have acquired one
    /// The processors that wait without a time-out, and the objects that they wait for.
    std::unordered_map<const core::processor*, const void*> waiting;
    std::deque<event> trace;
    std::uint64_t trace_dropped = 0; // older events beyond trace_limit
    trace_log* recording = nullptr;  // null: no recorder
    tracker_counters counters;
    std::vector<std::unique_ptr<deferred_completion>> deferred_completions;
    /// Freed IRPs in quarantine, oldest first.
    std::deque<IRP*> quarantine;
    std::unordered_map<const IRP*, std::unique_ptr<record>> records;

private:
    friend void emit(irp_tracker& tracker, pending_report* what);
    void begin(core::processor& self);
    void append_event(core::processor& self, record& irp, event what);
    void discard(std::unique_ptr<record> old);

    std::atomic<std::uint32_t> configured_{0};
    std::uint64_t generations_ = 0;
    std::uint32_t device_numbers_ = 0;
    std::vector<std::unique_ptr<record>> ended_records_; // still referenced by frames
    std::vector<std::unique_ptr<pending_report>> pending_reports_;
};

/// Reports `what`, unless it is null; the lock must not be held.
void emit(irp_tracker& tracker, pending_report* what);

/// The name of the calling actor in texts: "cancel", "processor 3".
std::string actor_of(const core::processor& self);

std::string hex(std::uint64_t value);
std::string status_text(NTSTATUS status);
std::string device_text(std::uint32_t number);

} // namespace irpverbs::irp::verify
