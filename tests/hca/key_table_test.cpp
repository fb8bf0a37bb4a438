// The keys of memory regions: no other key, protection domain, range or right gives access.
#include <key_table.hpp>

#include <support/both_machines.hpp>
#include <support/system_threads.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <set>
#include <vector>

namespace {

using namespace irpverbs::hca_software;
using irpverbs::testing::BothMachines;

constexpr ib_access_t all_rights =
    IB_AC_RDMA_READ | IB_AC_RDMA_WRITE | IB_AC_ATOMIC | IB_AC_LOCAL_WRITE;

/// A table whose regions have the same memory.
class key_values {
protected:
    ULONG insert(ULONGLONG base, ULONGLONG length, ib_access_t access = all_rights) {
        return keys_.insert({&pd_, base, length, memory_, access});
    }
    /// The offset of the memory that is found; nothing: -1.
    std::ptrdiff_t offset(ULONG key, ULONGLONG address, ULONGLONG size,
                          ib_access_t rights = 0) const {
        void* found = nullptr;
        const bool valid = keys_.find(key, region_owner(&pd_), address, size, rights, found);
        return valid ? static_cast<const char*>(found) - memory_ : -1;
    }

    HCA_PD pd_{};
    HCA_PD other_pd_{};
    char memory_[64]{};
    key_table keys_;
};

class KeyTable : public BothMachines, protected key_values {};

/// Without the simulator: these have a million steps, or readers, which pass no scheduling point.
class KeyTableOnThreads : public ::testing::Test, protected key_values {
private:
    irpverbs::dispatch::asio_machine machine_{{.processors = 2}};
    irpverbs::dispatch::machine::scope inside_{machine_};
};

TEST_P(KeyTable, RangeInsideTheRegion_IsFound) {
    const ULONG key = insert(1000, 64);
    EXPECT_EQ(offset(key, 1000, 64), 0);
    EXPECT_EQ(offset(key, 1063, 1), 63);
    EXPECT_EQ(offset(key, 1064, 0), 64);
    EXPECT_EQ(offset(key, 1001, 63), 1);
}

TEST_P(KeyTable, RangeThatLeavesTheRegion_IsNotFound) {
    const ULONG key = insert(1000, 64);
    EXPECT_EQ(offset(key, 999, 1), -1);
    EXPECT_EQ(offset(key, 999, 0), -1);
    EXPECT_EQ(offset(key, 1000, 65), -1);
    EXPECT_EQ(offset(key, 1064, 1), -1);
    EXPECT_EQ(offset(key, 1065, 0), -1);
    EXPECT_EQ(offset(key, 0, 1), -1);
}

// No sum of an address and a size is computed, so none wraps around.
TEST_P(KeyTable, SizeThatOverflows_IsNotFound) {
    constexpr auto max = std::numeric_limits<ULONGLONG>::max();
    const ULONG low = insert(1000, 64);
    EXPECT_EQ(offset(low, 1001, max), -1);
    EXPECT_EQ(offset(low, max, 1002), -1);
    EXPECT_EQ(offset(low, max - 10, 64), -1);
    const ULONG high = insert(max - 63, 64);
    EXPECT_EQ(offset(high, max, 1), 63);
    EXPECT_EQ(offset(high, max - 63, 64), 0);
    EXPECT_EQ(offset(high, max, 2), -1);
    EXPECT_EQ(offset(high, 0, 1), -1);
    const ULONG zero_based = insert(0, 64);
    EXPECT_EQ(offset(zero_based, 0, 64), 0);
    EXPECT_EQ(offset(zero_based, max, 1), -1);
    EXPECT_EQ(offset(zero_based, 0, max), -1);
}

TEST_P(KeyTable, OtherProtectionDomain_IsNotFound) {
    const ULONG key = insert(1000, 64);
    void* found = nullptr;
    for (const key_owner owner :
         {region_owner(&other_pd_), region_owner(nullptr), window_owner(&pd_)})
        EXPECT_FALSE(keys_.find(key, owner, 1000, 1, 0, found));
}

TEST_P(KeyTable, RightThatTheRegionLacks_IsNotFound) {
    for (const ib_access_t given :
         {ib_access_t{0}, IB_AC_RDMA_READ, IB_AC_LOCAL_WRITE, IB_AC_LOCAL_WRITE | IB_AC_RDMA_WRITE,
          IB_AC_LOCAL_WRITE | IB_AC_ATOMIC, all_rights}) {
        const ULONG key = insert(1000, 64, given);
        for (ib_access_t wanted = 0; wanted < 16; ++wanted)
            EXPECT_EQ(offset(key, 1000, 1, wanted), (given & wanted) == wanted ? 0 : -1)
                << given << " " << wanted;
    }
}

// Every key in a neighbourhood of the valid ones, the extremes, and all single bits.
TEST_P(KeyTable, ForgedKey_IsNotFound) {
    EXPECT_EQ(offset(0, 1000, 1), -1) << "before the first region";
    EXPECT_EQ(offset(~0u, 1000, 1), -1);
    std::set<ULONG> valid;
    for (int i = 0; i < 10; ++i)
        valid.insert(insert(1000, 64));
    EXPECT_EQ(valid.size(), 10u);
    std::vector<ULONG> forged;
    for (ULONG key = 0; key < (20u << 8); ++key)
        forged.push_back(key);
    for (unsigned bit = 0; bit < 32; ++bit)
        for (const ULONG key : valid)
            forged.push_back(key ^ (1u << bit));
    for (ULONG key = max_mrs << 8; key != 0 && key < (max_mrs << 8) + 1024; ++key)
        forged.push_back(key);
    forged.push_back(~0u);
    for (const ULONG key : forged)
        EXPECT_EQ(offset(key, 1000, 1), valid.contains(key) ? 0 : -1) << key;
}

// 255 regions later an entry has a key again, but entries take turns.
TEST_P(KeyTable, StaleKey_IsNotFoundForManyRegions) {
    const ULONG first = insert(1000, 64);
    keys_.remove(first);
    for (int i = 0; i < 16'000; ++i) {
        const ULONG key = insert(1000, 64);
        ASSERT_NE(key, first) << i;
        ASSERT_EQ(offset(key, 1000, 1), 0);
        ASSERT_EQ(offset(first, 1000, 1), -1);
        keys_.remove(key);
    }
    EXPECT_EQ(keys_.count(), 0u);
}

TEST_F(KeyTableOnThreads, AllEntriesInUse_InsertFailsUntilOneIsRemoved) {
    const auto inserted = std::make_unique<std::vector<ULONG>>();
    for (ULONG i = 0; i < max_mrs; ++i)
        inserted->push_back(insert(i, 1));
    EXPECT_EQ(keys_.count(), max_mrs);
    EXPECT_EQ(insert(0, 1), 0u);
    for (ULONG i = 0; i < max_mrs; i += 4099)
        EXPECT_EQ(offset((*inserted)[i], i, 1), 0);
    keys_.remove(inserted->back());
    const ULONG again = insert(77, 1);
    EXPECT_EQ(offset(again, 77, 1), 0);
    EXPECT_EQ(offset(inserted->back(), 77, 1), -1);
}

// A reader beside a writer that replaces the regions of one entry finds one region's values only:
// each region's base is its length, so a mixture would be a wrong offset.
TEST_F(KeyTableOnThreads, ReaderDuringReplacement_NeverMixesTwoRegions) {
    std::array<ULONG, 200> removed{};
    for (ULONG& key : removed)
        key = insert(1, 1);
    for (const ULONG key : removed)
        keys_.remove(key); // entries are used again from now on
    std::atomic<ULONG> current{insert(32, 32)};
    std::atomic<bool> ends{false};
    std::atomic<unsigned> wrong{0};
    {
        const irpverbs::testing::system_thread reader([&] {
            while (!ends.load()) {
                const ULONG key = current.load();
                for (const ULONGLONG size : {8u, 16u, 32u}) {
                    void* found = nullptr;
                    const bool valid = keys_.find(key, region_owner(&pd_), size, size, 0, found);
                    if (valid && found != memory_) ++wrong;
                }
            }
        });
        for (ULONG i = 0; i < 20'000; ++i) {
            const ULONGLONG size = 8u << (i % 3);
            const ULONG old = current.load();
            keys_.remove(old);
            current.store(insert(size, size));
        }
        ends.store(true);
    }
    EXPECT_EQ(wrong.load(), 0u);
}

IRPVERBS_ON_BOTH_MACHINES(KeyTable);

} // namespace
