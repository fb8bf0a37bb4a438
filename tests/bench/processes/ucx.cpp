// UCX between two processes: tags, and puts into the other's private memory, or into memory that
// UCX has allocated and both have mapped.
#include "duels.hpp"
#include "transfers.hpp"

#ifdef BENCH_HAS_UCX
#include <ucp/api/ucp.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace irpverbs::bench {
namespace {

constexpr std::size_t region = std::size_t{1} << 20;

const ucp_request_param_t* nothing() {
    static const ucp_request_param_t none{};
    return &none;
}
void expect_ok(ucs_status_t status, const char* what) { expect(status == UCS_OK, what); }

// Memory of the other process.
struct ucx_target {
    std::uint64_t address = 0;
    ucp_rkey_h key{};
};

// A worker with an endpoint to the other process's, and that process's memory.
class ucx_worker {
public:
    explicit ucx_worker(const meeting& with) : source(region, 3), target(region) {
        setenv("UCX_TLS", "posix,cma", 0);
        open();
        connect(with);
        own_memory = exchange(with, map_private());
        shared_memory = exchange(with, allocate_shared());
        meet(with);
    }
    // It lasts as long as the process.

    void* send(std::size_t length) {
        return started(ucp_tag_send_nbx(endpoint_, source.data(), length, 1, nothing()));
    }
    void* receive(std::size_t length) {
        return started(ucp_tag_recv_nbx(worker_, target.data(), length, 1, ~0ull, nothing()));
    }
    void* put(const ucx_target& to, std::size_t length) {
        return started(
            ucp_put_nbx(endpoint_, source.data(), length, to.address, to.key, nothing()));
    }
    void flush() { wait(started(ucp_ep_flush_nbx(endpoint_, nothing()))); }
    void progress() { ucp_worker_progress(worker_); }
    // True, and the request is no more: it is complete.
    static bool ends(void*& request) {
        if (request != nullptr && ucp_request_check_status(request) == UCS_INPROGRESS) return false;
        if (request != nullptr) ucp_request_free(request);
        request = nullptr;
        return true;
    }
    void wait(void* request) {
        for (poll_limit limit; !ends(request); limit.count())
            progress();
    }

    std::vector<char> source;
    std::vector<char> target;
    ucx_target own_memory; // private
    ucx_target shared_memory;

private:
    static void* started(void* request) {
        expect(!UCS_PTR_IS_ERR(request), "UCX request");
        return request;
    }
    void open() {
        ucp_params_t wanted{};
        wanted.field_mask = UCP_PARAM_FIELD_FEATURES;
        wanted.features = UCP_FEATURE_TAG | UCP_FEATURE_RMA;
        ucp_config_t* config = nullptr;
        expect_ok(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
        expect_ok(ucp_init(&wanted, config, &context_), "ucp_init");
        ucp_config_release(config);
        ucp_worker_params_t worker{};
        worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
        worker.thread_mode = UCS_THREAD_MODE_SINGLE;
        expect_ok(ucp_worker_create(context_, &worker, &worker_), "ucp_worker_create");
    }
    void connect(const meeting& with) {
        ucp_address_t* own = nullptr;
        std::size_t length = 0;
        expect_ok(ucp_worker_get_address(worker_, &own, &length), "ucp_worker_get_address");
        with.send(own, length);
        ucp_worker_release_address(worker_, own);
        const std::vector<std::byte> peer = with.receive();
        ucp_ep_params_t wanted{};
        wanted.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
        wanted.address = reinterpret_cast<const ucp_address_t*>(peer.data());
        expect_ok(ucp_ep_create(worker_, &wanted, &endpoint_), "ucp_ep_create");
    }
    ucp_mem_h map(const ucp_mem_map_params_t& wanted) {
        ucp_mem_h memory{};
        expect_ok(ucp_mem_map(context_, &wanted, &memory), "ucp_mem_map");
        return memory;
    }
    ucp_mem_h map_private() {
        ucp_mem_map_params_t wanted{};
        wanted.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
        wanted.address = target.data();
        wanted.length = target.size();
        return map(wanted);
    }
    ucp_mem_h allocate_shared() {
        ucp_mem_map_params_t wanted{};
        wanted.field_mask = UCP_MEM_MAP_PARAM_FIELD_FLAGS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
        wanted.flags = UCP_MEM_MAP_ALLOCATE;
        wanted.length = region;
        return map(wanted);
    }
    // Both processes have such memory.
    ucx_target exchange(const meeting& with, ucp_mem_h memory) {
        ucp_mem_attr_t known{};
        known.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
        expect_ok(ucp_mem_query(memory, &known), "ucp_mem_query");
        ucx_target made;
        made.address = with.exchange(reinterpret_cast<std::uint64_t>(known.address));
        void* packed = nullptr;
        std::size_t length = 0;
        expect_ok(ucp_rkey_pack(context_, memory, &packed, &length), "ucp_rkey_pack");
        with.send(packed, length);
        ucp_rkey_buffer_release(packed);
        const std::vector<std::byte> peer = with.receive();
        expect_ok(ucp_ep_rkey_unpack(endpoint_, peer.data(), &made.key), "ucp_ep_rkey_unpack");
        return made;
    }
    // The first messages connect the workers.
    void meet(const meeting& with) {
        void* const received = receive(8);
        wait(send(8));
        wait(received);
        flush();
        with.exchange(0);
    }

    ucp_context_h context_{};
    ucp_worker_h worker_{};
    ucp_ep_h endpoint_{};
};

// Requests in the order in which they were made.
template <std::size_t Most>
class requests {
public:
    bool is_full() const { return last_ - first_ == Most; }
    void add(void* made) { all_[last_++ % Most] = made; }
    // True: the oldest one has completed, and is removed.
    bool remove() {
        if (first_ == last_ || !ucx_worker::ends(all_[first_ % Most])) return false;
        ++first_;
        return true;
    }

private:
    std::array<void*, Most> all_{};
    std::size_t first_ = 0;
    std::size_t last_ = 0;
};

// An end for messages of one length. No receive remains posted when a measurement ends, since the
// next one has another length.
template <std::size_t Length>
class ucx_end {
public:
    static constexpr std::size_t window = Length <= 64 ? 64 : 16;

    explicit ucx_end(ucx_worker& worker) : worker_(worker) {}

    bool send() {
        if (sends_.is_full()) return false;
        sends_.add(worker_.send(Length));
        return true;
    }
    void progress() {
        worker_.progress();
        while (sends_.remove()) {
        }
    }
    // The receives that are to be posted for the messages that will still come.
    void await(std::uint64_t messages) {
        to_post_ = messages;
        while (!receives_.is_full() && to_post_ != 0)
            post();
    }
    std::uint64_t receive() {
        worker_.progress();
        std::uint64_t count = 0;
        for (; receives_.remove(); ++count)
            if (to_post_ != 0) post();
        return count;
    }
    void relax() { progress(); }

private:
    void post() {
        receives_.add(worker_.receive(Length));
        --to_post_;
    }

    ucx_worker& worker_;
    requests<window> sends_;
    requests<window> receives_;
    std::uint64_t to_post_ = 0;
};

template <std::size_t Length>
class ucx_duel : public duel {
public:
    ucx_duel(std::shared_ptr<ucx_worker> worker, const meeting& with)
        : with_(with), worker_(std::move(worker)), end_(*worker_) {}

protected:
    const meeting& with_;
    const std::shared_ptr<ucx_worker> worker_;
    ucx_end<Length> end_;
};

class ucx_latency final : public ucx_duel<8> {
public:
    using ucx_duel::ucx_duel;
    void first(std::uint64_t operations) override {
        end_.await((operations + 1) / 2);
        ping(end_, operations);
    }
    void second(std::uint64_t operations) override {
        end_.await((operations + 1) / 2);
        pong(end_, operations);
    }
};

template <std::size_t Length>
class ucx_stream final : public ucx_duel<Length> {
public:
    using ucx_duel<Length>::ucx_duel;
    void first(std::uint64_t operations) override {
        send_stream(this->end_, this->with_, operations, 1);
    }
    void second(std::uint64_t operations) override {
        this->end_.await(operations);
        receive_stream(this->end_, this->with_, operations);
    }
};

template <std::size_t Length>
class ucx_put final : public duel {
public:
    ucx_put(std::shared_ptr<ucx_worker> worker, const meeting& with, const ucx_target& to)
        : with_(with), worker_(std::move(worker)), to_(to) {}
    void first(std::uint64_t operations) override {
        requests<16> all;
        for (std::uint64_t i = 0; i < operations; ++i) {
            for (poll_limit limit; all.is_full() && !all.remove(); limit.count())
                worker_->progress();
            all.add(worker_->put(to_, Length));
        }
        worker_->flush();
        while (all.remove()) {
        }
        with_.words.consumed.store(operations, std::memory_order_release);
    }
    // The other's flush needs its progress.
    void second(std::uint64_t operations) override {
        const auto& done = with_.words.consumed;
        for (poll_limit limit; done.load(std::memory_order_acquire) != operations; limit.count())
            worker_->progress();
    }

private:
    const meeting& with_;
    const std::shared_ptr<ucx_worker> worker_;
    const ucx_target to_;
};

} // namespace

void add_ucx(duels& all, const meeting& with) {
    const auto worker = std::make_shared<ucx_worker>(with);
    all.push_back(
        {"ucx/latency_8", "UCX tag: 8 bytes one way", std::make_shared<ucx_latency>(worker, with)});
    all.push_back({"ucx/stream_8", "UCX tag: 8 bytes, 64 under way",
                   std::make_shared<ucx_stream<8>>(worker, with)});
    all.push_back({"ucx/stream_4k", "UCX tag: 4 KiB, 16 under way",
                   std::make_shared<ucx_stream<4096>>(worker, with)});
    all.push_back({"ucx/stream_64k", "UCX tag: 64 KiB, 16 under way",
                   std::make_shared<ucx_stream<65536>>(worker, with)});
    all.push_back({"ucx/stream_1m", "UCX tag: 1 MiB, 16 under way",
                   std::make_shared<ucx_stream<region>>(worker, with)});
    all.push_back({"ucx/put_64k", "UCX put: 64 KiB into private memory",
                   std::make_shared<ucx_put<65536>>(worker, with, worker->own_memory)});
    all.push_back({"ucx/put_1m", "UCX put: 1 MiB into private memory",
                   std::make_shared<ucx_put<region>>(worker, with, worker->own_memory)});
    all.push_back({"ucx/put_shared_4k", "UCX put: 4 KiB into its own memory",
                   std::make_shared<ucx_put<4096>>(worker, with, worker->shared_memory)});
    all.push_back({"ucx/put_shared_64k", "UCX put: 64 KiB into its own memory",
                   std::make_shared<ucx_put<65536>>(worker, with, worker->shared_memory)});
    all.push_back({"ucx/put_shared_1m", "UCX put: 1 MiB into its own memory",
                   std::make_shared<ucx_put<region>>(worker, with, worker->shared_memory)});
}

} // namespace irpverbs::bench
#else
namespace irpverbs::bench {
void add_ucx(duels&, const meeting&) {}
} // namespace irpverbs::bench
#endif
