// The memory of IRPs: allocation, reinitialisation, free.
#include "hooks.hpp"
#include "ledger.hpp"
#include "quarantine.hpp"
#include "veil.hpp"

#include "../packet.hpp"

#include <dispatch/detail/checks.hpp>

#include <cstdlib>

namespace irpverbs::irp::verify {
namespace {

draft* check_not_in_use(ledger& book, const record& irp, const char* what) {
    const std::string name = std::string(what) + " irp#" + std::to_string(irp.generation);
    if (irp.stage == stage::freed)
        return &book.broken(rule::UseAfterFree, &irp, name + ", which was freed")
                    .with("freed at", irp.freed_at);
    if (irp.stage == stage::sent)
        return &book.broken(rule::InitializedInUse, &irp, name + ", which a driver has")
                    .with("sent at", irp.sent_at);
    return nullptr;
}

} // namespace

void begin_life(IRP* irp, origin made) {
    core::introduce_slow(irp, "irp");
    if (!tracking()) return;
    core::processor& self = core::this_processor();
    ledger& book = ledger::of(self);
    const std::lock_guard guard(book.lock);
    const record* before = book.find(irp);
    const bool again = made == origin::found;
    if (again && before != nullptr) made = before->made;
    record& fresh = book.born(irp, made, irp->StackCount);
    fresh.made_at = core::capture_stack(2);
    book.note(self, fresh, again ? "made new by IoReuseIrp" : name_of(made));
}

void built(IRP* irp, origin made) {
    if (!tracking()) return;
    core::processor& self = core::this_processor();
    ledger& book = ledger::of(self);
    const std::lock_guard guard(book.lock);
    record* known = book.find(irp);
    if (known == nullptr) return;
    known->made = made;
    book.note(self, *known, name_of(made));
}

void check_initialize(IRP* irp) {
    if (!tracking()) return;
    ledger& book = ledger::of(core::this_processor());
    draft* told = nullptr;
    {
        const std::lock_guard guard(book.lock);
        const record* before = book.find(irp);
        if (before == nullptr) return;
        told = check_not_in_use(book, *before, "IoInitializeIrp is given");
        if (told == nullptr && before->made == origin::allocated)
            told = &book.broken(rule::InitializedAllocated, before,
                                "IoInitializeIrp is given irp#" +
                                    std::to_string(before->generation) + " of IoAllocateIrp")
                        .with("allocated at", before->made_at);
    }
    if (told != nullptr) unveil_locations(irp); // it is initialised again all the same
    tell(book, told);
}

bool check_reuse(IRP* irp) {
    if (!tracking()) return true;
    ledger& book = ledger::of(core::this_processor());
    draft* told = nullptr;
    {
        const std::lock_guard guard(book.lock);
        const record* before = book.find(irp);
        if (before == nullptr) return true;
        told = check_not_in_use(book, *before, "IoReuseIrp is given");
        if (told == nullptr && before->made != origin::allocated && before->made != origin::found)
            told = &book.broken(rule::IoReuseIrp, before,
                                "IoReuseIrp is given irp#" + std::to_string(before->generation) +
                                    ", which IoAllocateIrp did not make");
    }
    tell(book, told);
    return told == nullptr;
}

static draft* judge_free(ledger& book, const record& known) {
    const std::string name = "IoFreeIrp is given irp#" + std::to_string(known.generation);
    if (known.stage == stage::freed)
        return &book.broken(known.made == origin::built_async_fsd ? rule::IoBuildFsdFree
                                                                  : rule::IoAllocateFree,
                            &known, name + ", which was freed before")
                    .with("freed at", known.freed_at);
    if (known.stage == stage::sent)
        return &book.broken(rule::FreedInUse, &known, name + ", which a driver has")
                    .with("sent at", known.sent_at);
    if (known.made == origin::initialized)
        return &book.broken(rule::IoAllocateFree, &known,
                            name + ", which IoAllocateIrp did not make");
    const bool control = known.made == origin::built_device_control;
    if ((!control && known.made != origin::built_sync_fsd) || known.at_top) return nullptr;
    return &book.broken(control ? rule::IoBuildDeviceControlNoFree
                                : rule::IoBuildSynchronousFsdRequestNoFree,
                        &known, name + ", which the system frees")
                .with("built at", known.made_at);
}

bool check_free(IRP* irp) {
    if (!tracking()) return true;
    ledger& book = ledger::of(core::this_processor());
    draft* told = nullptr;
    {
        const std::lock_guard guard(book.lock);
        if (const record* known = book.find(irp)) told = judge_free(book, *known);
    }
    tell(book, told);
    return told == nullptr;
}

bool freed_as_pool(const void* memory) {
    if (!tracking()) return false;
    ledger& book = ledger::of(core::this_processor());
    draft* told = nullptr;
    {
        const std::lock_guard guard(book.lock);
        const record* known = book.find(static_cast<const IRP*>(memory));
        if (known == nullptr || known->made == origin::found || known->made == origin::initialized)
            return false; // the caller's own memory
        const bool freed = known->stage == stage::freed;
        told = &book.broken(rule::IrpFreedAsPool, known,
                            "ExFreePool is given irp#" + std::to_string(known->generation))
                    .with(freed ? "freed at" : name_of(known->made),
                          freed ? known->freed_at : known->made_at);
    }
    tell(book, told);
    return true;
}

void end_life(IRP* irp) {
    if (!tracking()) {
        std::free(irp);
        return;
    }
    core::processor& self = core::this_processor();
    ledger& book = ledger::of(self);
    draft* told = nullptr;
    {
        const std::lock_guard guard(book.lock);
        record& known = book.known(irp);
        known.stage = stage::freed;
        ++known.turn;
        known.freed_at = core::capture_stack(2);
        book.note(self, known, "freed");
        told = keep_back(book, irp);
    }
    tell(book, told);
}

} // namespace irpverbs::irp::verify
