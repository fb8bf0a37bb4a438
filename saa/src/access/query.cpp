#include <access/query.hpp>

#include <access/session_table.hpp>

#include <ibmf/ibmf_extras.h>

namespace irpverbs::saa {

namespace {

constexpr std::uint8_t sa_class_version = 2;

} // namespace

query::query(session_port& its_port, wire_query&& what, bool is_bulk)
    : at(&its_port), request(std::move(what)), hash(request.hash()), bulk(is_bulk) {
    InitializeListHead(&waiters);
    intrusive_ptr_add_ref(at);
}

query* query::make(session_port& its_port, wire_query&& what, bool is_bulk) {
    void* const memory = its_port.sessions().query_memory().allocate();
    return memory != nullptr ? ::new (memory) query(its_port, std::move(what), is_bulk) : nullptr;
}

void query::operator delete(query* gone, std::destroying_delete_t) {
    const boost::intrusive_ptr<session_port> of(gone->at, false);
    gone->~query();
    of->sessions().query_memory().free(gone);
}

query::~query() {
    if (msg != nullptr) at->release_message(msg, stream != nullptr);
    if (counted) at->end_use();
}

bool query::stream_to(std::shared_ptr<detail::record_sink> to) {
    stream.reset(new (std::nothrow) response_stream(std::move(to)));
    return stream != nullptr;
}

int query::address(const ibmf_addr_info_t& to, std::uint64_t transaction_id,
                   std::size_t max_response_size) {
    if (msg == nullptr)
        if (const int status = at->allocate_message(msg); status != IBMF_SUCCESS) return status;
    ibmf::store(header_, {.mgmt_class = MAD_MGMT_CLASS_SUBN_ADM,
                          .class_version = sa_class_version,
                          .method = request.method,
                          .transaction_id = transaction_id,
                          .attribute_id = request.attribute});
    ibmf::store(sa_header_, {.sm_key = request.sm_key, .component_mask = request.components});
    msg->im_local_addr = to;
    msg->im_msg_flags |= IBMF_MSG_FLAGS_PACED;
    msg->im_msg_sz_limit = stream ? 0 : max_response_size;
    ibmf_msg_bufs_t& parts = msg->im_msgbufs_send;
    parts.im_bufs_mad_hdr = reinterpret_cast<ib_mad_hdr_t*>(header_.data());
    parts.im_bufs_cl_hdr = sa_header_.data();
    parts.im_bufs_cl_hdr_len = sa_header_.size();
    parts.im_bufs_cl_data = const_cast<std::uint8_t*>(request.data.data());
    parts.im_bufs_cl_data_len = request.data.size();
    return IBMF_SUCCESS;
}

} // namespace irpverbs::saa
