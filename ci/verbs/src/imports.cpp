// Objects of one context in another that was imported from it. An import is a second structure over
// the same object, which must outlive it.
#include "device_memory.hpp"
#include "handle_table.hpp"
#include "open_device.hpp"

#include <cerrno>
#include <memory>
#include <new>

namespace irpverbs::verbs {

namespace {

// Returns the object of that handle if it belongs to the context's HCA.
template <class Object>
Object* find(ibv_context* importer, std::uint32_t handle) {
    Object* found = handle_table<Object>::only().find(handle);
    const bool belongs =
        found != nullptr && open_device::of(found->context).hca == open_device::of(importer).hca;
    if (belongs) return found;
    errno = EINVAL;
    return nullptr;
}

} // namespace

} // namespace irpverbs::verbs

using namespace irpverbs::verbs;

extern "C" {

ibv_pd* irpverbs_ibv_import_pd(ibv_context* importer, std::uint32_t handle) {
    const auto* origin = find<protection_domain>(importer, handle);
    if (origin == nullptr) return nullptr;
    auto* made = new (std::nothrow) protection_domain{};
    if (made == nullptr) return nullptr;
    made->context = importer;
    made->handle = handle;
    made->pd = origin->pd;
    return made;
}

void irpverbs_ibv_unimport_pd(ibv_pd* pd) { delete &protection_domain::of(pd); }

ibv_mr* irpverbs_ibv_import_mr(ibv_pd* pd, std::uint32_t handle) {
    const auto* origin = find<memory_region>(pd->context, handle);
    if (origin == nullptr) return nullptr;
    auto* made = new (std::nothrow) memory_region{};
    if (made == nullptr) return nullptr;
    static_cast<ibv_mr&>(*made) = *origin;
    made->context = pd->context;
    made->pd = pd;
    made->addr = nullptr; // the importer may be another process, in libibverbs
    made->mr = origin->mr;
    made->access = origin->access;
    return made;
}

void irpverbs_ibv_unimport_mr(ibv_mr* mr) { delete &memory_region::of(mr); }

ibv_dm* irpverbs_ibv_import_dm(ibv_context* importer, std::uint32_t handle) {
    const auto* origin = find<device_memory>(importer, handle);
    if (origin == nullptr) return nullptr;
    auto* made = new (std::nothrow) device_memory{};
    if (made == nullptr) return nullptr;
    static_cast<ibv_dm&>(*made) = *origin;
    made->context = importer;
    made->length = origin->length;
    made->bytes = origin->bytes;
    return made;
}

void irpverbs_ibv_unimport_dm(ibv_dm* dm) { delete &device_memory::of(dm); }

} // extern "C"
