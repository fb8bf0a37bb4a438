// The objects of a connection, by the handles that its client knows them by.
#pragma once

#include "mapped_buffers.hpp"
#include "quota.hpp"
#include "served_queue.hpp"

#include <ci/support/crossing.hpp>

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>

#include <memory>
#include <vector>

namespace irpverbs::ual {

/// An object, or the place of one that is being created.
struct served_object : boost::intrusive::list_base_hook<>, boost::intrusive::set_base_hook<> {
    ci::crossing::object_type type = 0;
    void* object = nullptr; // null while it is being created
    bool ending = false;    // a verb that ends it is under way
    std::uint64_t handle = 0;
    std::unique_ptr<served_queue> queue;                       // of a completion queue with a ring
    std::vector<std::shared_ptr<const mapped_buffer>> buffers; // that a region has, or had
};

/// A handle is {type, slot, generation}. Distinct threads may call all members. IRQL: <=
/// DISPATCH_LEVEL, except for the destructor.
class served_objects final : public ci::crossing::directory {
public:
    served_objects(ULONG most, quota& of_user) : own_(most), of_user_(of_user) {}
    ~served_objects();
    served_objects(const served_objects&) = delete;
    served_objects& operator=(const served_objects&) = delete;

    /// Reserves the place of an object. Null: a limit is reached, or memory is short.
    served_object* reserve(ci::crossing::object_type type);
    /// The object exists now.
    void insert(served_object& place, void* object);
    void remove(served_object& place);

    /// The region has memory in that buffer, which it keeps until it ends: a change may be under
    /// way. Throws std::bad_alloc.
    void keep(served_object& region, std::shared_ptr<const mapped_buffer> buffer);
    /// Null: there is none.
    served_object* region_of(std::uint64_t handle);

    /// The ring of a completion queue, which exists as long as that. Null: it has none.
    served_queue* queue_of(std::uint64_t handle);

    /// Begins the end of an object: its handle is not found any more. Null: there is none.
    served_object* begin_end(ci::crossing::object_type type, std::uint64_t handle);
    /// The verb that should have ended it failed.
    void undo_end(served_object& place);
    /// The object that was created last, or just before another one. Null: there is none. No other
    /// thread removes objects.
    served_object* newest();
    served_object* before(served_object& younger);

    ULONG count() const { return own_.used(); }

    std::uint64_t handle_of(ci::crossing::object_type type, void* object) override;
    void* object_of(ci::crossing::object_type type, std::uint64_t handle) override;

private:
    struct slot {
        served_object* used = nullptr;
        std::uint32_t generation = 1;
    };
    struct address {
        using type = void*;
        void* operator()(const served_object& of) const { return of.object; }
    };

    served_object* find(ci::crossing::object_type type, std::uint64_t handle);
    bool give_handle(served_object& place);
    bool free_slot(std::uint32_t& index);

    KSPIN_LOCK lock_ = 0; // guards all below but the quotas
    quota own_;
    quota& of_user_;
    std::vector<slot> slots_;
    std::vector<std::uint32_t> free_;                // has room for all slots
    boost::intrusive::list<served_object> in_order_; // of creation
    boost::intrusive::set<served_object, boost::intrusive::key_of_value<address>> by_address_;
};

} // namespace irpverbs::ual
