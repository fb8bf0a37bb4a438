// Handles refer to objects until they are removed.
#include <dispatch/support/handle_table.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

namespace {

using irpverbs::dispatch::detail::handle_table;
using table = handle_table<std::shared_ptr<int>>;

TEST(HandleTable, Find_OfAnOpenHandle_SharesTheObject) {
    table handles;
    auto object = std::make_shared<int>(42);
    const table::handle opened = handles.insert(object);
    ASSERT_NE(opened, 0u);
    EXPECT_EQ(handles.find(opened), object);
    EXPECT_EQ(object.use_count(), 2);
}

TEST(HandleTable, Remove_Twice_FindsNothingTheSecondTime) {
    table handles;
    auto object = std::make_shared<int>(42);
    const table::handle opened = handles.insert(object);
    EXPECT_EQ(handles.remove(opened), object);
    EXPECT_EQ(object.use_count(), 1);
    EXPECT_EQ(handles.remove(opened), nullptr);
    EXPECT_EQ(handles.find(opened), nullptr);
}

TEST(HandleTable, Insert_InAPlaceUsedBefore_MakesAnotherHandle) {
    table handles;
    std::set<table::handle> all;
    for (int i = 0; i < 1000; ++i) {
        const table::handle opened = handles.insert(std::make_shared<int>(i));
        EXPECT_TRUE(all.insert(opened).second);
        handles.remove(opened);
    }
    const table::handle open = handles.insert(std::make_shared<int>(0));
    for (const table::handle stale : all)
        EXPECT_EQ(handles.find(stale), nullptr);
    EXPECT_NE(handles.find(open), nullptr);
}

TEST(HandleTable, Find_OfWhatIsNoHandle_FindsNothing) {
    table handles;
    std::vector<table::handle> open;
    for (int i = 0; i < 3; ++i)
        open.push_back(handles.insert(std::make_shared<int>(i)));
    const int somewhere = 0;
    const auto address = reinterpret_cast<table::handle>(&somewhere);
    for (const table::handle foreign :
         {table::handle{0}, ~table::handle{0}, table::handle{4}, address, open[1] + 1, open[1] + 2})
        EXPECT_EQ(handles.find(foreign), nullptr) << foreign;
    EXPECT_EQ(*handles.find(open[1]), 1);
}

TEST(HandleTable, Insert_BeyondAMillion_IsRefused) {
    handle_table<int*> handles;
    int object = 0;
    std::size_t count = 0;
    table::handle last = 0;
    while (const table::handle opened = handles.insert(&object)) {
        last = opened;
        ++count;
    }
    EXPECT_EQ(count, std::size_t{1} << 20);
    EXPECT_EQ(handles.remove(last), &object);
    EXPECT_NE(handles.insert(&object), 0u);
    EXPECT_EQ(handles.insert(&object), 0u);
}

} // namespace
