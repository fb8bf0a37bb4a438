// Finds transactions by the 64-bit id of the client or the peer. Ids need not be unique.
#ifndef IRPVERBS_IBMF_ENGINE_TID_INDEX_HPP
#define IRPVERBS_IBMF_ENGINE_TID_INDEX_HPP

#include <engine/transaction.hpp>

#include <array>
#include <bit>
#include <memory>

namespace irpverbs::ibmf {

class tid_index {
public:
    tid_index() = default;
    tid_index(const tid_index&) = delete;
    tid_index& operator=(const tid_index&) = delete;

    void insert(transaction& fresh);
    void erase(transaction& gone);

    template <class Predicate>
    transaction* find(std::uint64_t tid, const Predicate& matches) const {
        for (transaction* each = bucket(tid); each != nullptr; each = each->next_of_tid)
            if (each->tid == tid && matches(*each)) return each;
        return nullptr;
    }

private:
    // Fibonacci hashing, since clients use consecutive ids.
    std::size_t slot(std::uint64_t tid) const {
        return static_cast<std::size_t>((tid * 0x9E3779B97F4A7C15u) >> shift_);
    }
    transaction*& bucket(std::uint64_t tid) const { return buckets_[slot(tid)]; }
    void grow();

    static constexpr std::size_t min_buckets = 64;
    std::array<transaction*, min_buckets> first_buckets_{};
    std::unique_ptr<transaction*[]> further_buckets_;
    transaction** buckets_ = first_buckets_.data();
    std::size_t size_ = min_buckets;
    unsigned shift_ = 64 - std::countr_zero(min_buckets);
    std::size_t count_ = 0;
};

} // namespace irpverbs::ibmf

#endif
