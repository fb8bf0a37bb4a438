// The handles by which a program names an object to a context that it imports.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace irpverbs::verbs {

/// The objects of one type in this process.
template <class Object>
class handle_table {
public:
    static handle_table& only() {
        static auto* const table = new handle_table; // programs may use objects while they exit
        return *table;
    }

    /// Returns the handle of an object. Throws std::bad_alloc.
    std::uint32_t insert(Object& object) {
        const std::lock_guard guard(lock_);
        while (!objects_.try_emplace(++last_, &object).second) {
        }
        return last_;
    }
    void remove(std::uint32_t handle) {
        const std::lock_guard guard(lock_);
        objects_.erase(handle);
    }
    /// Null: there is none.
    Object* find(std::uint32_t handle) {
        const std::lock_guard guard(lock_);
        const auto place = objects_.find(handle);
        return place == objects_.end() ? nullptr : place->second;
    }

private:
    std::mutex lock_;
    std::uint32_t last_ = 0;
    std::unordered_map<std::uint32_t, Object*> objects_;
};

} // namespace irpverbs::verbs
