// The regions of a key table that have pages: what may be registered, what their keys reach, and
// when these end.
#include <key_table.hpp>

#include <support/both_machines.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace irpverbs::hca_software {
namespace {

using irpverbs::testing::BothMachines;
using transport::page_registration;

constexpr ULONG page = 1u << page_bits;
constexpr ULONGLONG base = 0x7000000; // of a page

class KeyPages : public BothMachines {
protected:
    KeyPages() {
        for (ULONG i = 0; i < list_.size(); ++i)
            list_[i] = reinterpret_cast<std::uintptr_t>(memory_.data()) + (3 - i) * page;
    }
    /// All four pages, in reverse order.
    page_registration all(UCHAR variant = 0x11) const {
        return {base,
                4 * page,
                list_.data(),
                4,
                0,
                (key_ & ~0xFFu) | variant,
                page_bits,
                IB_AC_REMOTE | IB_AC_LOCAL_WRITE};
    }
    bool registers(const page_registration& what) { return keys_.register_pages(what, &pd_); }
    /// The offset in the memory of what a key reaches, and its size; nothing: -1.
    std::ptrdiff_t offset(ULONG key, ULONGLONG address, ULONGLONG& size,
                          ib_access_t rights = IB_AC_RDMA_READ) const {
        const UCHAR* found = keys_.find_page(key, paged_owner(&pd_), address, size, rights);
        return found != nullptr ? found - memory_.data() : -1;
    }
    bool is_valid(ULONG key, ULONGLONG address = base, ULONGLONG size = 1,
                  ib_access_t rights = IB_AC_RDMA_READ) const {
        return offset(key, address, size, rights) != -1;
    }

    HCA_PD pd_{};
    HCA_PD other_pd_{};
    alignas(page) std::array<UCHAR, 4 * page> memory_{};
    std::array<ULONGLONG, 4> list_{};
    std::array<page_address, 4> pages_{};
    key_table keys_;
    key_holder region_{};
    const ULONG key_ = keys_.insert_paged(&pd_, pages_.data(), 4, region_);
};

TEST_P(KeyPages, PhysicalRegion_GivesAccessUntilItIsRemoved) {
    std::array<page_address, 2> list{list_[0], list_[1]};
    key_holder physical{};
    const key_range range{&pd_, base + 16, 2 * page - 16, nullptr, IB_AC_RDMA_READ};
    const ULONG key = keys_.insert_physical(range, list.data(), physical);
    ULONGLONG size = page;
    EXPECT_EQ(offset(key, base + page - 8, size), 4 * page - 8);
    EXPECT_EQ(size, 8u);
    EXPECT_FALSE(is_valid(key, base + 15));
    EXPECT_FALSE(is_valid(key, base + 2 * page));
    EXPECT_FALSE(is_valid(key, base + 16, 1, IB_AC_RDMA_WRITE));
    EXPECT_FALSE(keys_.invalidate(key, &pd_, no_queue_pair));
    page_registration again = all();
    again.rkey = key;
    EXPECT_FALSE(registers(again));
    EXPECT_TRUE(is_valid(key, base + 16));
    EXPECT_TRUE(keys_.try_remove(physical));
    EXPECT_FALSE(is_valid(key, base + 16));
}

TEST_P(KeyPages, SharedPages_HaveRightsAndAddressOfTheirOwn) {
    std::array<page_address, 2> list{list_[0], list_[1]};
    key_holder physical{};
    key_holder shared{};
    const ULONG key = keys_.insert_physical({&pd_, base, 2 * page, nullptr, IB_AC_RDMA_READ},
                                            list.data(), physical);
    const ULONGLONG elsewhere = base + 64 * page;
    const ULONG sharing =
        keys_.insert_shared(physical, {&pd_, elsewhere, 0, nullptr, IB_AC_RDMA_WRITE}, shared);
    ULONGLONG size = page;
    EXPECT_EQ(offset(sharing, elsewhere + page, size, IB_AC_RDMA_WRITE), 2 * page);
    EXPECT_FALSE(is_valid(sharing, elsewhere, 1, IB_AC_RDMA_READ));
    EXPECT_FALSE(is_valid(sharing, elsewhere, 2 * page + 1, IB_AC_RDMA_WRITE));
    EXPECT_FALSE(is_valid(sharing, base, 1, IB_AC_RDMA_WRITE));
    EXPECT_TRUE(keys_.try_remove(shared));
    EXPECT_TRUE(is_valid(key));
}

TEST_P(KeyPages, FreeRegion_GivesNoAccess) {
    EXPECT_NE(key_, 0u);
    EXPECT_FALSE(is_valid(key_, 0, 0, 0));
    EXPECT_FALSE(keys_.invalidate(key_, &pd_, 1));
}

TEST_P(KeyPages, RegisteredPages_AreReachedInTheirOrder) {
    ASSERT_TRUE(registers(all()));
    const ULONG key = all().rkey;
    ULONGLONG size = 4 * page;
    EXPECT_EQ(offset(key, base, size), 3 * page);
    EXPECT_EQ(size, page);
    size = 100;
    EXPECT_EQ(offset(key, base + page - 10, size), 4 * page - 10);
    EXPECT_EQ(size, 10u);
    size = 100;
    EXPECT_EQ(offset(key, base + 3 * page + 5, size), 5);
    EXPECT_EQ(size, 100u);
    void* found = nullptr;
    EXPECT_FALSE(keys_.find(key, region_owner(&pd_), base, 1, 0, found)) << "it is not one piece";
}

TEST_P(KeyPages, RangeRightsAndDomain_AreChecked) {
    page_registration part = all();
    part.first = base + 8;
    part.offset = 8;
    part.length = 2 * page;
    part.access = IB_AC_RDMA_READ;
    ASSERT_TRUE(registers(part));
    EXPECT_TRUE(is_valid(part.rkey, base + 8, 2 * page));
    EXPECT_FALSE(is_valid(part.rkey, base + 8, 2 * page + 1));
    EXPECT_FALSE(is_valid(part.rkey, base + 7));
    EXPECT_FALSE(is_valid(part.rkey, base + 8 + 2 * page + 1, 0));
    EXPECT_FALSE(is_valid(part.rkey, base + 8, 1, IB_AC_RDMA_WRITE));
    EXPECT_FALSE(is_valid(key_, base + 8)) << "the key before";
    ULONGLONG size = 1;
    EXPECT_EQ(keys_.find_page(part.rkey, paged_owner(&other_pd_), base + 8, size, 0), nullptr);
    EXPECT_EQ(offset(part.rkey, base + 8, size), 3 * page + 8)
        << "behind the offset of the first page";
}

TEST_P(KeyPages, WrongRegistration_ChangesNothing) {
    const auto refused = [&](const char* what, const auto& change) {
        page_registration wrong = all();
        change(wrong);
        EXPECT_FALSE(registers(wrong)) << what;
    };
    std::array<ULONGLONG, 5> longer{};
    std::copy(list_.begin(), list_.end(), longer.begin());
    longer[4] = list_[0];
    const std::array<ULONGLONG, 4> unaligned{list_[0], list_[1] + 8, list_[2], list_[3]};
    const std::array<ULONGLONG, 4> without{list_[0], 0, list_[2], list_[3]};
    refused("too many pages", [&](auto& of) {
        of.pages = longer.data();
        of.page_count = 5;
    });
    refused("a page at an odd address", [&](auto& of) { of.pages = unaligned.data(); });
    refused("no page", [&](auto& of) { of.pages = without.data(); });
    refused("the size of pages", [](auto& of) { of.page_shift = page_bits + 1; });
    refused("no length", [](auto& of) { of.length = 0; });
    refused("longer than the pages", [](auto& of) { of.length = 4 * page + 1; });
    refused("a length that overflows", [](auto& of) { of.length = ~ULONGLONG{0}; });
    refused("longer behind the offset", [](auto& of) {
        of.first += 8;
        of.offset = 8;
    });
    refused("another offset than the address", [](auto& of) {
        of.offset = 8;
        of.length = 1;
    });
    refused("an offset beyond the page", [](auto& of) {
        of.offset = page;
        of.length = 1;
    });
    refused("beyond the last address", [](auto& of) { of.first = 0 - ULONGLONG{page}; });
    refused("a write without local write", [](auto& of) { of.access = IB_AC_RDMA_WRITE; });
    refused("windows", [](auto& of) { of.access = IB_AC_LOCAL_WRITE | IB_AC_MW_BIND; });
    refused("another index", [](auto& of) { of.rkey += 0x100; });
    EXPECT_FALSE(keys_.register_pages(all(), &other_pd_));
    EXPECT_FALSE(is_valid(all().rkey));
    EXPECT_TRUE(registers(all()));
}

TEST_P(KeyPages, RegisteredRegion_IsRegisteredAgainOnlyAfterItsKeyEnded) {
    ASSERT_TRUE(registers(all(0x11)));
    EXPECT_FALSE(registers(all(0x12)));
    EXPECT_TRUE(is_valid(all(0x11).rkey));
    EXPECT_FALSE(keys_.invalidate(all(0x12).rkey, &pd_, 1)) << "a key that it does not have";
    EXPECT_FALSE(keys_.invalidate(all(0x11).rkey, &other_pd_, 1));
    EXPECT_TRUE(keys_.invalidate(all(0x11).rkey, &pd_, 1));
    EXPECT_FALSE(is_valid(all(0x11).rkey));
    EXPECT_FALSE(keys_.invalidate(all(0x11).rkey, &pd_, 1)) << "twice";
    ASSERT_TRUE(registers(all(0x12)));
    EXPECT_TRUE(is_valid(all(0x12).rkey));
    EXPECT_FALSE(is_valid(all(0x11).rkey)) << "the key before";
}

TEST_P(KeyPages, RemovedRegion_GivesNoAccess) {
    ASSERT_TRUE(registers(all()));
    const key_holder now = keys_.state_of(region_);
    EXPECT_EQ(now.key, all().rkey);
    EXPECT_EQ(now.range.length, 4 * page);
    EXPECT_TRUE(keys_.try_remove(region_));
    EXPECT_FALSE(is_valid(all().rkey));
    EXPECT_FALSE(registers(all()));
}

TEST_P(KeyPages, Windows_AreNotBoundToPages) {
    ASSERT_TRUE(registers(all()));
    key_holder window{};
    const ULONG key = keys_.insert_window(key_kind::window_2, &pd_, window);
    EXPECT_FALSE(keys_.bind({key, key, all().rkey, base, 8, IB_AC_RDMA_READ}, &pd_, 1));
}

TEST_P(KeyPages, OtherHolders_HaveNoPages) {
    key_holder plain{};
    const ULONG key = keys_.insert({&pd_, base, page, memory_.data(), IB_AC_RDMA_READ}, &plain);
    page_registration what = all();
    what.rkey = key;
    EXPECT_FALSE(registers(what));
    EXPECT_FALSE(is_valid(key)) << "the memory of a plain region is no list of pages";
    EXPECT_FALSE(keys_.invalidate(key, &pd_, 1));
}

IRPVERBS_ON_BOTH_MACHINES(KeyPages);

} // namespace
} // namespace irpverbs::hca_software
