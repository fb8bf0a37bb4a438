#include "domains.hpp"

#include "memory.hpp"

#include <cerrno>
#include <memory>
#include <new>

namespace irpverbs::verbs {

namespace {

constexpr std::uint32_t known_domain_masks =
    IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;

} // namespace

// Objects of a thread domain are used by one thread at a time; their locks cost little then.
ibv_td* allocate_thread_domain(ibv_context* of, ibv_td_init_attr* attr) {
    if (attr->comp_mask != 0) {
        errno = EINVAL;
        return nullptr;
    }
    auto* made = new (std::nothrow) ibv_td{};
    if (made != nullptr) made->context = of;
    return made;
}

int deallocate_thread_domain(ibv_td* td) {
    delete td;
    return 0;
}

// The queues are the HCA's, so nothing is allocated by the functions of the attributes.
ibv_pd* allocate_parent_domain(ibv_context* of, ibv_parent_domain_init_attr* attr) {
    if (attr->pd == nullptr || (attr->comp_mask & ~known_domain_masks) != 0) {
        errno = attr->pd == nullptr ? EINVAL : EOPNOTSUPP;
        return nullptr;
    }
    std::unique_ptr<protection_domain> made(new (std::nothrow) protection_domain{});
    if (made == nullptr) return nullptr;
    made->context = of;
    made->handle = attr->pd->handle;
    made->parent = &protection_domain::of(attr->pd);
    made->pd = made->parent->pd;
    ++made->parent->stand_ins;
    return made.release();
}

} // namespace irpverbs::verbs
