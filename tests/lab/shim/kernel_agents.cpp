// Open devices and the agents registered on them.
#include "kernel.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/eventfd.h>

namespace shim {

int kernel::open_device(bool issm, int flags) {
    auto file = std::make_unique<user_file>();
    file->descriptor = eventfd(0, ((flags & O_NONBLOCK) != 0 ? EFD_NONBLOCK : 0) | EFD_CLOEXEC);
    file->issm = issm;
    const int descriptor = file->descriptor;
    if (descriptor < 0) return -1;
    if (issm) {
        std::array<std::uint8_t, 4> on{1};
        const std::lock_guard guard(control_lock_);
        link_.ask(control::set_issm, on);
    }
    const std::lock_guard guard(lock_);
    files_[descriptor] = std::move(file);
    return descriptor;
}

bool kernel::owns(int descriptor) {
    const std::lock_guard guard(lock_);
    return files_.contains(descriptor);
}

user_file* kernel::file_of(int descriptor) {
    const auto found = files_.find(descriptor);
    return found != files_.end() ? found->second.get() : nullptr;
}

void kernel::close_device(int descriptor) {
    bool issm = false;
    {
        const std::lock_guard guard(lock_);
        user_file* file = file_of(descriptor);
        if (file == nullptr) return;
        issm = file->issm;
        for (std::uint32_t id = 0; id < user_file::max_agents; ++id)
            drop_agent(*file, id);
        files_.erase(descriptor);
    }
    if (!issm) return;
    std::array<std::uint8_t, 4> off{};
    const std::lock_guard guard(control_lock_);
    link_.ask(control::set_issm, off);
}

agent* kernel::agent_of_file(user_file& file, std::uint32_t id) {
    return id < user_file::max_agents ? file.agents[id].get() : nullptr;
}

// True if another agent of this port has that class, version and one of its methods.
bool kernel::claimed(const agent& wanted) const {
    for (const auto& [number, other] : agents_)
        if (other->mad_class == wanted.mad_class && other->version == wanted.version &&
            (!has_oui(wanted.mad_class) || other->oui == wanted.oui) &&
            (other->methods & wanted.methods).any())
            return true;
    return false;
}

int kernel::add_agent(user_file& file, agent made, std::uint32_t& id) {
    if (claimed(made)) {
        errno = EINVAL;
        return -1;
    }
    std::uint32_t place = 0;
    while (place < user_file::max_agents && file.agents[place] != nullptr)
        ++place;
    if (place == user_file::max_agents) {
        errno = ENOMEM;
        return -1;
    }
    while (agents_.contains(next_agent_))
        ++next_agent_;
    made.id = place;
    made.number = next_agent_++;
    file.agents[place] = std::make_unique<agent>(made);
    agents_[made.number] = file.agents[place].get();
    id = place;
    return 0;
}

int kernel::register_agent(int descriptor, ib_user_mad_reg_req& wanted) {
    const std::lock_guard guard(lock_);
    user_file& file = *file_of(descriptor);
    agent made{file,
               0,
               0,
               wanted.qpn,
               wanted.mgmt_class,
               wanted.mgmt_class_version,
               wanted.rmpp_version != 0,
               {wanted.oui[0], wanted.oui[1], wanted.oui[2]},
               {}};
    for (std::size_t method = 0; method < made.methods.size(); ++method)
        made.methods[method] = (wanted.method_mask[method / 32] >> (method % 32) & 1u) != 0;
    return add_agent(file, made, wanted.id);
}

int kernel::register_agent2(int descriptor, ib_user_mad_reg_req2& wanted) {
    const std::lock_guard guard(lock_);
    user_file& file = *file_of(descriptor);
    if ((wanted.flags & ~static_cast<std::uint32_t>(IB_USER_MAD_REG_FLAGS_CAP)) != 0) {
        wanted.flags = IB_USER_MAD_REG_FLAGS_CAP;
        errno = EINVAL;
        return -1;
    }
    const bool in_user_space = (wanted.flags & IB_USER_MAD_USER_RMPP) != 0;
    agent made{file,
               0,
               0,
               wanted.qpn,
               static_cast<std::uint8_t>(wanted.mgmt_class),
               static_cast<std::uint8_t>(wanted.mgmt_class_version),
               wanted.rmpp_version != 0 && !in_user_space,
               {static_cast<std::uint8_t>(wanted.oui >> 16),
                static_cast<std::uint8_t>(wanted.oui >> 8), static_cast<std::uint8_t>(wanted.oui)},
               {}};
    for (std::size_t method = 0; method < made.methods.size(); ++method)
        made.methods[method] = (wanted.method_mask[method / 64] >> (method % 64) & 1u) != 0;
    return add_agent(file, made, wanted.id);
}

int kernel::unregister_agent(int descriptor, std::uint32_t id) {
    const std::lock_guard guard(lock_);
    user_file& file = *file_of(descriptor);
    if (agent_of_file(file, id) == nullptr) {
        errno = EINVAL;
        return -1;
    }
    drop_agent(file, id);
    return 0;
}

void kernel::drop_agent(user_file& file, std::uint32_t id) {
    const agent* gone = file.agents[id].get();
    if (gone == nullptr) return;
    const auto its = [&](auto& each) {
        if (std::get<0>(each.first) != gone->number) return false;
        timers_.cancel(each.second.timer);
        return true;
    };
    std::erase_if(requests_, its);
    std::erase_if(sendings_, its);
    std::erase_if(receivings_, its);
    agents_.erase(gone->number);
    file.agents[id].reset();
}

} // namespace shim
