// A management transaction inside this library: id, timer, pended IRP, response matched by id,
// callback. This is the work of ibmf's port for each request, without the HCA driver's.
#include "measurements.hpp"
#include "ours_stack.hpp"
#include "transaction_load.hpp"

#include <engine/transaction_table.hpp>

#include <array>

namespace irpverbs::bench {
namespace {

using ibmf::transaction;
using ibmf::transaction_table;

class exchange final : public transaction_table {
public:
    std::uint32_t begin(PIRP irp) {
        guard locked(*this);
        transaction* const fresh = acquire();
        expect(fresh != nullptr && pend(irp, *fresh), "a transaction begins");
        set_due(*fresh, locked.clock_upper_bound() + time_out);
        return fresh->slot.key;
    }
    void respond(std::uint32_t key) {
        guard locked(*this);
        transaction* const found = find(key);
        expect(found != nullptr, "a transaction is found");
        PIRP const irp = claim(*found);
        release(*found);
        locked.complete(irp, STATUS_SUCCESS, bench::result_information);
    }

private:
    static constexpr ibmf::ticks time_out = 4000 * ibmf::rmpp::second;

    void expired(guard&, transaction&, ibmf::ticks) override { expect(false, "no time-out"); }
    void cancelled(guard&, transaction&, PIRP) override { expect(false, "no cancel"); }
};

// Returns the id through the request's stack location.
NTSTATUS begin_transaction(PDEVICE_OBJECT device, PIRP irp) {
    auto& table = *static_cast<exchange*>(context_of(device));
    auto& key = *static_cast<std::uint32_t*>(
        IoGetCurrentIrpStackLocation(irp)->Parameters.Others.Argument1);
    key = table.begin(irp);
    return STATUS_PENDING;
}

class ours {
public:
    explicit ours(std::size_t count) : stack_(begin_transaction, 0, &table_), keys_(count) {
        for (std::size_t i = 0; i < count; ++i)
            packets_.push_back(IoAllocateIrp(1, FALSE));
    }
    ours(const ours&) = delete;
    ours& operator=(const ours&) = delete;
    ~ours() {
        for (std::size_t i = 0; i < keys_.size(); ++i)
            respond(i);
        table_.stop_timers();
        for (PIRP each : packets_)
            IoFreeIrp(each);
    }
    void begin(std::size_t index) {
        PIRP const irp = packets_[index];
        IoReuseIrp(irp, STATUS_SUCCESS);
        PIO_STACK_LOCATION next = IoGetNextIrpStackLocation(irp);
        next->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
        next->Parameters.Others.Argument1 = &keys_[index];
        IoSetCompletionRoutine(irp, count_and_keep, &sum_, TRUE, TRUE, TRUE);
        IoCallDriver(stack_.top(), irp);
    }
    void respond(std::size_t index) { table_.respond(keys_[index]); }
    void turn() {}
    std::uint64_t responses() const { return sum_ / bench::result_information; }

private:
    exchange table_;
    device_stack stack_;
    std::vector<std::uint32_t> keys_;
    std::vector<PIRP> packets_;
    std::uint64_t sum_ = 0;
};

} // namespace

namespace {

/// With a thousand ids outstanding, finds and frees the oldest and allocates a new one.
void transaction_ids(run& sample) {
    struct entry {
        ibmf::table_slot slot;
    };
    ibmf::slot_table<entry> table;
    std::array<std::uint32_t, outstanding_ids> keys{};
    for (std::uint32_t& each : keys)
        each = table.acquire([](entry&, auto&) {})->slot.key;
    const std::uint64_t operations = sample.operations();
    std::uint64_t found = 0;
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i) {
        std::uint32_t& key = keys[i % keys.size()];
        entry* const oldest = table.find(key);
        found += oldest != nullptr;
        table.release(*oldest);
        key = table.acquire([](entry&, auto&) {})->slot.key;
    }
    sample.stop();
    expect(found == operations, "ours/transaction_id");
}

} // namespace

void add_ours_transactions(catalog& all) {
    add_transaction_load<ours>(all, "ours");
    all.add("ours/transaction_id", "of 1,000 ids one is found and freed, and another allocated",
            transaction_ids);
}

} // namespace irpverbs::bench
