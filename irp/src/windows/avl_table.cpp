// AVL trees. BalancedRoot is above all nodes, and its own parent; the tree is its right child.
#include "standard.hpp"

#include <windows/wdk/rtl.h>

#include "tree_links.hpp"

using namespace irpverbs::windows;

namespace {

using links = RTL_BALANCED_LINKS;

constexpr CHAR left_side = -1;
constexpr CHAR right_side = 1;

/* As RTL_BALANCED_LINKS, at the alignment of the data. */
struct element {
    links node;
};

void* data_of(links* node) {
    return node == nullptr ? nullptr : reinterpret_cast<element*>(node) + 1;
}

links* root_of(RTL_AVL_TABLE* table) { return table->BalancedRoot.RightChild; }

CHAR side_of(const links* node) { return node->Parent->LeftChild == node ? left_side : right_side; }
links*& child_at(links* node, CHAR side) {
    return side == left_side ? node->LeftChild : node->RightChild;
}
CHAR other(CHAR side) { return static_cast<CHAR>(-side); }

/* Puts the child at `side` above its parent. */
void rotate(links* above, CHAR side) {
    links* const child = child_at(above, side);
    links*& inner = child_at(child, other(side));
    replace(above, child);
    child_at(above, side) = inner;
    if (inner != nullptr) inner->Parent = above;
    inner = above;
    above->Parent = child;
}

/* Balances a node whose subtree at `side` is higher by two. Returns the node that is in its place
   then; `lower`: the place's subtree has become lower. */
links* balance(links* node, CHAR side, bool& lower) {
    links* const child = child_at(node, side);
    lower = child->Balance != 0;
    if (child->Balance != other(side)) {
        rotate(node, side);
        node->Balance = lower ? CHAR{0} : side;
        child->Balance = lower ? CHAR{0} : other(side);
        return child;
    }
    links* const inner = child_at(child, other(side));
    rotate(child, other(side));
    rotate(node, side);
    node->Balance = inner->Balance == side ? other(side) : CHAR{0};
    child->Balance = inner->Balance == other(side) ? side : CHAR{0};
    inner->Balance = 0;
    return inner;
}

/* The subtree of `node` has become higher by one. */
void grow(RTL_AVL_TABLE* table, links* node) {
    for (; node != root_of(table); node = node->Parent) {
        const CHAR side = side_of(node);
        links* const above = node->Parent;
        if (above->Balance == side) {
            bool lower;
            balance(above, side, lower);
            return;
        }
        above->Balance = static_cast<CHAR>(above->Balance + side);
        if (above->Balance == 0) return;
    }
    ++table->DepthOfTree;
}

/* The subtree of `above` at `side` has become lower by one. */
void shrink(RTL_AVL_TABLE* table, links* above, CHAR side) {
    while (above != &table->BalancedRoot) {
        if (above->Balance == 0) {
            above->Balance = other(side);
            return;
        }
        bool lower = true;
        if (above->Balance == side)
            above->Balance = 0;
        else
            above = balance(above, other(side), lower);
        if (!lower) return;
        side = side_of(above);
        above = above->Parent;
    }
    --table->DepthOfTree;
}

/* Unlinks a node that has at most one child. */
void unlink(RTL_AVL_TABLE* table, links* node) {
    links* const above = node->Parent;
    const CHAR side = side_of(node);
    replace(node, node->LeftChild != nullptr ? node->LeftChild : node->RightChild);
    shrink(table, above, side);
}

void remove(RTL_AVL_TABLE* table, links* node) {
    if (node->LeftChild == nullptr || node->RightChild == nullptr) return unlink(table, node);
    links* const last = last_below(node->LeftChild);
    unlink(table, last);
    *last = *node; // unlinking `last` may have moved `node`
    place_of(node) = last;
    for (links* const child : {last->LeftChild, last->RightChild})
        if (child != nullptr) child->Parent = last;
}

/* Makes RtlGetElementGenericTableAvl begin at the first element. */
void forget_place(RTL_AVL_TABLE* table) {
    table->OrderedPointer = nullptr;
    table->WhichOrderedElement = 0;
}

void* enumerate(RTL_AVL_TABLE* table, links*& last) {
    links* const next = last == nullptr ? first_below(root_of(table)) : following(last);
    if (next != nullptr) last = next;
    return data_of(next);
}

} // namespace

extern "C" {

void RtlInitializeGenericTableAvl(PRTL_AVL_TABLE Table, PRTL_AVL_COMPARE_ROUTINE CompareRoutine,
                                  PRTL_AVL_ALLOCATE_ROUTINE AllocateRoutine,
                                  PRTL_AVL_FREE_ROUTINE FreeRoutine, PVOID TableContext) noexcept {
    *Table = {};
    Table->BalancedRoot.Parent = &Table->BalancedRoot;
    Table->CompareRoutine = CompareRoutine;
    Table->AllocateRoutine = AllocateRoutine;
    Table->FreeRoutine = FreeRoutine;
    Table->TableContext = TableContext;
}

PVOID RtlInsertElementGenericTableAvl(PRTL_AVL_TABLE Table, PVOID Buffer, CLONG BufferSize,
                                      PBOOLEAN NewElement) {
    links* node;
    const TABLE_SEARCH_RESULT result = search(Table, Buffer, root_of(Table), data_of, node);
    return RtlInsertElementGenericTableFullAvl(Table, Buffer, BufferSize, NewElement, node, result);
}

PVOID RtlInsertElementGenericTableFullAvl(PRTL_AVL_TABLE Table, PVOID Buffer, CLONG BufferSize,
                                          PBOOLEAN NewElement, PVOID NodeOrParent,
                                          TABLE_SEARCH_RESULT SearchResult) {
    auto* const at = static_cast<links*>(NodeOrParent);
    if (NewElement != nullptr) *NewElement = FALSE;
    if (SearchResult == TableFoundNode) return data_of(at);
    const auto size = static_cast<CLONG>(sizeof(element) + BufferSize);
    auto* const made = static_cast<element*>(Table->AllocateRoutine(Table, size));
    if (made == nullptr) return nullptr;
    made->node = {};
    insert_below(at != nullptr ? at : &Table->BalancedRoot, &made->node, SearchResult);
    grow(Table, &made->node);
    ++Table->NumberGenericTableElements;
    forget_place(Table);
    memcpy(data_of(&made->node), Buffer, BufferSize);
    if (NewElement != nullptr) *NewElement = TRUE;
    return data_of(&made->node);
}

BOOLEAN RtlDeleteElementGenericTableAvl(PRTL_AVL_TABLE Table, PVOID Buffer) {
    links* node;
    if (search(Table, Buffer, root_of(Table), data_of, node) != TableFoundNode) return FALSE;
    RtlDeleteElementGenericTableAvlEx(Table, node);
    return TRUE;
}

void RtlDeleteElementGenericTableAvlEx(PRTL_AVL_TABLE Table, PVOID NodeOrParent) {
    auto* const node = static_cast<links*>(NodeOrParent);
    if (Table->RestartKey == node) Table->RestartKey = preceding(node);
    if (Table->RestartKey == &Table->BalancedRoot) Table->RestartKey = nullptr;
    remove(Table, node);
    --Table->NumberGenericTableElements;
    ++Table->DeleteCount;
    forget_place(Table);
    Table->FreeRoutine(Table, node);
}

PVOID RtlLookupElementGenericTableAvl(PRTL_AVL_TABLE Table, PVOID Buffer) {
    PVOID node;
    TABLE_SEARCH_RESULT result;
    return RtlLookupElementGenericTableFullAvl(Table, Buffer, &node, &result);
}

PVOID RtlLookupElementGenericTableFullAvl(PRTL_AVL_TABLE Table, PVOID Buffer, PVOID* NodeOrParent,
                                          TABLE_SEARCH_RESULT* SearchResult) {
    links* node;
    *SearchResult = search(Table, Buffer, root_of(Table), data_of, node);
    *NodeOrParent = node;
    return *SearchResult == TableFoundNode ? data_of(node) : nullptr;
}

PVOID RtlLookupFirstMatchingElementGenericTableAvl(PRTL_AVL_TABLE Table, PVOID Buffer,
                                                   PVOID* RestartKey) {
    links* first = nullptr;
    for (links* node = root_of(Table); node != nullptr;) {
        const auto order = Table->CompareRoutine(Table, Buffer, data_of(node));
        if (order == GenericEqual) first = node;
        node = order == GenericGreaterThan ? node->RightChild : node->LeftChild;
    }
    *RestartKey = first;
    return data_of(first);
}

PVOID RtlEnumerateGenericTableAvl(PRTL_AVL_TABLE Table, BOOLEAN Restart) {
    if (Restart) Table->RestartKey = nullptr;
    return enumerate(Table, Table->RestartKey);
}

PVOID RtlEnumerateGenericTableWithoutSplayingAvl(PRTL_AVL_TABLE Table, PVOID* RestartKey) {
    auto* last = static_cast<links*>(*RestartKey);
    void* const found = enumerate(Table, last);
    *RestartKey = last;
    return found;
}

PVOID RtlGetElementGenericTableAvl(PRTL_AVL_TABLE Table, ULONG I) {
    if (I >= Table->NumberGenericTableElements) return nullptr;
    if (I + 1 < Table->WhichOrderedElement) forget_place(Table);
    auto* at = static_cast<links*>(Table->OrderedPointer);
    for (; Table->WhichOrderedElement < I + 1; ++Table->WhichOrderedElement)
        enumerate(Table, at);
    Table->OrderedPointer = at;
    return data_of(at);
}

ULONG RtlNumberGenericTableElementsAvl(PRTL_AVL_TABLE Table) noexcept {
    return Table->NumberGenericTableElements;
}
BOOLEAN RtlIsGenericTableEmptyAvl(PRTL_AVL_TABLE Table) noexcept {
    return root_of(Table) == nullptr;
}

} // extern "C"
