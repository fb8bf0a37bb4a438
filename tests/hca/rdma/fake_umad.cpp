#include "fake_umad.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

namespace irpverbs::testing {

namespace {

fake_umad* now = nullptr;

// Called without the lock: another actor may run when the lock is released, and all actors share
// one errno.
int result(int error, int otherwise) {
    if (error == 0) return otherwise;
    errno = error;
    return -1;
}

template <std::size_t Size>
void put(char (&to)[Size], const std::string& from) {
    from.copy(to, Size - 1);
}

umad_port_t* make_port(const std::string& ca_name, int number, const fake_umad::ca& ca) {
    const fake_umad::port& from = ca.ports[static_cast<std::size_t>(number - 1)];
    auto* made = new umad_port_t{};
    put(made->ca_name, ca_name);
    made->portnum = number;
    made->base_lid = from.lid;
    made->sm_lid = from.sm_lid;
    made->sm_sl = 3;
    made->lmc = 2;
    made->state = from.state;
    made->phys_state = IB_PORT_PHYS_LINK_UP;
    made->rate = 100;
    made->capmask = htobe32(IB_PORT_CAP_TRAP_SUP);
    made->gid_prefix = htobe64(from.prefix);
    made->port_guid = htobe64(ca.guid + static_cast<unsigned>(number));
    made->pkeys_size = static_cast<unsigned>(from.pkeys.size());
    made->pkeys = new std::uint16_t[from.pkeys.size()];
    std::copy(from.pkeys.begin(), from.pkeys.end(), made->pkeys);
    put(made->link_layer, from.link_layer);
    return made;
}

} // namespace

/// The functions in the table.
struct calls {
    static int get_cas_names(char names[][UMAD_CA_NAME_LEN], int most) {
        const std::lock_guard guard(now->lock_);
        if (now->cas.empty()) { // as libibumad does
            std::strcpy(names[0], "mthca0");
            return 1;
        }
        int count = 0;
        for (const auto& [name, ca] : now->cas)
            if (count < most) put(names[count++], name);
        return count;
    }
    static int get_ca(const char* name, umad_ca_t* made) {
        const std::lock_guard guard(now->lock_);
        const auto found = now->cas.find(name);
        if (found == now->cas.end()) return -ENOENT;
        *made = {};
        put(made->ca_name, name);
        put(made->fw_ver, "16.35.2000");
        put(made->hw_ver, "0xa1");
        made->node_type = 1;
        made->node_guid = htobe64(found->second.guid);
        made->system_guid = htobe64(found->second.guid + 0x100);
        made->numports = static_cast<int>(found->second.ports.size());
        for (int i = 1; i <= made->numports; ++i)
            if (i != found->second.unlisted_port)
                made->ports[i] = make_port(name, i, found->second);
        return 0;
    }
    static int release_ca(umad_ca_t* ca) {
        for (umad_port_t* each : ca->ports) {
            if (each != nullptr) delete[] each->pkeys;
            delete each;
        }
        return 0;
    }
    static int get_issm_path(const char*, int port, char* path, int size) {
        std::snprintf(path, static_cast<std::size_t>(size), "/dev/infiniband/issm%d", port - 1);
        return 0;
    }
    static int open_port(const char* name, int port) {
        if (now->open_error != 0) {
            errno = now->open_error;
            return -EIO;
        }
        const std::lock_guard guard(now->lock_);
        if (!now->has_umad || port == now->port_without_umad) return -EINVAL;
        const auto place = std::make_shared<int>();
        *place = now->descriptors.open([place] { return has_something(*place); });
        now->files_[*place].ca = name;
        return *place;
    }
    static int close_port(int descriptor) {
        const std::lock_guard guard(now->lock_);
        now->files_.erase(descriptor);
        now->descriptors.close(descriptor);
        return 0;
    }
    static bool has_something(int descriptor) {
        const std::lock_guard guard(now->lock_);
        const fake_umad::file& file = *now->file_at(descriptor);
        return !file.inbox.empty() || !now->cas.contains(file.ca);
    }
    static std::size_t header_size() { return now->header_bytes; }
    static int register_agent(int, umad_reg_attr* wanted, std::uint32_t* id) {
        const std::lock_guard guard(now->lock_);
        now->registered.push_back(*wanted);
        *id = 3;
        if (IbClassHasOui(wanted->mgmt_class) && wanted->oui == 0) return EINVAL;
        if ((wanted->flags & UMAD_USER_RMPP) != 0 && now->user_rmpp_error != 0)
            return now->user_rmpp_error;
        return fake_umad::take(now->register_errors);
    }
    static int send(int descriptor, int agent, void* from, int length, int timeout, int retries) {
        EXPECT_EQ(agent, 3);
        const int error = try_send(descriptor, from, length, timeout, retries);
        KeSetEvent(&now->sending_, IO_NO_INCREMENT, FALSE);
        return result(error, 0);
    }
    static int try_send(int descriptor, const void* from, int length, int timeout, int retries) {
        const std::lock_guard guard(now->lock_);
        const fake_umad::file* file = now->file_at(descriptor);
        if (!now->cas.contains(file->ca)) return EIO;
        if (const int error = fake_umad::take(now->send_errors); error != 0) return error;
        const auto* header = static_cast<const ib_user_mad_t*>(from);
        const auto* data = reinterpret_cast<const UCHAR*>(header + 1);
        const std::span datagram(data, static_cast<std::size_t>(length));
        if (timeout != 0 && !now->awaited_.insert(hca_rdma::transaction_of(datagram)).second)
            return EINVAL;
        const bool waits = timeout != 0 && now->awaited_.size() > now->max_in_flight;
        fake_umad::sent what{{data, data + length}, header->addr, timeout, retries};
        if (waits)
            now->backlog_.push_back(std::move(what));
        else
            now->sent_.push_back(std::move(what));
        return 0;
    }
    static int receive(int descriptor, void* into, int* length, int) {
        return result(try_receive(descriptor, into, length), 3);
    }
    static int try_receive(int descriptor, void* into, int* length) {
        const std::lock_guard guard(now->lock_);
        fake_umad::file* file = now->file_at(descriptor);
        if (!now->cas.contains(file->ca)) return EIO;
        if (const int error = fake_umad::take(now->receive_errors); error != 0) return error;
        const int room = std::exchange(*length, -77); // which a failure leaves unchanged
        if (file->inbox.empty()) {
            now->descriptors.quiet(descriptor);
            return EAGAIN;
        }
        const fake_umad::message& next = file->inbox.front();
        *length = static_cast<int>(next.datagram.size());
        if (room < *length) return ENOSPC;
        auto* header = static_cast<ib_user_mad_t*>(into);
        header->status = next.status;
        header->addr = next.from;
        std::memcpy(header + 1, next.datagram.data(), next.datagram.size());
        // The result of read(2) minus the header, as libibumad returns it.
        if (next.is_cut) *length = -static_cast<int>(sizeof(ib_user_mad_t) / 2);
        file->inbox.pop_front();
        return 0;
    }
    static bool read_file(const std::string& path, std::string& text) {
        const std::lock_guard guard(now->lock_);
        const auto found = now->files.find(path);
        if (found != now->files.end()) text = found->second;
        return found != now->files.end();
    }
    static int write_file(const std::string& path, std::string_view text) {
        const std::lock_guard guard(now->lock_);
        if (now->write_error == 0) now->files[path] = text;
        return now->write_error;
    }
    // A port's issm file: a process that has it open is the port's subnet manager.
    static int open_file(const std::string& path) {
        const int port = path.back() - '0' + 1;
        const int opened = try_open(port);
        if (opened >= 0) now->verbs.hold_sm(port, true);
        return result(opened >= 0 ? 0 : -opened, opened);
    }
    static int try_open(int port) {
        const std::lock_guard guard(now->lock_);
        if (!now->has_umad) return -ENOENT;
        for (const auto& [descriptor, other] : now->sm_files_)
            if (other == port) return -EAGAIN;
        const int descriptor = now->descriptors.open([] { return false; });
        now->sm_files_[descriptor] = port;
        return descriptor;
    }
    static int close_file(int descriptor) {
        int port = 0;
        {
            const std::lock_guard guard(now->lock_);
            port = now->sm_files_.at(descriptor);
            now->sm_files_.erase(descriptor);
            now->descriptors.close(descriptor);
        }
        now->verbs.hold_sm(port, false);
        return 0;
    }
    static int try_file(const std::string&) { return now->verbs_file_error; }
    static std::unique_ptr<dispatch::descriptor_watch>
    watch(int descriptor, bool (*readable)(void*), void* context) {
        return now->descriptors.watch(descriptor, readable, context);
    }
};

const hca_rdma::os_interface& fake_umad::as_os_interface() {
    static const hca_rdma::os_interface table = {
        .verbs = &fake_verbs::library(),
        .get_cas_names = calls::get_cas_names,
        .get_ca = calls::get_ca,
        .release_ca = calls::release_ca,
        .get_issm_path = calls::get_issm_path,
        .open_port = calls::open_port,
        .close_port = calls::close_port,
        .header_size = calls::header_size,
        .register_agent = calls::register_agent,
        .send = calls::send,
        .receive = calls::receive,
        .read_file = calls::read_file,
        .write_file = calls::write_file,
        .open_file = calls::open_file,
        .close_file = calls::close_file,
        .try_file = calls::try_file,
        .watch = calls::watch,
    };
    return table;
}

fake_umad::fake_umad() {
    now = this;
    KeInitializeEvent(&sending_, SynchronizationEvent, FALSE);
    cas["fake0"].guid = 0x1000;
    files["/sys/class/infiniband/fake0/ports/1/gids/0"] = "fe80:0000:0000:0000:0000:0000:0000:1001";
    files["/sys/class/infiniband/fake0/ports/1/gids/1"] = "fe80:0000:0000:0001:0000:0000:0000:1001";
}

fake_umad::~fake_umad() {
    EXPECT_EQ(open_files(), 0u) << "the driver left files open";
    now = nullptr;
}

void fake_umad::await_sent(std::size_t count) {
    while (all_sent().size() < count)
        KeWaitForSingleObject(&sending_, Executive, KernelMode, FALSE, nullptr);
}

fake_umad::file* fake_umad::file_at(int descriptor) { return &files_.at(descriptor); }

int fake_umad::take(std::deque<int>& errors) {
    if (errors.empty()) return 0;
    const int error = errors.front();
    errors.pop_front();
    return error;
}

void fake_umad::is_closed(std::uint32_t transaction) {
    if (awaited_.erase(transaction) == 0 || backlog_.empty()) return;
    sent_.push_back(std::move(backlog_.front()));
    backlog_.pop_front();
}

void fake_umad::put_into_inbox(const message& what) {
    if (files_.empty()) return;
    if (what.status == 0 && hca_rdma::is_response(what.datagram))
        is_closed(hca_rdma::transaction_of(what.datagram));
    files_.begin()->second.inbox.push_back(what);
    descriptors.notify(files_.begin()->first);
}

void fake_umad::deliver(const message& what) {
    const std::lock_guard guard(lock_);
    put_into_inbox(what);
}

void fake_umad::abandon(const std::vector<UCHAR>& request) {
    const std::lock_guard guard(lock_);
    is_closed(hca_rdma::transaction_of(request));
}

void fake_umad::expire(const std::vector<UCHAR>& request) {
    abandon(request);
    restore(request);
}

void fake_umad::restore(const std::vector<UCHAR>& datagram) {
    message back;
    back.status = ETIMEDOUT;
    back.datagram.assign(datagram.begin(), datagram.begin() + IB_MAD_HEADER_SIZE);
    const std::lock_guard guard(lock_);
    put_into_inbox(back);
}

void fake_umad::remove(const std::string& name) {
    {
        const std::lock_guard guard(lock_);
        cas.erase(name);
        for (const auto& [descriptor, each] : files_)
            if (each.ca == name) descriptors.notify(descriptor);
    }
    verbs.remove(name);
}

} // namespace irpverbs::testing
