// The records of one machine, and findings made from them.
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

/// A finding that is ready to be told. The ledger owns it: the one who tells may never come back.
struct draft {
    core::finding found;
    core::call_stack stacks[3];
    std::size_t stack_count = 0;
    // Of an IRP's history, for a finding that has no stack of its own but the one it is told at.
    const char* last_known = nullptr;
    core::call_stack last_known_at;

    draft& with(const char* label, const core::call_stack& where);
    draft& parameters(ULONG_PTR p2, ULONG_PTR p3 = 0, ULONG_PTR p4 = 0);
};

struct remove_lock_record {
    struct holder {
        void* tag;
        std::uint64_t within;  // the dispatch routine that acquired it; 0: none, or told
        std::uint64_t request; // that routine's IRP, by generation; 0: in no dispatch routine
        core::call_stack where;
    };
    std::uint32_t number = 0;
    bool watched = false;                  // from its initialisation on
    bool removed = false;                  // nobody acquires it any more
    const DEVICE_OBJECT* device = nullptr; // by identity: whose dispatch routines acquire it
    std::vector<holder> holders;
    core::call_stack released_at; // last
};

struct device_record {
    std::uint32_t number = 0;
    bool deleted = false;
    bool start_io_cancelable = false;          // as IoSetStartIoAttributes was told
    bool cancel_lock_required = false;         // as VerifierRequireCancelLock was told
    const core::processor* starting = nullptr; // is in its DriverStartIo
    std::uint32_t lent = 0;                    // references of IoGetAttachedDeviceReference
    core::call_stack deleted_at;
    core::call_stack lent_at;
    std::deque<event> log;
};

/// A completion that was held back, on its way.
struct delivery {
    KDPC dpc{};
    IRP* irp = nullptr;
};

struct trace_log; // tracing.hpp

struct totals {
    std::uint64_t tracked = 0;
    std::uint64_t outstanding = 0;
    std::uint64_t calls = 0;
    std::uint64_t completions = 0;
    std::uint64_t cancels = 0;
    std::uint64_t forced = 0;
    std::uint64_t warnings = 0;
};

/// Everything in it is guarded by `lock`, under which nothing calls out; an IRP's memory is
/// looked at only where a record says under the same lock that no completion has taken it away.
class ledger {
public:
    static ledger& of(core::processor& self);

    explicit ledger() = default;
    ~ledger();
    ledger(const ledger&) = delete;
    ledger& operator=(const ledger&) = delete;

    core::raw_spin lock;

    record* find(const IRP* irp);
    /// The record of an IRP that is alive; made when there is none.
    record& known(IRP* irp);
    /// A new life begins at that address.
    record& born(IRP* irp, origin made, CCHAR stack_count);
    void hold(record& which) { ++which.references; }
    void release(record& which); // takes the lock itself
    /// The IRP is gone for good.
    void forget(const IRP* irp);

    /// Something happened to the IRP: into its history, the device's ring and the trace.
    void note(core::processor& self, record& irp, const char* what, int location = 0,
              std::uint32_t device_number = 0);
    void note(core::processor& self, record& irp, const char* what, int location,
              std::uint32_t device_number, NTSTATUS status);

    device_record& device(const DEVICE_OBJECT* which);

    /// A rule was broken. The text is what a person needs beside the rule's meaning.
    draft& broken(rule which, const record* irp, std::string text);

    std::map<const DEVICE_OBJECT*, device_record> devices;
    std::unordered_map<const void*, remove_lock_record> remove_locks;
    std::uint64_t holders = 0; // dispatch routines that acquired one, so far
    /// Who waits without a time-out, and for what.
    std::unordered_map<const core::processor*, const void*> waiting;
    std::deque<event> trace;
    std::uint64_t trace_dropped = 0; // older ones, for want of trace_limit
    trace_log* recording = nullptr;  // null: nobody wants one
    totals counted;
    std::vector<std::unique_ptr<delivery>> deliveries;
    /// Freed packets that are kept back, oldest first.
    std::deque<IRP*> quarantine;
    std::unordered_map<const IRP*, std::unique_ptr<record>> records;

private:
    friend void tell(ledger& book, draft* what);
    void begin(core::processor& self);
    void remember(core::processor& self, record& irp, event what);
    void retire(std::unique_ptr<record> old);

    std::atomic<std::uint32_t> configured_{0};
    std::uint64_t generations_ = 0;
    std::uint32_t device_numbers_ = 0;
    std::vector<std::unique_ptr<record>> past_; // still stood on
    std::vector<std::unique_ptr<draft>> drafts_;
};

/// Reports it, if there is one; not under the lock.
void tell(ledger& book, draft* what);

/// Who is calling, for people: "cancel", "processor 3".
std::string actor_of(const core::processor& self);

std::string hex(std::uint64_t value);
std::string status_text(NTSTATUS status);
std::string device_text(std::uint32_t number);

} // namespace irpverbs::irp::verify
