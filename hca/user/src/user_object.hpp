// The driver's part of each object: the extension of HCA_CA, HCA_CQ, ...
#pragma once

#include "expected_reply.hpp"
#include "shared_queue.hpp"
#include "work_count.hpp"

#include <memory>

namespace irpverbs::hca_user {

/// The memory of a region that receives may use.
struct known_region : boost::intrusive::set_base_hook<> {
    bool holds(std::uint64_t address, std::uint64_t length) const {
        return address >= first && length <= size && address - first <= size - length;
    }

    ULONG key = 0;
    std::uint64_t first = 0;
    std::uint64_t size = 0;
};

struct user_object : boost::intrusive::set_base_hook<> {
    user_object(ci::crossing::object_type its_type, void* its_object)
        : type(its_type), object(its_object) {}

    static user_object& of(ci::crossing::object_type type, void* object) {
        return *static_cast<user_object*>(ci::crossing::extension_of(type, object));
    }
    /// Makes that of a new object, with the waits for its events. Null without memory.
    static user_object* make(ci::crossing::object_type type, void* object, connection& via);
    /// Frees what it owns.
    void discard() {
        waits.reset();
        queue.reset();
        counts.reset();
        receives.reset();
    }

    const ci::crossing::object_type type;
    void* const object;       // HCA_CA*, HCA_CQ*, ...
    std::uint64_t handle = 0; // 0 until it exists in the daemon
    connection* via = nullptr;
    void* of_provider = nullptr;          // its handle
    std::atomic<bool> is_provided{false}; // the provider's post function has set it
    verb_request end;                     // reserved for the verb that ends the object
    std::unique_ptr<event_wait[]> waits;
    unsigned wait_count = 0;
    unsigned ended_waits = 0; // for datagrams, to be sent again; of the thread that receives
    // Null: calls of the daemon take their place.
    std::unique_ptr<shared_queue> queue;     // of a completion queue
    std::unique_ptr<qp_counts> counts;       // of a queue pair
    std::unique_ptr<receive_count> receives; // of a shared receive queue
    known_region region;                     // of a region; guarded by the connection
};

/// The connection of an object.
inline connection& connection_of(ci::crossing::object_type type, void* object) {
    return *user_object::of(HCA_MN_OPEN_CA, ci::crossing::ca_of(type, object)).via;
}

} // namespace irpverbs::hca_user
