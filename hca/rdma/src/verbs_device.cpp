#include "verbs_device.hpp"

#include "failure.hpp"

#include <algorithm>
#include <cerrno>
#include <endian.h>
#include <span>

namespace irpverbs::hca_rdma {

namespace {

class device_list {
public:
    explicit device_list(const verbs_library& verbs)
        : verbs_(verbs), list_(verbs.get_device_list(&count_)), error_(failure_of(list_)) {}
    ~device_list() {
        if (list_ != nullptr) verbs_.free_device_list(list_);
    }
    device_list(const device_list&) = delete;
    device_list& operator=(const device_list&) = delete;

    int error() const { return error_; }
    std::span<ibv_device* const> all() const {
        if (list_ == nullptr) return {};
        return {list_, static_cast<std::size_t>(count_)};
    }
    verbs_device described(ibv_device* each) const {
        return {each->name, std::string("/dev/infiniband/") + each->dev_name,
                be64toh(verbs_.get_device_guid(each))};
    }
    ibv_device* find(const verbs_device& wanted) const {
        const auto all = this->all();
        const auto place =
            std::ranges::find_if(all, [&](ibv_device* each) { return described(each) == wanted; });
        return place != all.end() ? *place : nullptr;
    }

private:
    const verbs_library& verbs_;
    int count_ = 0;
    ibv_device** list_;
    int error_;
};

} // namespace

int find_devices(const verbs_library& verbs, std::vector<verbs_device>& found) {
    const device_list list(verbs);
    for (ibv_device* each : list.all())
        found.push_back(list.described(each));
    return list.error() == ENOMEM || list.error() == EMFILE ? list.error() : 0;
}

bool is_listed(const verbs_library& verbs, const verbs_device& device) {
    const device_list list(verbs);
    return list.error() != 0 || list.find(device) != nullptr;
}

open_device::open_device(const verbs_library& verbs, const verbs_device& device) : verbs_(verbs) {
    const device_list list(verbs);
    ibv_device* found = list.find(device);
    error_ = list.error() != 0 ? list.error() : ENODEV;
    if (found == nullptr) return;
    context_ = verbs.open_device(found);
    error_ = failure_of(context_);
}

open_device::~open_device() {
    if (context_ != nullptr) verbs_.close_device(context_);
}

} // namespace irpverbs::hca_rdma
