// Clients of every kind make valid and invalid calls while datagrams of any content and length
// arrive. No buffer is read past its end, each transport completes once, each message ends, and
// each invalid call fails with its documented status.
#include "../../ibmf/wire_hca.hpp"

#include <ibmf/ibmf_extras.h>
#include <ibmf/mad.hpp>

#include <dispatch/sim_machine.hpp>
#include <dispatch/testing/choices.hpp>

#include <cstdio>
#include <cstdlib>

namespace {

using namespace irpverbs::testing;
namespace ibmf = irpverbs::ibmf;

void require(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "not so: %s\n", what);
    std::abort();
}

/// Reads the bytes of the input, and zeros after its end.
class script {
public:
    explicit script(ibmf::mad_bytes input) : left_(input) {}
    bool over() const { return left_.empty(); }
    unsigned byte() {
        if (left_.empty()) return 0;
        const unsigned value = left_[0];
        left_ = left_.subspan(1);
        return value;
    }
    unsigned number() { return byte() | byte() << 8; }
    ibmf::mad_bytes bytes(std::size_t most) {
        const ibmf::mad_bytes taken = left_.first(std::min(most, left_.size()));
        left_ = left_.subspan(taken.size());
        return taken;
    }

private:
    ibmf::mad_bytes left_;
};

constexpr unsigned max_steps = 48;
constexpr std::size_t longest = 2048; // datagram
constexpr std::size_t max_data = 3000;

struct kind {
    ibmf_client_type_t type;
    std::uint8_t mgmt_class, version;
};
constexpr std::array kinds{
    kind{SUBN_ADM_MANAGER, MAD_MGMT_CLASS_SUBN_ADM, 2},
    kind{SUBN_ADM_AGENT, MAD_MGMT_CLASS_SUBN_ADM, 2},
    kind{BM_MANAGER, MAD_MGMT_CLASS_BM, 1},
    kind{VENDOR_32_MANAGER_AGENT, 0x32, 1},
    kind{SUBN_MANAGER, MAD_MGMT_CLASS_SUBN_DIRECT_ROUTE, 1},
};

enum class habit { keep_silent, respond, respond_at_length, misuse };

/// A client: registered, or not any more.
struct member {
    ibmf_handle_t handle = nullptr;
    ibmf_handle_t gone = nullptr; // its last unregistered handle
    const kind* what = nullptr;
    bool listens = false;
    habit does = habit::keep_silent;
    std::array<std::uint8_t, 1000> table{};

    static void heard(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
        auto& self = *static_cast<member*>(context);
        if (self.does == habit::misuse) self.misuse(msg);
        const bool asked = (msg->im_msgbufs_recv.im_bufs_mad_hdr->R_Method & MAD_RESPONSE_BIT) == 0;
        if (asked && (self.does == habit::respond || self.does == habit::respond_at_length))
            if (self.respond(msg)) return;
        freed(handle, msg, nullptr);
    }
    static void freed(ibmf_handle_t handle, ibmf_msg_t* msg, void*) {
        require(ibmf_free_msg(handle, &msg) == IBMF_SUCCESS, "a received message is freed");
    }
    bool respond(ibmf_msg_t* msg) {
        msg->im_msgbufs_send = msg->im_msgbufs_recv;
        msg->im_msgbufs_send.im_bufs_mad_hdr->R_Method |= MAD_RESPONSE_BIT;
        const bool long_one = does == habit::respond_at_length;
        if (long_one) {
            msg->im_msgbufs_send.im_bufs_cl_data = table.data();
            msg->im_msgbufs_send.im_bufs_cl_data_len = table.size();
        }
        ibmf_retrans_t times{1, 10'000, 1'000, 100'000};
        return ibmf_msg_transport(handle, nullptr, msg, &times, freed, nullptr,
                                  long_one ? IBMF_MSG_TRANS_FLAG_RMPP : 0u) == IBMF_SUCCESS;
    }
    void misuse(ibmf_msg_t* msg) {
        ibmf_handle_t copy = handle;
        require(ibmf_unregister(&copy, 0) == IBMF_BUSY, "a client with a message is busy");
        ibmf_cancel_msg(handle, msg);
        ibmf_stats_t all{};
        require(ibmf_query_stats(handle, B_TRUE, &all) == IBMF_SUCCESS, "counters are read");
    }
};

/// Raises to DISPATCH_LEVEL for the life of the scope.
class at_dispatch_level {
public:
    at_dispatch_level() : before_(KeRaiseIrqlToDpcLevel()) {}
    ~at_dispatch_level() { KeLowerIrql(before_); }
    at_dispatch_level(const at_dispatch_level&) = delete;
    at_dispatch_level& operator=(const at_dispatch_level&) = delete;

private:
    KIRQL before_;
};

/// A message and its send buffers.
struct queued_message {
    member* of = nullptr;
    ibmf_msg_t* msg = nullptr;
    std::array<std::uint8_t, ibmf::mad_header_size> header{};
    std::array<std::uint8_t, 40> class_header{};
    std::array<std::uint8_t, max_data> data{};
    unsigned begun = 0, completed = 0;
    unsigned again = 0; // sends that its callback has still to make
    uint_t flags = 0;

    bool busy() const { return begun != completed; }
    void compose(script& in) {
        constexpr std::array<std::uint8_t, 8> methods{0x01, 0x02, 0x03, 0x05,
                                                      0x06, 0x12, 0x14, 0x81};
        const unsigned shape = in.byte();
        ibmf::store(header, {.mgmt_class = of->what->mgmt_class,
                             .class_version = of->what->version,
                             .method = methods[shape % methods.size()],
                             .transaction_id = shape / 16});
        ibmf_msg_bufs_t& parts = msg->im_msgbufs_send;
        parts.im_bufs_mad_hdr = reinterpret_cast<ib_mad_hdr_t*>(header.data());
        parts.im_bufs_cl_hdr = class_header.data();
        parts.im_bufs_cl_hdr_len = ibmf::layout_of(of->what->mgmt_class).class_header_size;
        parts.im_bufs_cl_data = data.data();
        const std::size_t size = in.number();
        parts.im_bufs_cl_data_len = (shape & 8) != 0 ? size % max_data : size % 64;
        msg->im_msg_sz_limit = (shape & 0x40) != 0 ? 500 : 0;
        msg->im_local_addr.ia_remote_lid = wire::lids[1];
        msg->im_local_addr.ia_remote_qno = of->what->type == SUBN_MANAGER ? 0 : 1;
        msg->im_local_addr.ia_p_key = IB_PKEY_DEFAULT_FULL;
        msg->im_local_addr.ia_q_key = of->what->type == SUBN_MANAGER ? 0 : IB_QP1_QKEY;
    }
    void send() {
        ibmf_retrans_t times{2, 20'000, 5'000, 300'000};
        ++begun;
        const int status = ibmf_msg_transport(of->handle, nullptr, msg, &times, ended, this, flags);
        if (status != IBMF_SUCCESS) --begun;
    }
    static void ended(ibmf_handle_t, ibmf_msg_t* msg, void* context) {
        auto& self = *static_cast<queued_message*>(context);
        require(self.busy() && msg == self.msg, "each transport completes once");
        ++self.completed;
        if (self.again == 0) return;
        --self.again;
        self.send();
    }
    void free() {
        if (busy()) return; // its callback returns it to the client at any moment
        require(ibmf_free_msg(of->handle, &msg) == IBMF_SUCCESS, "a message is freed");
    }
    // At DISPATCH_LEVEL no callback runs between the send and these calls.
    void send_and_use_while_busy() {
        const at_dispatch_level alone;
        const unsigned before = begun;
        send();
        if (begun == before || completed == begun) return;
        ibmf_stats_t all{};
        ibmf_query_stats(of->handle, B_FALSE, &all);
        if (all.st_callbacks_active != 0) return;
        ibmf_msg_t* copy = msg;
        require(ibmf_free_msg(of->handle, &copy) == IBMF_BUSY, "a busy message is not freed");
        send();
        require(begun - completed == 1, "a busy message is not sent");
    }
    // Called while no other thread could allocate the memory that the first call frees.
    void free_twice() {
        ibmf_msg_t* copy = msg;
        free();
        require(ibmf_free_msg(of->handle, &copy) == IBMF_BAD_HANDLE, "a message is freed once");
    }
};

class world {
public:
    explicit world(script& in) : in_(in) {
        joined_.tap = [this](unsigned from, const auto& bytes) {
            if (from == 0 && !ibmf_responds(bytes[3])) request_ = bytes;
            return (lost_ >>= 1, lost_ & 1) == 0;
        };
        for (std::size_t i = 0; i < 2; ++i) // two clients of the SA class, which uses RMPP
            enter(members_[i], 0, i, IBMF_REG_FLAG_RMPP, habit::respond_at_length);
        if ((in.byte() & 1) != 0) enter(peer_, 1, 1, IBMF_REG_FLAG_RMPP, habit::respond_at_length);
    }
    void step() {
        const unsigned what = in_.byte();
        const unsigned which = what >> 4;
        member& who = members_[which % members_.size()];
        queued_message& note = messages_[which % messages_.size()];
        switch (what & 15) {
        case 0:
        case 1:
        case 2:
        case 3:
        case 4:
            inject(which);
            break;
        case 5:
            if (write(note)) note.send_and_use_while_busy();
            break;
        case 6:
            if (note.msg != nullptr) ibmf_cancel_msg(note.of->handle, note.msg);
            break;
        case 7:
            if (note.msg != nullptr) note.free();
            break;
        case 8:
            if (note.msg != nullptr && !note.busy()) note.send();
            break;
        case 9:
            who.handle != nullptr ? leave(who) : enter(who);
            break;
        case 10:
            listen(who);
            break;
        case 11:
            pass(LONGLONG{1} << which);
            break;
        case 12:
            use_what_is_gone(who);
            break;
        case 13:
            lost_ = in_.number();
            break;
        case 14:
            joined_.set_state(0, (which & 1) != 0 ? IB_PORT_DOWN : IB_PORT_ACTIVE);
            break;
        default:
            joined_.await_empty();
            break;
        }
    }
    void end(irpverbs::dispatch::sim_machine& machine) {
        lost_ = 0;
        joined_.await_empty();
        machine.run();
        for (queued_message& each : messages_)
            if (each.msg != nullptr) {
                require(!each.busy(), "each send has ended");
                each.free_twice();
            }
        for (member* const each : {&members_[0], &members_[1], &members_[2], &peer_}) {
            if (each->handle == nullptr) continue;
            ibmf_tear_down_async_cb(each->handle, nullptr, 0);
            machine.run();
            expect_nothing_left(*each);
            require(ibmf_unregister(&each->handle, 0) == IBMF_SUCCESS, "an idle client leaves");
        }
    }

private:
    static bool ibmf_responds(std::uint8_t method) {
        return (method & MAD_RESPONSE_BIT) != 0 || method == MAD_METHOD_TRAP_REPRESS;
    }
    static void expect_nothing_left(const member& of) {
        ibmf_stats_t all{};
        require(ibmf_query_stats(of.handle, B_FALSE, &all) == IBMF_SUCCESS, "counters are read");
        require(all.st_msgs_alloced + all.st_in_flight + all.st_queued + all.st_sends_active +
                        all.st_callbacks_active + all.st_buffers ==
                    0,
                "an idle client holds no resource");
    }
    // Injects arbitrary bytes, or bytes that resemble the last request or its response.
    void inject(unsigned shape) {
        std::vector<UCHAR> bytes(in_.number() % (longest + 1));
        if ((shape & 1) != 0) bytes.resize(IB_MAD_SIZE);
        if ((shape & 2) != 0)
            std::copy_n(request_.begin(), std::min(bytes.size(), request_.size()), bytes.begin());
        if ((shape & 4) != 0 && bytes.size() > 3) bytes[3] |= MAD_RESPONSE_BIT;
        const std::size_t at = std::min<std::size_t>((shape & 8) != 0 ? 24 : 0, bytes.size());
        const ibmf::mad_bytes own =
            in_.bytes(std::min<std::size_t>(in_.byte() % 64, bytes.size() - at));
        std::ranges::copy(own, bytes.begin() + static_cast<std::ptrdiff_t>(at));
        joined_.inject(0, bytes.data(), static_cast<ULONG>(bytes.size()), wire::lids[1]);
        if (++under_way_ % 4 == 0) joined_.await_empty();
    }
    bool write(queued_message& note) {
        const unsigned how = in_.byte();
        if (note.busy()) return true;
        if (note.msg == nullptr) {
            note.of = &members_[how % members_.size()];
            if (note.of->handle == nullptr) return false;
            require(ibmf_alloc_msg(note.of->handle, IBMF_ALLOC_NOSLEEP, &note.msg) == IBMF_SUCCESS,
                    "a message is allocated");
        }
        note.flags = 0;
        if ((how & 0x10) == 0) note.flags |= IBMF_MSG_TRANS_FLAG_SEQ;
        if ((how & 0x20) != 0) note.flags |= IBMF_MSG_TRANS_FLAG_RMPP;
        note.again = how >> 6;
        note.compose(in_);
        return true;
    }
    void enter(member& who) {
        constexpr std::array<uint_t, 3> offloads{0, IBMF_REG_FLAG_NO_OFFLOAD,
                                                 IBMF_REG_FLAG_SINGLE_OFFLOAD};
        const unsigned how = in_.byte();
        enter(who, 0, how % kinds.size(),
              offloads[how / 8 % 3] | ((how & 0x80) != 0 ? 0u : unsigned{IBMF_REG_FLAG_RMPP}),
              static_cast<habit>(how / 32 % 4));
    }
    static void enter(member& who, unsigned end, std::size_t type, uint_t flags, habit does) {
        who.what = &kinds[type];
        who.does = does;
        ibmf_register_info_t info{wire::guids[end], 1, who.what->type};
        ibmf_impl_caps_t capabilities{};
        const int status =
            ibmf_register(&info, IBMF_VERSION, flags, nullptr, nullptr, &who.handle, &capabilities);
        require(status == IBMF_SUCCESS || status == IBMF_PORT_IN_USE, "a client registers");
        if (status == IBMF_SUCCESS) listen(who);
    }
    void leave(member& who) {
        const ibmf_handle_t before = who.handle;
        for (queued_message& each : messages_)
            if (each.of == &who && each.msg != nullptr && !each.busy()) each.free();
        if (who.listens) listen(who);
        const int status = ibmf_unregister(&who.handle, 0);
        require(status == IBMF_SUCCESS || status == IBMF_BUSY, "a client unregisters or is busy");
        if (status != IBMF_SUCCESS) return;
        for (const queued_message& each : messages_)
            require(each.of != &who || each.msg == nullptr, "a client with a message is busy");
        who.gone = before;
    }
    static void listen(member& who) {
        if (who.handle == nullptr) return;
        const int status = who.listens
                               ? ibmf_tear_down_async_cb(who.handle, nullptr, 0)
                               : ibmf_setup_async_cb(who.handle, nullptr, member::heard, &who, 0);
        require(status == IBMF_SUCCESS, "a client starts or stops receiving");
        who.listens = !who.listens;
    }
    static void pass(LONGLONG milliseconds) {
        LARGE_INTEGER from_now;
        from_now.QuadPart = -10'000 * milliseconds;
        KeDelayExecutionThread(KernelMode, FALSE, &from_now);
    }
    void use_what_is_gone(const member& who) {
        if (who.gone == nullptr) return;
        ibmf_handle_t gone = who.gone;
        ibmf_msg_t* msg = nullptr;
        ibmf_stats_t all{};
        require(ibmf_alloc_msg(gone, IBMF_ALLOC_NOSLEEP, &msg) == IBMF_BAD_HANDLE &&
                    ibmf_query_stats(gone, B_FALSE, &all) == IBMF_BAD_HANDLE &&
                    ibmf_setup_async_cb(gone, nullptr, member::heard, nullptr, 0) ==
                        IBMF_BAD_HANDLE &&
                    ibmf_unregister(&gone, 0) == IBMF_BAD_HANDLE,
                "an unregistered handle is bad");
        for (const queued_message& each : messages_)
            if (msg = each.msg; msg != nullptr)
                require(ibmf_free_msg(gone, &msg) == IBMF_BAD_HANDLE &&
                            ibmf_cancel_msg(gone, each.msg) == IBMF_BAD_HANDLE,
                        "an unregistered handle is bad, also with a message");
    }

    script& in_;
    wire joined_;
    std::array<UCHAR, IB_MAD_SIZE> request_{};
    unsigned lost_ = 0; // bit 1: drop the next datagram; higher bits: the ones after it
    unsigned under_way_ = 0;
    std::array<member, 3> members_;
    member peer_; // at the other end, if the input wants one
    std::array<queued_message, 4> messages_;
};

void one_input(ibmf::mad_bytes input) {
    irpverbs::dispatch::random_choices chance(1);
    irpverbs::dispatch::sim_machine machine(chance);
    const irpverbs::dispatch::machine::scope inside(machine);
    script in(input);
    world all(in);
    for (unsigned step = 0; step < max_steps && !in.over(); ++step)
        all.step();
    all.end(machine);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    one_input({data, size});
    return 0;
}
