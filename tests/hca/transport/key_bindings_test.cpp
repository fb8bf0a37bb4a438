// The windows of a key table: what may be bound, for whom the key is valid, and when it ends.
#include <key_table.hpp>

#include <support/both_machines.hpp>

#include <gtest/gtest.h>

namespace irpverbs::hca_software {
namespace {

using irpverbs::testing::BothMachines;

constexpr ib_access_t both = IB_AC_RDMA_READ | IB_AC_RDMA_WRITE;
constexpr ib_access_t bindable = IB_AC_LOCAL_WRITE | IB_AC_MW_BIND;
constexpr std::uint64_t own = 7; // the queue pair
constexpr std::uint64_t other = 8;

class KeyBindings : public BothMachines {
protected:
    ULONG add_region(key_holder& holder, ib_access_t access = bindable, ULONGLONG base = 1000) {
        return keys_.insert({&pd_, base, sizeof(memory_), memory_, access}, &holder);
    }
    /// A binding of the window to 16 bytes behind the first 8 of the region.
    static transport::window_binding to_part(const key_holder& window, ULONG lkey,
                                             UCHAR variant = 0x33) {
        return {window.key, (window.key & ~0xFFu) | variant, lkey, 1008, 16, both};
    }
    bool bind(const transport::window_binding& what, std::uint64_t queue_pair = own) {
        return keys_.bind(what, &pd_, queue_pair);
    }
    /// The offset in the region that the owner of the key finds; nothing: -1.
    std::ptrdiff_t offset(ULONG key, key_owner owner, ULONGLONG address = 1008, ULONGLONG size = 16,
                          ib_access_t rights = both) const {
        void* found = nullptr;
        const bool valid = keys_.find(key, owner, address, size, rights, found);
        return valid ? static_cast<const char*>(found) - memory_ : -1;
    }

    HCA_PD pd_{};
    HCA_PD other_pd_{};
    char memory_[64]{};
    key_table keys_;
    key_holder region_{};
    key_holder window_{};
    const ULONG lkey_ = add_region(region_);
};

TEST_P(KeyBindings, NewWindow_GivesNoAccess) {
    const ULONG key = keys_.insert_window(key_kind::window_2, &pd_, window_);
    EXPECT_NE(key, 0u);
    for (const key_owner owner :
         {window_owner(own), window_owner(&pd_), region_owner(&pd_), key_owner{0}})
        for (const ULONGLONG size : {0u, 1u})
            EXPECT_EQ(offset(key, owner, 0, size, 0), -1);
}

TEST_P(KeyBindings, Type2_IsValidForItsQueuePairOnly) {
    keys_.insert_window(key_kind::window_2, &pd_, window_);
    ASSERT_TRUE(bind(to_part(window_, lkey_)));
    const ULONG key = window_.key;
    EXPECT_EQ(key & 0xFF, 0x33u);
    EXPECT_EQ(offset(key, window_owner(own)), 8);
    EXPECT_EQ(offset(key, window_owner(own), 1023, 1), 23);
    EXPECT_EQ(offset(key, window_owner(own), 1007, 1), -1);
    EXPECT_EQ(offset(key, window_owner(own), 1008, 17), -1);
    EXPECT_EQ(offset(key, window_owner(own), 1008, 8, IB_AC_ATOMIC), -1);
    for (const key_owner owner : {window_owner(other), window_owner(&pd_), region_owner(&pd_)})
        EXPECT_EQ(offset(key, owner), -1);
    EXPECT_EQ(offset(key ^ 1, window_owner(own)), -1);
}

TEST_P(KeyBindings, Type1_IsValidForItsDomain) {
    keys_.insert_window(key_kind::window_1, &pd_, window_);
    ASSERT_TRUE(bind(to_part(window_, lkey_)));
    EXPECT_EQ(offset(window_.key, window_owner(&pd_)), 8);
    for (const key_owner owner : {window_owner(&other_pd_), window_owner(own), region_owner(&pd_)})
        EXPECT_EQ(offset(window_.key, owner), -1);
}

TEST_P(KeyBindings, ZeroBased_CountsAddressesFromTheWindow) {
    keys_.insert_window(key_kind::window_2, &pd_, window_);
    transport::window_binding what = to_part(window_, lkey_);
    what.access |= IB_AC_ZERO_BASED;
    ASSERT_TRUE(bind(what));
    EXPECT_EQ(offset(window_.key, window_owner(own), 0), 8);
    EXPECT_EQ(offset(window_.key, window_owner(own), 1008), -1);
}

// Each change of a good binding makes it one that IBA forbids.
TEST_P(KeyBindings, ForbiddenBinding_ChangesNothing) {
    keys_.insert_window(key_kind::window_2, &pd_, window_);
    key_holder read_only{};
    key_holder unbindable{};
    const ULONG read_only_key = add_region(read_only, IB_AC_MW_BIND);
    const ULONG unbindable_key = add_region(unbindable, IB_AC_LOCAL_WRITE);
    const auto refused = [&](const char* why, auto change, const HCA_PD* pd) {
        transport::window_binding what = to_part(window_, lkey_);
        change(what);
        EXPECT_FALSE(keys_.bind(what, pd, own)) << why;
        EXPECT_EQ(offset(what.rkey, window_owner(own)), -1) << why;
    };
    refused(
        "length", [](auto& what) { what.length = 0; }, &pd_);
    refused(
        "end", [](auto& what) { what.length = 57; }, &pd_);
    refused(
        "begin", [](auto& what) { what.address = 999; }, &pd_);
    refused(
        "overflow", [](auto& what) { what.length = ~0ull; }, &pd_);
    refused(
        "key", [](auto& what) { what.rkey += 0x100; }, &pd_);
    refused(
        "window", [](auto& what) { what.window = 0; }, &pd_);
    refused(
        "forged window", [](auto& what) { what.window = ~0u; }, &pd_);
    refused(
        "region as window", [&](auto& what) { what.window = what.rkey = lkey_; }, &pd_);
    refused(
        "region", [](auto& what) { what.lkey ^= 1; }, &pd_);
    refused(
        "window as region", [&](auto& what) { what.lkey = window_.key; }, &pd_);
    refused(
        "right of the region", [&](auto& what) { what.lkey = unbindable_key; }, &pd_);
    refused(
        "local write", [&](auto& what) { what.lkey = read_only_key; }, &pd_);
    refused(
        "local right", [](auto& what) { what.access |= IB_AC_LOCAL_WRITE; }, &pd_);
    refused(
        "domain", [](auto&) {}, &other_pd_);
    EXPECT_EQ(region_.windows, 0u);

    transport::window_binding readable = to_part(window_, read_only_key);
    readable.access = IB_AC_RDMA_READ;
    EXPECT_TRUE(bind(readable)) << "a window without writes needs no local write";
}

TEST_P(KeyBindings, RegionOfAnotherDomain_IsNotBound) {
    keys_.insert_window(key_kind::window_2, &pd_, window_);
    key_holder foreign{};
    const ULONG key = keys_.insert({&other_pd_, 1000, 64, memory_, bindable}, &foreign);
    EXPECT_FALSE(bind(to_part(window_, key)));
}

TEST_P(KeyBindings, BoundType2_IsNotBoundAgain) {
    keys_.insert_window(key_kind::window_2, &pd_, window_);
    ASSERT_TRUE(bind(to_part(window_, lkey_, 1)));
    EXPECT_FALSE(bind(to_part(window_, lkey_, 2)));
    EXPECT_EQ(window_.key & 0xFF, 1u);
    ASSERT_TRUE(keys_.invalidate(window_.key, &pd_, own));
    EXPECT_TRUE(bind(to_part(window_, lkey_, 1))) << "with the same key";
    EXPECT_EQ(region_.windows, 1u);
}

TEST_P(KeyBindings, BoundType1_IsBoundAnewOrToNothing) {
    keys_.insert_window(key_kind::window_1, &pd_, window_);
    ASSERT_TRUE(bind(to_part(window_, lkey_, 1)));
    const ULONG first = window_.key;
    ASSERT_TRUE(bind(to_part(window_, lkey_, 2)));
    EXPECT_EQ(offset(first, window_owner(&pd_)), -1);
    EXPECT_EQ(offset(window_.key, window_owner(&pd_)), 8);
    EXPECT_EQ(region_.windows, 1u);
    transport::window_binding nothing = to_part(window_, 0, 3);
    nothing.length = 0;
    ASSERT_TRUE(bind(nothing));
    EXPECT_EQ(offset(window_.key, window_owner(&pd_)), -1);
    EXPECT_EQ(region_.windows, 0u);
}

TEST_P(KeyBindings, Type1_IsNotZeroBased) {
    keys_.insert_window(key_kind::window_1, &pd_, window_);
    transport::window_binding what = to_part(window_, lkey_);
    what.access |= IB_AC_ZERO_BASED;
    EXPECT_FALSE(bind(what));
    key_holder region{};
    what = to_part(window_, add_region(region, bindable | IB_AC_ZERO_BASED, 0));
    what.address = 8;
    EXPECT_FALSE(bind(what));
    key_holder window{};
    keys_.insert_window(key_kind::window_2, &pd_, window);
    what.window = window.key;
    what.rkey = window.key;
    EXPECT_TRUE(bind(what)) << "type 2";
}

TEST_P(KeyBindings, Invalidation_IsThatOfTheQueuePairOfABoundType2) {
    keys_.insert_window(key_kind::window_2, &pd_, window_);
    EXPECT_FALSE(keys_.invalidate(window_.key, &pd_, own)) << "it is not bound";
    ASSERT_TRUE(bind(to_part(window_, lkey_)));
    EXPECT_FALSE(keys_.invalidate(window_.key ^ 1, &pd_, own));
    EXPECT_FALSE(keys_.invalidate(window_.key, &pd_, other));
    EXPECT_FALSE(keys_.invalidate(window_.key, &other_pd_, own));
    EXPECT_FALSE(keys_.invalidate(lkey_, &pd_, own));
    EXPECT_FALSE(keys_.invalidate(~0u, &pd_, own));
    EXPECT_EQ(offset(window_.key, window_owner(own)), 8);
    EXPECT_TRUE(keys_.invalidate(window_.key, &pd_, own));
    EXPECT_EQ(offset(window_.key, window_owner(own)), -1);

    key_holder type_1{};
    keys_.insert_window(key_kind::window_1, &pd_, type_1);
    ASSERT_TRUE(bind(to_part(type_1, lkey_)));
    EXPECT_FALSE(keys_.invalidate(type_1.key, &pd_, own));
}

TEST_P(KeyBindings, RegionWithWindows_StaysUntilTheyAreUnbound) {
    key_holder second{};
    keys_.insert_window(key_kind::window_2, &pd_, window_);
    keys_.insert_window(key_kind::window_2, &pd_, second);
    ASSERT_TRUE(bind(to_part(window_, lkey_)));
    ASSERT_TRUE(bind(to_part(second, lkey_)));
    EXPECT_FALSE(keys_.try_remove(region_));
    EXPECT_EQ(offset(lkey_, region_owner(&pd_), 1000, 64, 0), 0);
    ASSERT_TRUE(keys_.invalidate(window_.key, &pd_, own));
    EXPECT_FALSE(keys_.try_remove(region_));
    keys_.remove_window(second);
    EXPECT_TRUE(keys_.try_remove(region_));
    EXPECT_EQ(offset(lkey_, region_owner(&pd_), 1000, 64, 0), -1);
    EXPECT_FALSE(bind(to_part(window_, lkey_)));
}

TEST_P(KeyBindings, RemovedWindow_GivesNoAccess) {
    keys_.insert_window(key_kind::window_2, &pd_, window_);
    ASSERT_TRUE(bind(to_part(window_, lkey_)));
    const transport::window_binding what = to_part(window_, lkey_);
    keys_.remove_window(window_);
    EXPECT_EQ(offset(what.rkey, window_owner(own)), -1);
    EXPECT_FALSE(bind(what));
    EXPECT_EQ(keys_.count(), 1u);
}

IRPVERBS_ON_BOTH_MACHINES(KeyBindings);

} // namespace
} // namespace irpverbs::hca_software
