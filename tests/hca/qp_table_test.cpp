// The numbers of queue pairs.
#include <qp_table.hpp>
#include <queue_pair.hpp>

#include <support/both_machines.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <vector>

namespace {

using namespace irpverbs::hca_software;
using irpverbs::testing::BothMachines;

/// A table whose entries are one queue pair.
class qp_values {
protected:
    bool has(ib_qpn_t number) const {
        return table_.with(number, [&](const queue_pair* found) { return found == &qp_; });
    }

    alignas(queue_pair) std::byte bytes_[sizeof(queue_pair)]{}; // the table only compares addresses
    queue_pair& qp_ = *reinterpret_cast<queue_pair*>(bytes_);
    qp_table table_;
};

class QpTable : public BothMachines, protected qp_values {};

/// Without the simulator, which would need many steps.
class QpTableOnThreads : public ::testing::Test, protected qp_values {
private:
    irpverbs::dispatch::asio_machine machine_{{.processors = 1}};
    irpverbs::dispatch::machine::scope inside_{machine_};
};

constexpr ib_qpn_t last_number = 0xFFFFFE; // the next one means multicast

TEST_P(QpTable, Numbers_AreUniqueAndFarFromThoseOfAgents) {
    std::set<ib_qpn_t> numbers;
    for (int i = 0; i < 1000; ++i)
        numbers.insert(table_.insert(qp_));
    EXPECT_EQ(numbers.size(), 1000u);
    EXPECT_GE(*numbers.begin(), first_qp_number);
    EXPECT_LE(*numbers.rbegin(), last_number);
    for (const ib_qpn_t number : numbers)
        EXPECT_TRUE(has(number));
}

// Slots go on with 0 behind the last one.
TEST_P(QpTable, FirstNumber_MayBeAny) {
    for (const ULONG place : {0u, 5u, 0x1FFFEu, 0x1FFFFu, 0x7FFFFEu, 0x7FFFFFu}) {
        qp_table table;
        table.begin_at(place);
        std::set<ib_qpn_t> numbers;
        for (int i = 0; i < 200; ++i)
            numbers.insert(table.insert(qp_));
        EXPECT_EQ(numbers.size(), 200u);
        for (const ib_qpn_t number : numbers) {
            EXPECT_GE(number, first_qp_number);
            EXPECT_NE(number | 0x7E0000u, 0xFFFFFFu) << "multicast";
            EXPECT_TRUE(table.with(number, [&](queue_pair* found) { return found == &qp_; }));
            table.remove(number);
            EXPECT_TRUE(table.with(number, [](queue_pair* found) { return found == nullptr; }));
        }
        const ib_qpn_t next = table.insert(qp_);
        EXPECT_FALSE(numbers.contains(next));
    }
}

TEST_P(QpTable, NumberThatNoQueuePairHas_IsNotFound) {
    const ib_qpn_t number = table_.insert(qp_);
    for (const ib_qpn_t other :
         {ib_qpn_t{0}, ib_qpn_t{1}, number + 1, number - 1, number ^ (1u << 17),
          number ^ (1u << 23), number | (1u << 24), ib_qpn_t{0xFFFFFF}, ~ib_qpn_t{0}})
        EXPECT_FALSE(has(other)) << other;
}

TEST_P(QpTable, NumberOfADestroyedQueuePair_IsNotUsedForAWhile) {
    const ib_qpn_t first = table_.insert(qp_);
    table_.remove(first);
    for (int i = 0; i < 2000; ++i) {
        const ib_qpn_t number = table_.insert(qp_);
        ASSERT_NE(number, first) << i;
        ASSERT_FALSE(has(first));
        table_.remove(number);
    }
}

TEST_F(QpTableOnThreads, AllSlotsInUse_InsertFailsUntilOneIsRemoved) {
    std::vector<ib_qpn_t> numbers;
    for (ULONG i = 0; i < max_qps; ++i)
        numbers.push_back(table_.insert(qp_));
    EXPECT_NE(numbers.back(), 0u);
    EXPECT_EQ(table_.insert(qp_), 0u);
    for (const ib_qpn_t number : numbers)
        ASSERT_NE(number | 0x7E0000u, 0xFFFFFFu) << "a later generation would be the multicast QP";
    table_.remove(numbers[5]);
    const ib_qpn_t again = table_.insert(qp_);
    EXPECT_EQ(again & 0x1FFFFu, 5u);
    EXPECT_TRUE(has(again));
    EXPECT_FALSE(has(numbers[5]));
}

IRPVERBS_ON_BOTH_MACHINES(QpTable);

} // namespace
