#include "served_objects.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

namespace irpverbs::ual {

namespace {

using dispatch::detail::spin_guard;

constexpr unsigned type_shift = 56;
constexpr unsigned slot_shift = 32;
constexpr std::uint32_t slot_mask = 0xFFFFFF;

std::uint64_t make_handle(ci::crossing::object_type type, std::uint32_t slot,
                          std::uint32_t generation) {
    return std::uint64_t{type} << type_shift | std::uint64_t{slot} << slot_shift | generation;
}

std::uint32_t slot_in(std::uint64_t handle) {
    return static_cast<std::uint32_t>(handle >> slot_shift) & slot_mask;
}

} // namespace

served_objects::~served_objects() {
    while (!in_order_.empty())
        remove(in_order_.front());
}

// Under the lock.
bool served_objects::free_slot(std::uint32_t& index) try {
    if (free_.empty()) {
        if (slots_.size() > slot_mask) return false;
        free_.reserve(slots_.size() + 1);
        slots_.emplace_back();
        free_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
    }
    index = free_.back();
    free_.pop_back();
    return true;
} catch (const std::bad_alloc&) {
    return false;
}

bool served_objects::give_handle(served_object& place) {
    const spin_guard guard(lock_);
    std::uint32_t index = 0;
    if (!free_slot(index)) return false;
    slot& chosen = slots_[index];
    chosen.used = &place;
    place.handle = make_handle(place.type, index, chosen.generation);
    in_order_.push_back(place);
    return true;
}

served_object* served_objects::reserve(ci::crossing::object_type type) {
    if (!own_.charge()) return nullptr;
    if (of_user_.charge()) {
        std::unique_ptr<served_object> made(new (std::nothrow) served_object);
        if (made != nullptr) made->type = type;
        if (made != nullptr && give_handle(*made)) return made.release();
        of_user_.give_back();
    }
    own_.give_back();
    return nullptr;
}

void served_objects::insert(served_object& place, void* object) {
    const spin_guard guard(lock_);
    place.object = object;
    by_address_.insert(place);
}

void served_objects::remove(served_object& place) {
    {
        const spin_guard guard(lock_);
        slot& leaving = slots_[slot_in(place.handle)];
        leaving.used = nullptr;
        ++leaving.generation; // a slot whose generations are used up keeps its last one
        if (leaving.generation != 0) free_.push_back(slot_in(place.handle));
        if (place.object != nullptr) by_address_.erase(by_address_.iterator_to(place));
        in_order_.erase(in_order_.iterator_to(place));
    }
    delete &place;
    of_user_.give_back();
    own_.give_back();
}

// Under the lock.
served_object* served_objects::find(ci::crossing::object_type type, std::uint64_t handle) {
    const std::uint32_t index = slot_in(handle);
    if (index >= slots_.size()) return nullptr;
    served_object* const found = slots_[index].used;
    const bool same = found != nullptr && found->handle == handle && found->type == type;
    return same && found->object != nullptr && !found->ending ? found : nullptr;
}

void served_objects::keep(served_object& region, std::shared_ptr<const mapped_buffer> buffer) {
    const spin_guard guard(lock_);
    if (std::ranges::find(region.buffers, buffer) == region.buffers.end())
        region.buffers.push_back(std::move(buffer));
}

served_object* served_objects::region_of(std::uint64_t handle) {
    const spin_guard guard(lock_);
    return find(HCA_MN_REGISTER_MR, handle);
}

served_queue* served_objects::queue_of(std::uint64_t handle) {
    const spin_guard guard(lock_);
    const served_object* const found = find(HCA_MN_CREATE_CQ, handle);
    return found != nullptr && found->queue && found->queue->begun() ? found->queue.get() : nullptr;
}

served_object* served_objects::begin_end(ci::crossing::object_type type, std::uint64_t handle) {
    const spin_guard guard(lock_);
    served_object* const found = find(type, handle);
    if (found != nullptr) found->ending = true;
    return found;
}

void served_objects::undo_end(served_object& place) {
    const spin_guard guard(lock_);
    place.ending = false;
}

served_object* served_objects::newest() {
    const spin_guard guard(lock_);
    return in_order_.empty() ? nullptr : &in_order_.back();
}

served_object* served_objects::before(served_object& younger) {
    const spin_guard guard(lock_);
    const auto at = in_order_.iterator_to(younger);
    return at != in_order_.begin() ? &*std::prev(at) : nullptr;
}

std::uint64_t served_objects::handle_of(ci::crossing::object_type type, void* object) {
    const spin_guard guard(lock_);
    const auto found = by_address_.find(object);
    return found != by_address_.end() && found->type == type ? found->handle : 0;
}

void* served_objects::object_of(ci::crossing::object_type type, std::uint64_t handle) {
    const spin_guard guard(lock_);
    const served_object* const found = find(type, handle);
    return found != nullptr ? found->object : nullptr;
}

} // namespace irpverbs::ual
