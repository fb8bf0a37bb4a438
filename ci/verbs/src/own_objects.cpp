#include "own_objects.hpp"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

namespace irpverbs::verbs {

namespace {

struct kept_object {
    IB_CA* ca;
    void* object;
    outcome (*destroy)(void* object);
    std::uint64_t number; // rises
};

struct object_table {
    std::mutex lock;
    std::uint64_t last_number = 0;
    std::unordered_map<const void*, kept_object> objects;
};

object_table& table() {
    static auto* const only = new object_table; // programs may use objects while they exit
    return *only;
}

template <auto Destroy, class Object>
void keep(IB_CA* ca, Object* created) try {
    constexpr auto destroy = [](void* object) {
        return call(Destroy, static_cast<Object*>(object), static_cast<CI_UDATA*>(nullptr));
    };
    object_table& all = table();
    const std::lock_guard guard(all.lock);
    all.objects.insert_or_assign(created, kept_object{ca, created, destroy, ++all.last_number});
} catch (const std::bad_alloc&) {
    return;
}

std::vector<kept_object> take_objects_of(IB_CA* ca) {
    object_table& all = table();
    const std::lock_guard guard(all.lock);
    std::vector<kept_object> taken;
    for (const auto& [key, each] : all.objects)
        if (each.ca == ca) taken.push_back(each);
    for (const kept_object& each : taken)
        all.objects.erase(each.object);
    return taken;
}

} // namespace

void remember(IB_CA* ca, IB_PD* created) { keep<CiDeallocatePd>(ca, created); }
void remember(IB_CA* ca, IB_MR* created) { keep<CiDeregisterMr>(ca, created); }
void remember(IB_CA* ca, IB_MW* created) { keep<CiDeallocateMw>(ca, created); }
void remember(IB_CA* ca, IB_AV* created) { keep<CiDestroyAv>(ca, created); }
void remember(IB_CA* ca, IB_CQ* created) { keep<CiDestroyCq>(ca, created); }
void remember(IB_CA* ca, IB_SRQ* created) { keep<CiDestroySrq>(ca, created); }
void remember(IB_CA* ca, IB_QP* created) { keep<CiDestroyQp>(ca, created); }
void remember(IB_CA* ca, IB_MCAST* created) { keep<CiDetachMcast>(ca, created); }
void remember(IB_CA* ca, IB_XRCD* created) { keep<CiDeallocateXrcd>(ca, created); }

void forget(const void* object) {
    object_table& all = table();
    const std::lock_guard guard(all.lock);
    all.objects.erase(object);
}

void destroy_objects_of(IB_CA* ca) {
    std::vector<kept_object> all = take_objects_of(ca);
    std::ranges::sort(all, std::ranges::greater{}, &kept_object::number);
    // Repeated for objects that were in use: ibv_rereg_mr moves a region to a younger domain, and a
    // window may be older than its region.
    for (std::size_t before = 0; before != all.size();) {
        before = all.size();
        std::erase_if(all, [](const kept_object& each) { return bool{each.destroy(each.object)}; });
    }
}

} // namespace irpverbs::verbs
