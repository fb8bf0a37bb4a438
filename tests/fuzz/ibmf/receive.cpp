// Any datagrams to a port with clients that wait, listen and transfer: nothing is read past its
// end, no transaction is told twice, and all that began ends.
#include "../../ibmf/wire_hca.hpp"

#include <ibmf/ibmf_extras.h>
#include <ibmf/mad.hpp>

#include <dispatch/sim_machine.hpp>

#include <cstdlib>

namespace {

using namespace irpverbs::testing;
namespace ibmf = irpverbs::ibmf;

void require(bool condition) {
    if (!condition) std::abort();
}

ibmf_handle_t client(ibmf_client_type_t type) {
    ibmf_register_info_t info{wire::guids[0], 1, type};
    ibmf_handle_t handle = nullptr;
    ibmf_impl_caps_t capabilities{};
    require(ibmf_register(&info, IBMF_VERSION, IBMF_REG_FLAG_RMPP, nullptr, nullptr, &handle,
                          &capabilities) == IBMF_SUCCESS);
    return handle;
}

void free_it(ibmf_handle_t handle, ibmf_msg_t* msg, void*) {
    require(ibmf_free_msg(handle, &msg) == IBMF_SUCCESS);
}

void count(ibmf_handle_t, ibmf_msg_t*, void* calls) { ++*static_cast<int*>(calls); }

// One byte says what the next datagram is, and how much of it comes from the input.
void feed(wire& joined, ibmf::mad_bytes input, const std::array<UCHAR, IB_MAD_SIZE>& request) {
    while (input.size() > 1) {
        const std::uint8_t kind = input[0];
        input = input.subspan(1);
        const std::size_t taken = std::min<std::size_t>(input.size(), kind % 64);
        std::array<UCHAR, IB_MAD_SIZE> bytes = request;
        if ((kind & 0x80) != 0) bytes[3] = 0x92;
        std::copy_n(input.begin(), taken, bytes.begin() + ((kind & 0x40) != 0 ? 24 : 0));
        input = input.subspan(taken);
        joined.inject(0, bytes.data(), kind == 0x3F ? 100 : IB_MAD_SIZE, wire::lids[1]);
        joined.await_empty();
    }
}

void one_input(ibmf::mad_bytes input) {
    irpverbs::dispatch::random_choices chance(1);
    irpverbs::dispatch::sim_machine machine(chance);
    const irpverbs::dispatch::machine::scope inside(machine);
    wire joined;
    std::array<UCHAR, IB_MAD_SIZE> request{};
    joined.tap = [&](unsigned, const auto& bytes) {
        if (bytes[3] == 0x12) request = bytes;
        return false;
    };
    ibmf_handle_t agent = client(SUBN_ADM_AGENT);
    ibmf_handle_t manager = client(SUBN_ADM_MANAGER);
    ibmf_setup_async_cb(agent, nullptr, free_it, nullptr, 0);
    ibmf_setup_async_cb(manager, nullptr, free_it, nullptr, 0);
    ibmf_msg_t* msg = nullptr;
    require(ibmf_alloc_msg(manager, IBMF_ALLOC_SLEEP, &msg) == IBMF_SUCCESS);
    std::array<std::uint8_t, ibmf::mad_header_size> header{};
    ibmf::store(header,
                {.mgmt_class = MAD_MGMT_CLASS_SUBN_ADM, .class_version = 2, .method = 0x12});
    std::array<std::uint8_t, 84> body{};
    msg->im_msgbufs_send = {reinterpret_cast<ib_mad_hdr_t*>(header.data()), nullptr, 0, body.data(),
                            body.size()};
    msg->im_local_addr.ia_remote_lid = wire::lids[1];
    msg->im_local_addr.ia_p_key = IB_PKEY_DEFAULT_FULL;
    int calls = 0;
    require(ibmf_msg_transport(manager, nullptr, msg, nullptr, count, &calls,
                               IBMF_MSG_TRANS_FLAG_SEQ) == IBMF_SUCCESS);
    feed(joined, input, request);
    machine.run();
    require(calls == 1);
    free_it(manager, msg, nullptr);
    for (ibmf_handle_t each : {agent, manager}) {
        require(ibmf_tear_down_async_cb(each, nullptr, 0) == IBMF_SUCCESS);
        require(ibmf_unregister(&each, 0) == IBMF_SUCCESS);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    one_input({data, size});
    return 0;
}
