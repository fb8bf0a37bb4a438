// UCX with itself in one process, the peer of the data path.
#include "measurements.hpp"

#include <cstdlib>
#include <vector>

#ifdef BENCH_HAS_UCX
#include <ucp/api/ucp.h>
#endif

namespace irpverbs::bench {

#ifdef BENCH_HAS_UCX
namespace {

constexpr std::size_t region = std::size_t{1} << 20;

// A worker with an endpoint to itself, and memory that the endpoint can write.
class loop {
public:
    explicit loop(ucs_thread_mode_t mode) : source(region, 3), target(region) {
        setenv("UCX_TLS", "self", 0);
        open(mode);
        connect();
        map();
    }
    ~loop() {
        ucp_rkey_destroy(key_);
        ucp_mem_unmap(context_, memory_);
        wait(ucp_ep_close_nbx(endpoint_, nothing()));
        ucp_worker_destroy(worker_);
        ucp_cleanup(context_);
    }
    loop(const loop&) = delete;
    loop& operator=(const loop&) = delete;

    void send_and_receive(std::size_t length) {
        void* received = ucp_tag_recv_nbx(worker_, target.data(), length, 1, ~0ull, nothing());
        void* sent = ucp_tag_send_nbx(endpoint_, source.data(), length, 1, nothing());
        wait(sent);
        wait(received);
    }
    void put(std::size_t length) {
        wait(ucp_put_nbx(endpoint_, source.data(), length,
                         reinterpret_cast<std::uint64_t>(target.data()), key_, nothing()));
    }
    void flush() { wait(ucp_ep_flush_nbx(endpoint_, nothing())); }

    std::vector<char> source;
    std::vector<char> target;

private:
    static const ucp_request_param_t* nothing() {
        static const ucp_request_param_t none{};
        return &none;
    }
    static void expect_ok(ucs_status_t status, const char* what) { expect(status == UCS_OK, what); }
    void wait(void* request) {
        if (request == nullptr) return;
        expect(!UCS_PTR_IS_ERR(request), "UCX request");
        while (ucp_request_check_status(request) == UCS_INPROGRESS)
            ucp_worker_progress(worker_);
        ucp_request_free(request);
    }
    void open(ucs_thread_mode_t mode) {
        ucp_params_t wanted{};
        wanted.field_mask = UCP_PARAM_FIELD_FEATURES;
        wanted.features = UCP_FEATURE_TAG | UCP_FEATURE_RMA;
        ucp_config_t* config = nullptr;
        expect_ok(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
        expect_ok(ucp_init(&wanted, config, &context_), "ucp_init");
        ucp_config_release(config);
        ucp_worker_params_t worker{};
        worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
        worker.thread_mode = mode;
        expect_ok(ucp_worker_create(context_, &worker, &worker_), "ucp_worker_create");
    }
    void connect() {
        ucp_address_t* own = nullptr;
        std::size_t length = 0;
        expect_ok(ucp_worker_get_address(worker_, &own, &length), "ucp_worker_get_address");
        ucp_ep_params_t wanted{};
        wanted.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
        wanted.address = own;
        expect_ok(ucp_ep_create(worker_, &wanted, &endpoint_), "ucp_ep_create");
        ucp_worker_release_address(worker_, own);
    }
    void map() {
        ucp_mem_map_params_t wanted{};
        wanted.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
        wanted.address = target.data();
        wanted.length = target.size();
        expect_ok(ucp_mem_map(context_, &wanted, &memory_), "ucp_mem_map");
        void* packed = nullptr;
        std::size_t length = 0;
        expect_ok(ucp_rkey_pack(context_, memory_, &packed, &length), "ucp_rkey_pack");
        expect_ok(ucp_ep_rkey_unpack(endpoint_, packed, &key_), "ucp_ep_rkey_unpack");
        ucp_rkey_buffer_release(packed);
    }

    ucp_context_h context_{};
    ucp_worker_h worker_{};
    ucp_ep_h endpoint_{};
    ucp_mem_h memory_{};
    ucp_rkey_h key_{};
};

template <ucs_thread_mode_t Mode, class Call>
void measure(run& sample, const Call& call) {
    loop self(Mode);
    call(self);
    const std::uint64_t operations = sample.operations();
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i)
        call(self);
    sample.stop();
    expect(self.target[0] == 3, "bytes");
}

template <ucs_thread_mode_t Mode>
void tag(run& sample) {
    measure<Mode>(sample, [](loop& self) { self.send_and_receive(8); });
}

template <std::size_t Length>
void put_and_flush(run& sample) {
    measure<UCS_THREAD_MODE_SINGLE>(sample, [](loop& self) {
        self.put(Length);
        self.flush();
    });
}

void put(run& sample) {
    measure<UCS_THREAD_MODE_SINGLE>(sample, [](loop& self) { self.put(8); });
}

} // namespace

void add_ucx(catalog& all) {
    all.add("ucx/tag_8_multi", "UCX: tagged send and receive of 8 bytes, thread-safe",
            tag<UCS_THREAD_MODE_MULTI>);
    all.add("ucx/tag_8_single", "the same, for one thread", tag<UCS_THREAD_MODE_SINGLE>);
    all.add("ucx/put_8_flush", "UCX: put of 8 bytes and its completion, for one thread",
            put_and_flush<8>);
    all.add("ucx/put_8", "the same without completion", put);
    all.add("ucx/put_4k_flush", "UCX: put of 4 KiB and its completion", put_and_flush<4096>);
}
#else
void add_ucx(catalog&) {}
#endif

} // namespace irpverbs::bench
