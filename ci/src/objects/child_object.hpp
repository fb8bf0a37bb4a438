// The base of the objects below a channel adapter: completion queues, agents, protection domains,
// memory regions, address vectors, queue pairs and their attachments.
#pragma once

#include "hca_device.hpp"
#include "object_memory.hpp"

#include <dispatch/support/checks.hpp>

namespace irpverbs::ci {

/// `Shared` is its HCA_CQ, HCA_PD, ..., `Parent` the object below which it is created. `Object` has
///   name, channel_count, extension_size(HCA_DEVICE),
///   set_up(const create_parameters&, event_channel*): initialises it and `shared`.
template <class Object, class Shared, class Parent>
struct child_object : object {
    using shared_type = Shared;

    /// Null without memory.
    static Object* make(Parent& parent, const create_parameters& wanted) {
        const object_memory<Object> memory(Object::channel_count,
                                           Object::extension_size(parent.device().description));
        if (memory.place == nullptr) return nullptr;
        auto* made = new (memory.place) Object(memory.channels);
        set_parent(made->shared, parent.shared);
        made->shared.Extension = memory.extension;
        made->shared.Reserved = static_cast<object*>(made);
        dispatch::detail::name_object(made, Object::name);
        made->set_up(wanted, memory.channels);
        return made;
    }
    static void destroy(Object* ended) {
        ended->tear_down();
        free_object(ended);
    }
    static Object& of(void* shared) {
        return static_cast<Object&>(object_in(static_cast<Shared*>(shared)->Reserved));
    }
    /// Null for null.
    static object* find(void* shared) { return shared != nullptr ? &of(shared) : nullptr; }
    static Parent& parent_of(hca_device&, void* parent) { return Parent::of(parent); }
    Parent& parent() const { return Parent::of(parent_of_shared(shared)); }
    hca_device& device() const { return parent().device(); }
    /// The client's structure is the first member.
    void* handle() { return &shared; }

    Shared shared{};

protected:
    explicit child_object(event_channel* channels)
        : object(own_lock_, channels, Object::channel_count) {}
    /// Runs before the object is freed.
    void tear_down() {}

private:
    static void set_parent(Shared& child, HCA_CA& ca) { child.Ca = &ca; }
    static void set_parent(Shared& child, HCA_PD& pd) { child.Pd = &pd; }
    static void set_parent(Shared& child, HCA_QP& qp) { child.Qp = &qp; }
    static auto* parent_of_shared(const Shared& child) {
        if constexpr (requires { child.Ca; })
            return child.Ca;
        else if constexpr (requires { child.Pd; })
            return child.Pd;
        else
            return child.Qp;
    }
    void call_up(unsigned, IB_ASYNC_EVENT) override {}

    KSPIN_LOCK own_lock_ = 0;
};

} // namespace irpverbs::ci
