#include "standard.hpp"

#include "irql_rules.hpp"
#include "read_write.hpp"

#include <dispatch/support/live_objects.hpp>
#include <irp/support/critical_region.hpp>
#include <windows/wdk/bug_codes.h>
#include <windows/wdk/exceptions.h>

using namespace irpverbs::windows;
using namespace irpverbs::dispatch::detail;
using namespace irpverbs::irp::verify;

namespace {

// The first parameters of bug check 0xC4.
constexpr ULONG_PTR acquire_id = 0x37;
constexpr ULONG_PTR release_id = 0x38;

void check_acquisition(const irql_rule& rule, const ERESOURCE* resource) {
    if (!verifying()) return;
    check_irql_of(rule);
    check_critical_region(resource, rule.function, acquire_id);
}

enum class patience { usual, starve_exclusive, wait_for_exclusive };

bool is_exclusive(const ERESOURCE& resource) {
    return (resource.Flag & RESOURCE_OWNED_EXCLUSIVE) != 0;
}

// The entry of a holder, or null.
OWNER_ENTRY* entry_of(ERESOURCE& resource, ERESOURCE_THREAD who) {
    if (is_exclusive(resource))
        return resource.OwnerEntry.OwnerThread == who ? &resource.OwnerEntry : nullptr;
    OWNER_ENTRY* const end = resource.OwnerTable + resource.ActiveEntries;
    OWNER_ENTRY* const found = std::find_if(
        resource.OwnerTable, end, [=](const OWNER_ENTRY& each) { return each.OwnerThread == who; });
    return found == end ? nullptr : found;
}

// The table has room for a power of two.
void add_entry(ERESOURCE& resource, ERESOURCE_THREAD who, LONG count) {
    const ULONG entries = resource.ActiveEntries;
    if (entries == 0 || std::has_single_bit(entries)) {
        const std::size_t room = entries == 0 ? 1 : std::size_t{entries} * 2;
        void* const table = std::realloc(resource.OwnerTable, room * sizeof(OWNER_ENTRY));
        if (table == nullptr) ExRaiseStatus(STATUS_INSUFFICIENT_RESOURCES);
        resource.OwnerTable = static_cast<OWNER_ENTRY*>(table);
    }
    resource.OwnerTable[entries] = {who, count, 0};
    resource.ActiveEntries = entries + 1;
    ++resource.ActiveCount;
}

void remove_entry(ERESOURCE& resource, OWNER_ENTRY& gone) {
    if (is_exclusive(resource)) {
        resource.Flag = static_cast<USHORT>(resource.Flag & ~RESOURCE_OWNED_EXCLUSIVE);
        gone = {};
    } else {
        gone = resource.OwnerTable[--resource.ActiveEntries];
    }
    --resource.ActiveCount;
}

bool enter_exclusive(ERESOURCE& resource) {
    const ERESOURCE_THREAD self = ExGetCurrentResourceThread();
    if (is_exclusive(resource) && resource.OwnerEntry.OwnerThread == self) {
        ++resource.OwnerEntry.OwnerCount;
        return true;
    }
    if (resource.ActiveCount != 0) return false;
    resource.OwnerEntry = {self, 1, 0};
    resource.Flag |= RESOURCE_OWNED_EXCLUSIVE;
    resource.ActiveCount = 1;
    return true;
}

bool enter_shared(ERESOURCE& resource, patience how) {
    const ERESOURCE_THREAD self = ExGetCurrentResourceThread();
    OWNER_ENTRY* const mine = entry_of(resource, self);
    if (is_exclusive(resource) && mine == nullptr) return false;
    const bool yields = how == patience::wait_for_exclusive || mine == nullptr;
    if (yields && how != patience::starve_exclusive && !is_exclusive(resource) &&
        resource.NumberOfExclusiveWaiters != 0)
        return false;
    if (mine != nullptr)
        ++mine->OwnerCount;
    else
        add_entry(resource, self, 1);
    return true;
}

BOOLEAN recorded(const ERESOURCE* resource, bool acquired) {
    if (acquired && verifying()) region_lock_acquired(resource);
    return acquired;
}

BOOLEAN acquire_exclusive(ERESOURCE* resource, BOOLEAN wait) {
    return recorded(resource,
                    enter_when_possible(*resource, &ERESOURCE::NumberOfExclusiveWaiters, wait,
                                        [=] { return enter_exclusive(*resource); }));
}

BOOLEAN acquire_shared(ERESOURCE* resource, BOOLEAN wait, patience how) {
    return recorded(resource,
                    enter_when_possible(*resource, &ERESOURCE::NumberOfSharedWaiters, wait,
                                        [=] { return enter_shared(*resource, how); }));
}

void release(ERESOURCE* resource, ERESOURCE_THREAD who) {
    if (verifying()) region_lock_released(resource);
    const state_guard guard(*resource);
    OWNER_ENTRY* const mine = entry_of(*resource, who);
    if (mine == nullptr)
        KeBugCheckEx(RESOURCE_NOT_OWNED, reinterpret_cast<ULONG_PTR>(resource), who, 0, 0);
    if (--mine->OwnerCount != 0) return;
    remove_entry(*resource, *mine);
    announce_change(*resource);
}

LONG acquisitions(ERESOURCE* resource) {
    const state_guard guard(*resource);
    const OWNER_ENTRY* const mine = entry_of(*resource, ExGetCurrentResourceThread());
    return mine == nullptr ? 0 : mine->OwnerCount;
}

} // namespace

extern "C" {

NTSTATUS ExInitializeResourceLite(PERESOURCE Resource) {
    if (verifying()) add_live_object(this_processor(), live_object_kind::resource, Resource);
    initialize_state(*Resource);
    return STATUS_SUCCESS;
}

NTSTATUS ExDeleteResourceLite(PERESOURCE Resource) {
    VERIFY_IRQL(ExDeleteResourceLite);
    if (verifying()) remove_live_object(live_object_kind::resource, Resource);
    std::free(Resource->OwnerTable);
    Resource->OwnerTable = nullptr;
    return STATUS_SUCCESS;
}

NTSTATUS ExReinitializeResourceLite(PERESOURCE Resource) {
    ExDeleteResourceLite(Resource);
    return ExInitializeResourceLite(Resource);
}

BOOLEAN ExAcquireResourceExclusiveLite(PERESOURCE Resource, BOOLEAN Wait) {
    check_acquisition(irql_rules::ExAcquireResourceExclusiveLite, Resource);
    return acquire_exclusive(Resource, Wait);
}

BOOLEAN ExAcquireResourceSharedLite(PERESOURCE Resource, BOOLEAN Wait) {
    check_acquisition(irql_rules::ExAcquireResourceSharedLite, Resource);
    return acquire_shared(Resource, Wait, patience::usual);
}

BOOLEAN ExAcquireSharedStarveExclusive(PERESOURCE Resource, BOOLEAN Wait) {
    check_acquisition(irql_rules::ExAcquireSharedStarveExclusive, Resource);
    return acquire_shared(Resource, Wait, patience::starve_exclusive);
}

BOOLEAN ExAcquireSharedWaitForExclusive(PERESOURCE Resource, BOOLEAN Wait) {
    check_acquisition(irql_rules::ExAcquireSharedWaitForExclusive, Resource);
    return acquire_shared(Resource, Wait, patience::wait_for_exclusive);
}

void ExReleaseResourceLite(PERESOURCE Resource) {
    VERIFY_IRQL(ExReleaseResourceLite);
    if (verifying()) check_critical_region(Resource, "ExReleaseResourceLite", release_id);
    release(Resource, ExGetCurrentResourceThread());
}

void ExReleaseResourceForThreadLite(PERESOURCE Resource, ERESOURCE_THREAD ResourceThreadId) {
    release(Resource, ResourceThreadId);
}

void ExConvertExclusiveToSharedLite(PERESOURCE Resource) {
    VERIFY_IRQL(ExConvertExclusiveToSharedLite);
    const state_guard guard(*Resource);
    const OWNER_ENTRY owner = Resource->OwnerEntry;
    remove_entry(*Resource, Resource->OwnerEntry);
    add_entry(*Resource, owner.OwnerThread, owner.OwnerCount);
    announce_change(*Resource);
}

void ExSetResourceOwnerPointer(PERESOURCE Resource, PVOID OwnerPointer) {
    if (verifying()) region_lock_released(Resource);
    const state_guard guard(*Resource);
    OWNER_ENTRY* const mine = entry_of(*Resource, ExGetCurrentResourceThread());
    if (mine != nullptr) mine->OwnerThread = reinterpret_cast<ERESOURCE_THREAD>(OwnerPointer);
}

void ExSetResourceOwnerPointerEx(PERESOURCE Resource, PVOID OwnerPointer, ULONG) {
    ExSetResourceOwnerPointer(Resource, OwnerPointer);
}

BOOLEAN ExIsResourceAcquiredExclusiveLite(PERESOURCE Resource) {
    return acquisitions(Resource) != 0 && is_exclusive(*Resource);
}

ULONG ExIsResourceAcquiredSharedLite(PERESOURCE Resource) {
    return static_cast<ULONG>(acquisitions(Resource));
}

ULONG ExGetExclusiveWaiterCount(PERESOURCE Resource) { return Resource->NumberOfExclusiveWaiters; }
ULONG ExGetSharedWaiterCount(PERESOURCE Resource) { return Resource->NumberOfSharedWaiters; }

PVOID ExEnterCriticalRegionAndAcquireResourceExclusive(PERESOURCE Resource) {
    KeEnterCriticalRegion();
    acquire_exclusive(Resource, TRUE);
    return nullptr;
}

PVOID ExEnterCriticalRegionAndAcquireResourceShared(PERESOURCE Resource) {
    KeEnterCriticalRegion();
    acquire_shared(Resource, TRUE, patience::usual);
    return nullptr;
}

PVOID ExEnterCriticalRegionAndAcquireSharedWaitForExclusive(PERESOURCE Resource) {
    KeEnterCriticalRegion();
    acquire_shared(Resource, TRUE, patience::wait_for_exclusive);
    return nullptr;
}

void ExReleaseResourceAndLeaveCriticalRegion(PERESOURCE Resource) {
    ExReleaseResourceLite(Resource);
    KeLeaveCriticalRegion();
}

void ExDisableResourceBoostLite(PERESOURCE) {}

} // extern "C"
