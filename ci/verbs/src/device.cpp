#include "device.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <endian.h>
#include <mutex>
#include <new>

namespace irpverbs::verbs {

namespace {

template <std::size_t Size, class... Values>
void print(char (&into)[Size], const char* format, Values... values) {
    std::snprintf(into, Size, format, values...);
}

void describe(device& made, const drop_in::device& hca, int index) {
    made.node_type = IBV_NODE_CA;
    made.transport_type = IBV_TRANSPORT_IB;
    made.hca = &hca;
    made.guid = hca.guid;
    made.index = index;
    print(made.name, "%s", hca.name.c_str());
    print(made.dev_name, "uverbs%d", index);
    print(made.dev_path, "/sys/class/infiniband_verbs/uverbs%d", index);
    print(made.ibdev_path, "/sys/class/infiniband/%s", made.name);
}

/// The devices, once they have been listed: they live as long as the process. Throws
/// std::bad_alloc.
std::deque<device>& listed_devices() {
    static std::mutex lock;
    static auto* const all = new std::deque<device>;
    const std::lock_guard guard(lock);
    const auto hcas = drop_in::devices();
    for (std::size_t i = all->size(); i < hcas.size(); ++i)
        describe(all->emplace_back(), hcas[i], static_cast<int>(i));
    return *all;
}

} // namespace

} // namespace irpverbs::verbs

using namespace irpverbs::verbs;
namespace drop_in = irpverbs::drop_in;

extern "C" {

ibv_device** irpverbs_ibv_get_device_list(int* count) try {
    if (count != nullptr) *count = 0;
    std::deque<device>& all = listed_devices();
    const std::size_t size = drop_in::devices().size();
    auto* list = static_cast<ibv_device**>(std::calloc(size + 1, sizeof(ibv_device*)));
    if (list == nullptr) return nullptr;
    for (std::size_t i = 0; i < size; ++i)
        list[i] = &all[i];
    if (count != nullptr) *count = static_cast<int>(size);
    return list;
} catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return nullptr;
}

__be64 irpverbs_ibv_get_device_guid(ibv_device* device) { return htobe64(of(device).guid); }

int irpverbs_ibv_get_device_index(ibv_device* device) { return of(device).index; }

} // extern "C"
