// Changes of lists by driver code that is compiled with IRPVERBS_CHECKED_INLINES. The switch lies
// between the load of a neighbour and its check, so that a change of the list without the same lock
// is found by the first schedule that puts it there.
#include <dispatch/ntdef.h>
#include <dispatch/support/checks.hpp>
#include <dispatch/support/processor.hpp>

using namespace irpverbs::dispatch::detail;

namespace {

constexpr ULONG_PTR corrupt_list_entry = 3; // FAST_FAIL_CORRUPT_LIST_ENTRY

bool is_linked(const LIST_ENTRY* previous, const LIST_ENTRY* entry, const LIST_ENTRY* next) {
    if (previous == nullptr || next == nullptr) return false;
    if (entry == nullptr) return previous->Flink == next && next->Blink == previous;
    return previous->Flink == entry && next->Blink == entry;
}

} // namespace

extern "C" void CheckListLinks(const LIST_ENTRY* previous, const LIST_ENTRY* entry,
                               const LIST_ENTRY* next) {
    sched_point(point::interlocked, entry);
    if (is_linked(previous, entry, next)) return;
    bug_check(KERNEL_SECURITY_CHECK_FAILURE,
              entry != nullptr
                  ? "an entry is removed from a list that does not hold it: it was removed before, "
                    "or another changes the list without the same lock"
                  : "an entry is inserted into a list whose links do not match: another changes it "
                    "without the same lock, or an entry of it was freed or inserted twice",
              corrupt_list_entry, reinterpret_cast<ULONG_PTR>(entry));
}
