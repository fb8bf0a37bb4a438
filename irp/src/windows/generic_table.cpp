// Splay trees whose elements are also listed in the order of their insertion.
#include "standard.hpp"

#include <windows/wdk/rtl.h>

#include "tree_links.hpp"

using namespace irpverbs::windows;

namespace {

struct element {
    RTL_SPLAY_LINKS links;
    LIST_ENTRY order;

    static element* of(RTL_SPLAY_LINKS* node) { return CONTAINING_RECORD(node, element, links); }
    void* data() { return this + 1; }
};

void* data_of(RTL_SPLAY_LINKS* node) {
    return node == nullptr ? nullptr : element::of(node)->data();
}

void* splay(RTL_GENERIC_TABLE* table, RTL_SPLAY_LINKS* node) {
    table->TableRoot = RtlSplay(node);
    return data_of(node);
}

/* Makes the element that precedes the first the last one that RtlGetElementGenericTable found. */
void forget_place(RTL_GENERIC_TABLE* table) {
    table->OrderedPointer = &table->InsertOrderList;
    table->WhichOrderedElement = 0;
}

} // namespace

extern "C" {

void RtlInitializeGenericTable(PRTL_GENERIC_TABLE Table,
                               PRTL_GENERIC_COMPARE_ROUTINE CompareRoutine,
                               PRTL_GENERIC_ALLOCATE_ROUTINE AllocateRoutine,
                               PRTL_GENERIC_FREE_ROUTINE FreeRoutine, PVOID TableContext) noexcept {
    *Table = {};
    InitializeListHead(&Table->InsertOrderList);
    forget_place(Table);
    Table->CompareRoutine = CompareRoutine;
    Table->AllocateRoutine = AllocateRoutine;
    Table->FreeRoutine = FreeRoutine;
    Table->TableContext = TableContext;
}

PVOID RtlInsertElementGenericTable(PRTL_GENERIC_TABLE Table, PVOID Buffer, CLONG BufferSize,
                                   PBOOLEAN NewElement) {
    RTL_SPLAY_LINKS* node;
    const TABLE_SEARCH_RESULT result = search(Table, Buffer, Table->TableRoot, data_of, node);
    return RtlInsertElementGenericTableFull(Table, Buffer, BufferSize, NewElement, node, result);
}

PVOID RtlInsertElementGenericTableFull(PRTL_GENERIC_TABLE Table, PVOID Buffer, CLONG BufferSize,
                                       PBOOLEAN NewElement, PVOID NodeOrParent,
                                       TABLE_SEARCH_RESULT SearchResult) {
    auto* const at = static_cast<RTL_SPLAY_LINKS*>(NodeOrParent);
    if (NewElement != nullptr) *NewElement = FALSE;
    if (SearchResult == TableFoundNode) return splay(Table, at);
    const auto size = static_cast<CLONG>(sizeof(element) + BufferSize);
    auto* const made = static_cast<element*>(Table->AllocateRoutine(Table, size));
    if (made == nullptr) return nullptr;
    if (at == nullptr)
        RtlInitializeSplayLinks(&made->links);
    else
        insert_below(at, &made->links, SearchResult);
    InsertTailList(&Table->InsertOrderList, &made->order);
    ++Table->NumberGenericTableElements;
    memcpy(made->data(), Buffer, BufferSize);
    if (NewElement != nullptr) *NewElement = TRUE;
    return splay(Table, &made->links);
}

BOOLEAN RtlDeleteElementGenericTable(PRTL_GENERIC_TABLE Table, PVOID Buffer) {
    RTL_SPLAY_LINKS* node;
    if (search(Table, Buffer, Table->TableRoot, data_of, node) != TableFoundNode) return FALSE;
    Table->TableRoot = RtlDelete(node);
    element* const gone = element::of(node);
    RemoveEntryList(&gone->order);
    --Table->NumberGenericTableElements;
    forget_place(Table);
    Table->FreeRoutine(Table, gone);
    return TRUE;
}

PVOID RtlLookupElementGenericTable(PRTL_GENERIC_TABLE Table, PVOID Buffer) {
    PVOID node;
    TABLE_SEARCH_RESULT result;
    return RtlLookupElementGenericTableFull(Table, Buffer, &node, &result);
}

PVOID RtlLookupElementGenericTableFull(PRTL_GENERIC_TABLE Table, PVOID Buffer, PVOID* NodeOrParent,
                                       TABLE_SEARCH_RESULT* SearchResult) {
    RTL_SPLAY_LINKS* node;
    *SearchResult = search(Table, Buffer, Table->TableRoot, data_of, node);
    *NodeOrParent = node;
    return *SearchResult == TableFoundNode ? splay(Table, node) : nullptr;
}

PVOID RtlEnumerateGenericTable(PRTL_GENERIC_TABLE Table, BOOLEAN Restart) {
    RTL_SPLAY_LINKS* const root = Table->TableRoot;
    if (root == nullptr) return nullptr;
    RTL_SPLAY_LINKS* const next = Restart ? first_below(root) : following(root);
    return next == nullptr ? nullptr : splay(Table, next);
}

PVOID RtlEnumerateGenericTableWithoutSplaying(PRTL_GENERIC_TABLE Table, PVOID* RestartKey) {
    auto* const last = static_cast<RTL_SPLAY_LINKS*>(*RestartKey);
    RTL_SPLAY_LINKS* const next = last == nullptr ? first_below(Table->TableRoot) : following(last);
    if (next != nullptr) *RestartKey = next;
    return data_of(next);
}

PVOID RtlGetElementGenericTable(PRTL_GENERIC_TABLE Table, ULONG I) {
    if (I >= Table->NumberGenericTableElements) return nullptr;
    if (I + 1 < Table->WhichOrderedElement) forget_place(Table);
    for (; Table->WhichOrderedElement < I + 1; ++Table->WhichOrderedElement)
        Table->OrderedPointer = Table->OrderedPointer->Flink;
    return CONTAINING_RECORD(Table->OrderedPointer, element, order)->data();
}

ULONG RtlNumberGenericTableElements(PRTL_GENERIC_TABLE Table) noexcept {
    return Table->NumberGenericTableElements;
}
BOOLEAN RtlIsGenericTableEmpty(PRTL_GENERIC_TABLE Table) noexcept {
    return Table->TableRoot == nullptr;
}

} // extern "C"
