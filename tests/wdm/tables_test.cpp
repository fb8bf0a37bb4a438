// Generic and AVL tables and splay links beside the standard library's containers.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include <ntddk.h>

namespace {

constexpr int not_there = -1;

struct record {
    int key;
    int value;
};

RTL_GENERIC_COMPARE_RESULTS compare(const void* first, const void* second) {
    const int a = static_cast<const record*>(first)->key;
    const int b = static_cast<const record*>(second)->key;
    return a < b ? GenericLessThan : a > b ? GenericGreaterThan : GenericEqual;
}

/// How many blocks a table may still allocate, and how many it has.
struct memory {
    int left = 1 << 20;
    int used = 0;

    void* allocate(ULONG size) {
        if (left == 0) return nullptr;
        --left;
        ++used;
        return malloc(size);
    }
    void free(void* block) {
        --used;
        ::free(block);
    }
};

/// Both kinds of tables under one name.
struct generic {
    using table = RTL_GENERIC_TABLE;
    static RTL_GENERIC_COMPARE_RESULTS order(table*, PVOID a, PVOID b) { return compare(a, b); }
    static PVOID allocate(table* in, CLONG size) {
        return static_cast<memory*>(in->TableContext)->allocate(size);
    }
    static void release(table* in, PVOID block) {
        static_cast<memory*>(in->TableContext)->free(block);
    }
    static constexpr auto initialize = RtlInitializeGenericTable;
    static constexpr auto insert = RtlInsertElementGenericTable;
    static constexpr auto insert_full = RtlInsertElementGenericTableFull;
    static constexpr auto remove = RtlDeleteElementGenericTable;
    static constexpr auto lookup = RtlLookupElementGenericTable;
    static constexpr auto lookup_full = RtlLookupElementGenericTableFull;
    static constexpr auto enumerate = RtlEnumerateGenericTable;
    static constexpr auto enumerate_by_key = RtlEnumerateGenericTableWithoutSplaying;
    static constexpr auto get = RtlGetElementGenericTable;
    static constexpr auto number = RtlNumberGenericTableElements;
    static constexpr auto is_empty = RtlIsGenericTableEmpty;
    static constexpr bool counts_insertions = true;
};

struct avl {
    using table = RTL_AVL_TABLE;
    static RTL_GENERIC_COMPARE_RESULTS order(table*, PVOID a, PVOID b) { return compare(a, b); }
    static PVOID allocate(table* in, CLONG size) {
        return static_cast<memory*>(in->TableContext)->allocate(size);
    }
    static void release(table* in, PVOID block) {
        static_cast<memory*>(in->TableContext)->free(block);
    }
    static constexpr auto initialize = RtlInitializeGenericTableAvl;
    static constexpr auto insert = RtlInsertElementGenericTableAvl;
    static constexpr auto insert_full = RtlInsertElementGenericTableFullAvl;
    static constexpr auto remove = RtlDeleteElementGenericTableAvl;
    static constexpr auto lookup = RtlLookupElementGenericTableAvl;
    static constexpr auto lookup_full = RtlLookupElementGenericTableFullAvl;
    static constexpr auto enumerate = RtlEnumerateGenericTableAvl;
    static constexpr auto enumerate_by_key = RtlEnumerateGenericTableWithoutSplayingAvl;
    static constexpr auto get = RtlGetElementGenericTableAvl;
    static constexpr auto number = RtlNumberGenericTableElementsAvl;
    static constexpr auto is_empty = RtlIsGenericTableEmptyAvl;
    static constexpr bool counts_insertions = false;
};

template <class Kind>
class OrderedTable : public testing::Test {
protected:
    OrderedTable() {
        Kind::initialize(&table, Kind::order, Kind::allocate, Kind::release, &blocks);
    }
    ~OrderedTable() override {
        while (void* const first = Kind::get(&table, 0))
            Kind::remove(&table, first);
        EXPECT_EQ(blocks.used, 0);
    }
    /// Returns whether the element is new.
    bool insert(int key, int value) {
        record given{key, value};
        BOOLEAN made = FALSE;
        const void* const found = Kind::insert(&table, &given, sizeof(given), &made);
        EXPECT_NE(found, nullptr);
        EXPECT_EQ(static_cast<const record*>(found)->key, key);
        return made != FALSE;
    }
    bool remove(int key) {
        record wanted{key, 0};
        return Kind::remove(&table, &wanted) != FALSE;
    }
    int value_of(int key) {
        record wanted{key, 0};
        const auto* const found = static_cast<const record*>(Kind::lookup(&table, &wanted));
        return found == nullptr ? not_there : found->value;
    }
    std::vector<int> keys(const std::function<void*(bool first)>& next) {
        std::vector<int> all;
        for (void* at = next(true); at != nullptr; at = next(false))
            all.push_back(static_cast<record*>(at)->key);
        return all;
    }
    std::vector<int> enumerated() {
        return keys([this](bool first) { return Kind::enumerate(&table, first); });
    }
    std::vector<int> enumerated_by_key() {
        PVOID key = nullptr;
        return keys([&](bool) { return Kind::enumerate_by_key(&table, &key); });
    }
    std::vector<int> numbered() {
        ULONG number = 0;
        return keys([&](bool) { return Kind::get(&table, number++); });
    }

    memory blocks;
    typename Kind::table table;
};

using Kinds = testing::Types<generic, avl>;
TYPED_TEST_SUITE(OrderedTable, Kinds);

TYPED_TEST(OrderedTable, Empty_HasNoElements) {
    EXPECT_TRUE(TypeParam::is_empty(&this->table));
    EXPECT_EQ(TypeParam::number(&this->table), 0u);
    EXPECT_EQ(TypeParam::get(&this->table, 0), nullptr);
    EXPECT_EQ(TypeParam::enumerate(&this->table, TRUE), nullptr);
    EXPECT_EQ(TypeParam::enumerate(&this->table, FALSE), nullptr);
    EXPECT_EQ(this->value_of(1), not_there);
    EXPECT_FALSE(this->remove(1));
}

TYPED_TEST(OrderedTable, EqualElement_IsFoundInsteadOfInserted) {
    EXPECT_TRUE(this->insert(1, 10));
    EXPECT_FALSE(this->insert(1, 11));
    EXPECT_EQ(this->value_of(1), 10);
    EXPECT_EQ(TypeParam::number(&this->table), 1u);
}

TYPED_TEST(OrderedTable, NoMemory_ReturnsNullAndChangesNothing) {
    this->insert(1, 10);
    this->blocks.left = 0;
    record given{2, 20};
    BOOLEAN made = TRUE;
    EXPECT_EQ(TypeParam::insert(&this->table, &given, sizeof(given), &made), nullptr);
    EXPECT_FALSE(made);
    EXPECT_EQ(this->enumerated(), (std::vector<int>{1}));
}

// The lookup returns where a new element belongs, so that the insertion needs no second search.
TYPED_TEST(OrderedTable, PlaceOfALookup_TakesTheNewElement) {
    for (const int key : {50, 20, 80, 35, 65}) {
        record given{key, key};
        PVOID node = nullptr;
        TABLE_SEARCH_RESULT result;
        EXPECT_EQ(TypeParam::lookup_full(&this->table, &given, &node, &result), nullptr);
        EXPECT_NE(result, TableFoundNode);
        BOOLEAN made = FALSE;
        void* const data =
            TypeParam::insert_full(&this->table, &given, sizeof(given), &made, node, result);
        EXPECT_TRUE(made);
        EXPECT_EQ(TypeParam::lookup_full(&this->table, &given, &node, &result), data);
        EXPECT_EQ(result, TableFoundNode);
    }
    EXPECT_EQ(this->enumerated(), (std::vector<int>{20, 35, 50, 65, 80}));
}

TYPED_TEST(OrderedTable, RandomChanges_AgreeWithAMap) {
    std::mt19937 random(7);
    std::map<int, int> expected;
    std::vector<int> insertions;
    for (int step = 0; step < 20'000; ++step) {
        const int key = static_cast<int>(random() % 300);
        if (random() % 5 < (step / 2000 % 2 == 0 ? 3u : 1u)) {
            EXPECT_EQ(this->insert(key, step), expected.emplace(key, step).second);
            if (std::ranges::find(insertions, key) == insertions.end()) insertions.push_back(key);
        } else {
            EXPECT_EQ(this->remove(key), expected.erase(key) == 1);
            std::erase(insertions, key);
        }
        const int other = static_cast<int>(random() % 300);
        const auto found = expected.find(other);
        EXPECT_EQ(this->value_of(other), found == expected.end() ? not_there : found->second);
        EXPECT_EQ(TypeParam::number(&this->table), expected.size());
        if (step % 97 != 0) continue;
        std::vector<int> sorted = insertions;
        std::ranges::sort(sorted);
        EXPECT_EQ(this->enumerated(), sorted);
        EXPECT_EQ(this->enumerated_by_key(), sorted);
        EXPECT_EQ(this->numbered(), TypeParam::counts_insertions ? insertions : sorted);
    }
}

TYPED_TEST(OrderedTable, NumbersInAnyOrder_NameTheSameElements) {
    for (const int key : {3, 1, 2})
        this->insert(key, 0);
    const std::vector<int> all = this->numbered();
    for (const ULONG number : {2u, 0u, 1u, 1u, 0u, 2u})
        EXPECT_EQ(static_cast<record*>(TypeParam::get(&this->table, number))->key, all[number]);
}

class AvlTable : public OrderedTable<avl> {
protected:
    /// Checks links and balance; returns the height.
    static int check(const RTL_BALANCED_LINKS* node, const RTL_BALANCED_LINKS* above) {
        if (node == nullptr) return 0;
        EXPECT_EQ(node->Parent, above);
        const int left = check(node->LeftChild, node);
        const int right = check(node->RightChild, node);
        EXPECT_EQ(node->Balance, right - left);
        EXPECT_LE(std::abs(right - left), 1);
        return std::max(left, right) + 1;
    }
};

TEST_F(AvlTable, RandomChanges_StaysBalanced) {
    std::mt19937 random(11);
    for (int step = 0; step < 5000; ++step) {
        const int key = static_cast<int>(random() % 200);
        if (random() % 2 == 0)
            insert(key, 0);
        else
            remove(key);
        const int height = check(table.BalancedRoot.RightChild, &table.BalancedRoot);
        ASSERT_EQ(table.DepthOfTree, static_cast<ULONG>(height));
    }
}

TEST_F(AvlTable, ElementDeletedDuringEnumeration_TheNextFollows) {
    for (int key = 0; key < 20; ++key)
        insert(key, 0);
    std::vector<int> seen;
    for (void* at = RtlEnumerateGenericTableAvl(&table, TRUE); at != nullptr;
         at = RtlEnumerateGenericTableAvl(&table, FALSE)) {
        seen.push_back(static_cast<record*>(at)->key);
        RtlDeleteElementGenericTableAvl(&table, at);
    }
    EXPECT_EQ(seen.size(), 20u);
    EXPECT_TRUE(RtlIsGenericTableEmptyAvl(&table));
}

RTL_GENERIC_COMPARE_RESULTS by_tens(RTL_AVL_TABLE*, PVOID first, PVOID second) {
    record a{static_cast<record*>(first)->key / 10, 0};
    record b{static_cast<record*>(second)->key / 10, 0};
    return compare(&a, &b);
}

TEST_F(AvlTable, FirstMatch_IsFollowedByTheOthers) {
    for (int key = 0; key < 60; ++key)
        insert(key, 0);
    table.CompareRoutine = by_tens;
    record wanted{34, 0};
    PVOID restart = nullptr;
    auto* found = static_cast<record*>(
        RtlLookupFirstMatchingElementGenericTableAvl(&table, &wanted, &restart));
    for (int key = 30; key < 60; ++key) {
        ASSERT_NE(found, nullptr);
        EXPECT_EQ(found->key, key);
        found = static_cast<record*>(RtlEnumerateGenericTableWithoutSplayingAvl(&table, &restart));
    }
    EXPECT_EQ(found, nullptr);
    wanted.key = 77;
    EXPECT_EQ(RtlLookupFirstMatchingElementGenericTableAvl(&table, &wanted, &restart), nullptr);
    table.CompareRoutine = avl::order;
}

/// Nodes that are linked in the order of the array.
struct SplayLinks : testing::Test {
    static constexpr int count = 40;
    RTL_SPLAY_LINKS nodes[count];
    RTL_SPLAY_LINKS* root = nodes;
    std::vector<int> left;

    SplayLinks() {
        for (int i = 0; i < count; ++i) {
            RtlInitializeSplayLinks(&nodes[i]);
            if (i != 0) RtlInsertAsRightChild(&nodes[i - 1], &nodes[i]);
            left.push_back(i);
        }
    }
    std::optional<int> index_of(const RTL_SPLAY_LINKS* node) const {
        if (node == nullptr) return std::nullopt;
        return static_cast<int>(node - nodes);
    }
    void expect_order() {
        if (left.empty()) {
            EXPECT_EQ(root, nullptr);
            return;
        }
        EXPECT_TRUE(RtlIsRoot(root));
        for (std::size_t i = 0; i < left.size(); ++i) {
            const bool last = i + 1 == left.size();
            EXPECT_EQ(index_of(RtlRealSuccessor(&nodes[left[i]])),
                      last ? std::nullopt : std::optional(left[i + 1]));
            EXPECT_EQ(index_of(RtlRealPredecessor(&nodes[left[i]])),
                      i == 0 ? std::nullopt : std::optional(left[i - 1]));
        }
    }
};

TEST_F(SplayLinks, Splay_MakesTheNodeTheRootAndKeepsTheOrder) {
    std::mt19937 random(3);
    for (int step = 0; step < 500; ++step) {
        RTL_SPLAY_LINKS* const node = &nodes[random() % count];
        root = RtlSplay(node);
        EXPECT_EQ(root, node);
        expect_order();
    }
}

TEST_F(SplayLinks, Deletions_KeepTheOrderOfTheRest) {
    std::mt19937 random(5);
    while (!left.empty()) {
        root = RtlSplay(&nodes[left[random() % left.size()]]);
        const auto place = left.begin() + static_cast<std::ptrdiff_t>(random() % left.size());
        RTL_SPLAY_LINKS* const node = &nodes[*place];
        left.erase(place);
        if (left.size() % 2 == 0)
            root = RtlDelete(node);
        else
            RtlDeleteNoSplay(node, &root);
        expect_order();
    }
}

TEST_F(SplayLinks, SubtreeNeighbours_AreBelowTheNode) {
    root = RtlSplay(&nodes[7]);
    EXPECT_EQ(index_of(RtlSubtreePredecessor(root)), 6);
    EXPECT_EQ(index_of(RtlSubtreeSuccessor(root)), 8);
    EXPECT_EQ(RtlSubtreePredecessor(&nodes[0]), nullptr);
    EXPECT_EQ(RtlSubtreeSuccessor(&nodes[count - 1]), nullptr);
}

} // namespace
