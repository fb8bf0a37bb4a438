#ifndef IRPVERBS_IBMF_ENGINE_STANDARD_LAYOUT_PTR_HPP
#define IRPVERBS_IBMF_ENGINE_STANDARD_LAYOUT_PTR_HPP

#include <cstddef>
#include <utility>

namespace irpverbs::ibmf {

/// A std::unique_ptr of standard layout, for owners with members that lead back to them
/// (CONTAINING_RECORD).
template <class Unique>
class standard_layout_ptr {
public:
    using pointer = typename Unique::pointer;

    standard_layout_ptr() = default;
    standard_layout_ptr(const standard_layout_ptr&) = delete;
    ~standard_layout_ptr() { reset(); }
    standard_layout_ptr& operator=(const standard_layout_ptr&) = delete;
    standard_layout_ptr& operator=(Unique other) {
        reset(other.release());
        return *this;
    }

    pointer release() { return std::exchange(held_, nullptr); }
    void reset(pointer fresh = nullptr) { const Unique last(std::exchange(held_, fresh)); }
    pointer get() const { return held_; }
    pointer operator->() const { return held_; }
    auto& operator*() const { return *held_; }
    bool operator==(std::nullptr_t) const { return held_ == nullptr; }

private:
    pointer held_ = nullptr;
};

} // namespace irpverbs::ibmf

#endif
