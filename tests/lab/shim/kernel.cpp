#include "kernel.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace shim {
namespace {

constexpr std::size_t header_size = sizeof(ib_user_mad_hdr);
constexpr int keep_after_completion_ms = 10'000;
constexpr int longest_reception_ms = 40'000;

std::int64_t now_ms() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

unsigned number_from(const char* variable, unsigned otherwise) {
    const char* text = std::getenv(variable);
    return text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : otherwise;
}

void raise_event(int descriptor) {
    if (eventfd_write(descriptor, 1) != 0 && errno != EAGAIN) fatal("eventfd");
}

} // namespace

lab_options lab_options::from_environment() {
    lab_options chosen;
    chosen.drop = number_from("LAB_DROP", 0);
    chosen.duplicate = number_from("LAB_DUPLICATE", 0);
    chosen.reorder = number_from("LAB_REORDER", 0);
    chosen.delay_ms = number_from("LAB_DELAY", 0);
    chosen.seed = number_from("LAB_SEED", 1);
    chosen.bounce = number_from("LAB_BOUNCE", 0) != 0;
    chosen.window = number_from("LAB_WINDOW", 64);
    return chosen;
}

kernel& kernel::get() {
    static kernel only;
    return only;
}

kernel::kernel()
    : sysfs_(link_), options_(lab_options::from_environment()), chance_(options_.seed),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), service_([this] { serve(); }) {}

kernel::~kernel() {
    {
        const std::lock_guard guard(lock_);
        link_.flush();
        stopping_ = true;
    }
    wake();
    service_.join();
    std::array<std::uint8_t, 4> nothing{};
    const std::lock_guard guard(control_lock_);
    link_.ask(control::disconnect, nothing);
}

void kernel::wake() const { raise_event(wake_); }

void kernel::serve() {
    std::unique_lock held(lock_);
    while (!stopping_) {
        const bool blocked = !link_.flush();
        const int patience = timers_.next_in(now_ms());
        pollfd events[] = {
            {link_.descriptor(), static_cast<short>(POLLIN | (blocked ? POLLOUT : 0)), 0},
            {wake_, POLLIN, 0}};
        held.unlock();
        poll(events, 2, patience);
        held.lock();
        eventfd_t count = 0;
        if (events[1].revents != 0) eventfd_read(wake_, &count);
        packet incoming;
        constexpr int most_at_once = 64;
        for (int i = 0; i < most_at_once && link_.receive(incoming); ++i)
            arrived_with_faults(incoming);
        timers_.run(now_ms());
    }
}

// ---- files and agents

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
        for (std::uint32_t id = 0; id < user_file::most_agents; ++id)
            drop_agent(*file, id);
        files_.erase(descriptor);
    }
    if (!issm) return;
    std::array<std::uint8_t, 4> off{};
    const std::lock_guard guard(control_lock_);
    link_.ask(control::set_issm, off);
}

agent* kernel::agent_of_file(user_file& file, std::uint32_t id) {
    return id < user_file::most_agents ? file.agents[id].get() : nullptr;
}

// Somebody on this port has that class, version and a method of it already.
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
    while (place < user_file::most_agents && file.agents[place] != nullptr)
        ++place;
    if (place == user_file::most_agents) {
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

std::string kernel::redirected(const std::string& path) {
    const std::lock_guard guard(control_lock_);
    if (path.find("/ports/") != std::string::npos) sysfs_.refresh();
    return sysfs_.real_path(path);
}

// ---- towards the user

void kernel::deliver(agent& to, const packet* from, std::uint32_t status,
                     std::span<const std::uint8_t> content) {
    message made;
    made.header.id = to.id;
    made.header.status = status;
    made.header.length = static_cast<std::uint32_t>(header_size + content.size());
    if (from != nullptr) {
        made.header.qpn = from->sqp;
        made.header.lid = static_cast<__be16>(from->slid);
    }
    made.content.assign(content.begin(), content.end());
    to.file.inbox.push_back(std::move(made));
    // Once a message: an edge-triggered epoll is woken for each, as by the kernel.
    raise_event(to.file.descriptor);
}

ssize_t kernel::read_message(int descriptor, void* into, std::size_t size) {
    for (;;) {
        {
            const std::lock_guard guard(lock_);
            user_file& file = *file_of(descriptor);
            if (!file.inbox.empty()) {
                message& next = file.inbox.front();
                const std::size_t need = header_size + next.content.size();
                const std::size_t least = header_size + std::min(next.content.size(), mad_size);
                if (size < least) {
                    errno = EINVAL;
                    return -1;
                }
                std::memcpy(into, &next.header, header_size);
                std::memcpy(static_cast<char*>(into) + header_size, next.content.data(),
                            std::min(size, need) - header_size);
                if (size < need) { // the caller learns the size and comes back
                    errno = ENOSPC;
                    return -1;
                }
                file.inbox.pop_front();
                eventfd_t count = 0;
                if (file.inbox.empty()) eventfd_read(descriptor, &count);
                return static_cast<ssize_t>(need);
            }
            if (link_.gone()) {
                errno = EIO;
                return -1;
            }
        }
        if ((fcntl(descriptor, F_GETFL) & O_NONBLOCK) != 0) {
            errno = EAGAIN;
            return -1;
        }
        pollfd event{descriptor, POLLIN, 0};
        if (poll(&event, 1, -1) < 0) return -1;
    }
}

// ---- sending

void kernel::emit(const ib_user_mad_hdr& to, std::uint32_t queue_pair, const mad& content) {
    constexpr __be16 permissive = 0xffff;
    packet out;
    out.dlid = to.lid;
    out.slid = to.lid == permissive ? permissive : 0;
    out.dqp = to.qpn;
    out.sqp = htobe32(queue_pair);
    out.length = htobe64(mad_size);
    out.content = content;
    link_.send(out);
    wake();
}

ssize_t kernel::write_message(int descriptor, const void* from, std::size_t size) {
    if (size < header_size + mad_header) {
        errno = EINVAL;
        return -1;
    }
    ib_user_mad_hdr header{};
    std::memcpy(&header, from, header_size);
    const std::span content(static_cast<const std::uint8_t*>(from) + header_size,
                            size - header_size);
    const std::lock_guard guard(lock_);
    if (link_.gone()) {
        errno = ENODEV;
        return -1;
    }
    return send(*file_of(descriptor), header, content);
}

ssize_t kernel::send(user_file& file, const ib_user_mad_hdr& header,
                     std::span<const std::uint8_t> content) {
    agent* from = agent_of_file(file, header.id);
    if (from == nullptr) {
        errno = EINVAL;
        return -1;
    }
    std::vector<std::uint8_t> own(content.begin(), content.end());
    if (own.size() < mad_size) own.resize(mad_size);
    if (!is_response(own.data())) {
        // The upper half of a request's transaction id is the kernel's.
        put32(&own[8], link_.client() << 16 | from->number);
        if (requests_.contains({from->number, class_of(own.data()), low_tid(own.data())})) {
            errno = EINVAL;
            return -1;
        }
    }
    if (from->kernel_rmpp && rmpp::is_active(own.data())) {
        own.resize(std::max(content.size(), data_offset(class_of(own.data()))));
        return send_segmented(*from, header, own);
    }
    if (content.size() > mad_size) {
        errno = EINVAL;
        return -1;
    }
    mad whole{};
    std::memcpy(whole.data(), own.data(), mad_size);
    if (header.timeout_ms != 0 && !is_response(own.data()))
        await_answer(*from, header, whole, header.retries);
    emit(header, from->queue_pair, whole);
    return static_cast<ssize_t>(header_size + content.size());
}

void kernel::await_answer(agent& from, const ib_user_mad_hdr& header,
                          std::span<const std::uint8_t> content, std::uint32_t retries) {
    const request_key key{from.number, class_of(content.data()), low_tid(content.data())};
    request waiting{&from, header, {}, retries, {}};
    std::memcpy(waiting.content.data(), content.data(), std::min(content.size(), mad_size));
    waiting.timer =
        timers_.set(now_ms() + header.timeout_ms, [this, key] { request_expired(key); });
    requests_.emplace(key, waiting);
}

void kernel::request_expired(const request_key& key) {
    request& late = requests_.at(key);
    if (late.left == 0) {
        deliver(*late.owner, nullptr, ETIMEDOUT, std::span(late.content).first(mad_header));
        requests_.erase(key);
        return;
    }
    --late.left;
    late.timer =
        timers_.set(now_ms() + late.header.timeout_ms, [this, key] { request_expired(key); });
    emit(late.header, late.owner->queue_pair, late.content);
}

void kernel::forget(const request_key& key) {
    const auto found = requests_.find(key);
    if (found == requests_.end()) return;
    timers_.cancel(found->second.timer);
    requests_.erase(found);
}

ssize_t kernel::send_segmented(agent& from, const ib_user_mad_hdr& header,
                               std::span<const std::uint8_t> content) {
    const out_key key{from.number, header.lid, get64(&content[8]), class_of(content.data())};
    constexpr int usual_retries = 3;
    const int retries = header.retries != 0 ? static_cast<int>(header.retries) : usual_retries;
    auto transfer =
        std::make_unique<rmpp_out>(content, static_cast<int>(header.timeout_ms), retries,
                                   [this, header, queue_pair = from.queue_pair](const mad& m) {
                                       emit(header, queue_pair, m);
                                   });
    const auto [place, fresh] = sendings_.try_emplace(key);
    if (!fresh) {
        errno = EINVAL;
        return -1;
    }
    place->second = {&from, header, std::move(transfer), {}};
    place->second.transfer->start();
    rearm(key);
    return static_cast<ssize_t>(header_size + content.size());
}

void kernel::rearm(const out_key& key) {
    sending& each = sendings_.at(key);
    timers_.cancel(each.timer);
    each.timer =
        timers_.set(now_ms() + each.transfer->patience_ms(), [this, key] { sending_expired(key); });
}

void kernel::sending_expired(const out_key& key) {
    settle(key, sendings_.at(key).transfer->expired());
}

void kernel::settle(const out_key& key, rmpp_out::state state) {
    sending& each = sendings_.at(key);
    if (state == rmpp_out::state::going) return rearm(key);
    timers_.cancel(each.timer);
    if (state == rmpp_out::state::acknowledged && each.transfer->awaits_answer())
        await_answer(*each.owner, each.header, each.transfer->header(), 0);
    // Of a transfer that the peer ended the user hears nothing.
    if (state == rmpp_out::state::out_of_retries && each.header.timeout_ms != 0)
        deliver(*each.owner, nullptr, ETIMEDOUT, each.transfer->header());
    sendings_.erase(key);
}

// ---- receiving

void kernel::arrived_with_faults(const packet& what) {
    const auto happens = [this](unsigned percent) {
        return percent != 0 && chance_() % 100 < percent;
    };
    if (is_smp(what.content.data()) || what.status != 0) return arrived(what);
    if (happens(options_.drop)) return;
    if (!held_back_ && happens(options_.reorder)) {
        held_back_ = what;
        // Behind the next one, or alone when none comes.
        timers_.set(now_ms() + 5, [this] {
            if (const auto late = std::exchange(held_back_, std::nullopt)) arrived(*late);
        });
        return;
    }
    const int copies = happens(options_.duplicate) ? 2 : 1;
    for (int i = 0; i < copies; ++i)
        if (options_.delay_ms != 0)
            timers_.set(now_ms() + options_.delay_ms, [this, what] { arrived(what); });
        else
            arrived(what);
    if (const auto late = std::exchange(held_back_, std::nullopt)) arrived(*late);
}

agent* kernel::addressee(const std::uint8_t* m) {
    if (is_response(m)) {
        const auto found = agents_.find(agent_of(m));
        return found != agents_.end() ? found->second : nullptr;
    }
    constexpr std::size_t oui_at = 37;
    for (const auto& [number, each] : agents_)
        if (each->mad_class == class_of(m) && each->version == version_of(m) &&
            each->methods[method_of(m) & 0x7f] &&
            (!has_oui(each->mad_class) || std::memcmp(each->oui.data(), m + oui_at, 3) == 0))
            return each;
    return nullptr;
}

// ibsim could not place it: silence, as on a wire, unless asked otherwise.
void kernel::bounced(const std::uint8_t* m) {
    const request_key key{agent_of(m), class_of(m), low_tid(m)};
    if (!options_.bounce || is_response(m) || !requests_.contains(key)) return;
    requests_.at(key).left = 0;
    timers_.cancel(requests_.at(key).timer);
    request_expired(key);
}

void kernel::arrived(const packet& what) {
    const std::uint8_t* m = what.content.data();
    if (what.status != 0) return bounced(m);
    agent* to = addressee(m);
    if (to == nullptr) return;
    if (to->kernel_rmpp && rmpp::is_active(m)) {
        if (rmpp::type_of(m) == rmpp::data)
            segment_arrived(*to, what);
        else
            control_arrived(*to, what);
        return;
    }
    if (is_response(m)) {
        const request_key key{to->number, class_of(m), low_tid(m)};
        const bool raw_segment = rmpp::is_active(m) && !to->kernel_rmpp;
        if (!requests_.contains(key) && !raw_segment) return; // nobody asked, or too late
        forget(key);
    }
    deliver(*to, &what, 0, what.content);
}

void kernel::control_arrived(agent& to, const packet& what) {
    const std::uint8_t* m = what.content.data();
    const out_key key{to.number, static_cast<std::uint16_t>(what.slid), get64(m + 8), class_of(m)};
    const auto found = sendings_.find(key);
    if (found != sendings_.end()) settle(key, found->second.transfer->control(m));
}

void kernel::segment_arrived(agent& to, const packet& what) {
    const std::uint8_t* m = what.content.data();
    const in_key key{to.number, static_cast<std::uint16_t>(what.slid), get64(m + 8), class_of(m),
                     method_of(m)};
    const request_key asked{to.number, class_of(m), low_tid(m)};
    const auto drop = [this, key] { receivings_.erase(key); };
    auto found = receivings_.find(key);
    if (found == receivings_.end()) {
        if (is_response(m) && !requests_.contains(asked)) return;
        ib_user_mad_hdr back{};
        back.lid = static_cast<__be16>(what.slid);
        back.qpn = what.sqp;
        receiving fresh;
        fresh.transfer = std::make_unique<rmpp_in>(
            options_.window, [this, back, queue_pair = to.queue_pair](const mad& reply) {
                emit(back, queue_pair, reply);
            });
        fresh.first = what.content;
        fresh.timer = timers_.set(now_ms() + longest_reception_ms, [this, key] {
            receiving& late = receivings_.at(key);
            late.transfer->abort(late.first.data(), rmpp::too_long);
            receivings_.erase(key);
        });
        found = receivings_.emplace(key, std::move(fresh)).first;
    }
    receiving& each = found->second;
    const auto whole = each.transfer->data(m);
    if (each.transfer->failed()) {
        timers_.cancel(each.timer);
        return drop();
    }
    if (is_response(m)) forget(asked); // the answer is under way: the reception's own time counts
    if (!whole) return;
    timers_.cancel(each.timer);
    each.timer = timers_.set(now_ms() + keep_after_completion_ms, drop);
    deliver(to, &what, 0, *whole);
}

} // namespace shim
