// Our subnet manager and a client of its SA on the bare MAD service, on a software fabric in this
// process.
#pragma once

#include <ibmf/mad.hpp>
#include <subnet_manager/subnet_manager.hpp>
#include <support/coroutines.hpp>
#include <support/topology_file.hpp>
#include <support/verbs.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace irpverbs::testing {

/// A managed fat tree, which may exist beside HCAs of other drivers.
class managed_tree {
public:
    managed_tree(unsigned leaves, unsigned spines, unsigned hosts_of_leaf)
        : file_(fat_tree_file(leaves, spines, hosts_of_leaf)), others_(all_hcas()) {
        EXPECT_EQ(HcaAttach(uri_.c_str(), nullptr), STATUS_SUCCESS);
        for (const ib_guid_t each : all_hcas())
            if (!std::ranges::binary_search(others_, each)) hcas_.push_back(each);
        manager_ = subnet_manager::manager({.hca = hcas_.front(), .light_sweep_ms = 0});
        call_result<void> started;
        manager_.start(started.handler());
        EXPECT_EQ(started.status(), STATUS_SUCCESS);
        call_result<void> up;
        manager_.wait_until_up(up.handler());
        EXPECT_EQ(up.status(), STATUS_SUCCESS);
    }
    ~managed_tree() {
        call_result<void> stopped;
        manager_.stop(stopped.handler());
        stopped.status();
        HcaDetach(uri_.c_str());
    }
    managed_tree(const managed_tree&) = delete;
    managed_tree& operator=(const managed_tree&) = delete;

    /// The HCA of a host; the subnet manager is on the first.
    DEVICE_OBJECT* hca(std::size_t index) const { return HcaFromGuid(hcas_.at(index)); }
    /// The GIDs of the first ports.
    std::vector<ib_gid_t> gids() const {
        std::vector<ib_gid_t> all;
        for (const ib_guid_t each : hcas_)
            all.push_back({IB_DEFAULT_GID_PREFIX, each + 1});
        return all;
    }

private:
    static std::vector<ib_guid_t> all_hcas() {
        ULONG count = 0;
        HcaEnumerate(nullptr, &count);
        std::vector<ib_guid_t> all(count);
        HcaEnumerate(all.data(), &count);
        std::ranges::sort(all);
        return all;
    }

    const topology_file file_;
    const std::string uri_ = file_.uri() + "?unmanaged";
    const std::vector<ib_guid_t> others_;
    std::vector<ib_guid_t> hcas_;
    subnet_manager::manager manager_;
};

/// Requests to the SA, and their responses, by the MAD service alone.
class raw_queries {
public:
    using datagram = std::array<std::uint8_t, IB_MAD_SIZE>;
    /// Writes the request with number `index`, which is its transaction id.
    using writer = std::function<datagram(std::size_t index)>;

    raw_queries(DEVICE_OBJECT* hca, writer request)
        : ca_(open_ca(hca)), request_(std::move(request)) {
        {
            const port_block port(ca_, 1);
            sm_lid_ = port->SmLid;
        }
        IB_MAD_AGENT_ATTR attr{};
        attr.PortNumber = 1;
        attr.ManagementClass = MAD_MGMT_CLASS_SUBN_ADM;
        attr.ClassVersion = 2;
        static constexpr IB_MAD_DISPATCH calls{received};
        verb_call made([&](IRP* irp) { return CiRegisterMadAgent(ca_, &attr, this, &calls, irp); });
        EXPECT_EQ(made.status(), STATUS_SUCCESS);
        agent_ = made.object<IB_MAD_AGENT>();
    }
    ~raw_queries() {
        verb_call gone([&](IRP* irp) { return CiDeregisterMadAgent(agent_, irp); });
        EXPECT_EQ(gone.status(), STATUS_SUCCESS);
        EXPECT_EQ(close_ca(ca_), STATUS_SUCCESS);
    }
    raw_queries(const raw_queries&) = delete;
    raw_queries& operator=(const raw_queries&) = delete;

    /// Sends `count` requests, `depth` at a time; false if a response has an error status.
    bool ask(std::size_t count, std::size_t depth) {
        signal all;
        all_ = &all;
        count_ = count;
        next_ = completed_ = 0;
        for (std::size_t i = 0; i < depth; ++i)
            send_next();
        all.wait();
        return refused_ == 0;
    }

private:
    struct send {
        IB_MAD_SEND what{};
        datagram bytes{};
    };

    static void received(IB_MAD_AGENT*, void* context, const IB_MAD_RECEIVED* what) {
        auto& self = *static_cast<raw_queries*>(context);
        const auto* const bytes = static_cast<const std::uint8_t*>(what->Data);
        const auto header = ibmf::load_mad_header(
            std::span<const std::uint8_t, ibmf::mad_header::size>(bytes, ibmf::mad_header::size));
        if (header.status != 0) ++self.refused_;
        self.send_next();
        if (++self.completed_ == self.count_) self.all_->set();
    }
    void send_next() {
        const std::size_t index = next_++;
        if (index >= count_) return;
        auto out = std::make_unique<send>();
        out->bytes = request_(index);
        out->what.To.Lid = sm_lid_;
        out->what.To.Qp = 1;
        out->what.To.QKey = IB_QP1_QKEY;
        out->what.Data = out->bytes.data();
        out->what.Length = IB_MAD_SIZE;
        out->what.ResponseTimeout = 5000;
        IRP* const irp = IoAllocateIrp(1, FALSE);
        IoSetCompletionRoutine(irp, sent, out.get(), TRUE, TRUE, TRUE);
        CiSendMad(agent_, &out.release()->what, irp);
    }
    static NTSTATUS sent(DEVICE_OBJECT*, IRP* irp, void* context) {
        const std::unique_ptr<send> gone(static_cast<send*>(context));
        EXPECT_EQ(irp->IoStatus.Status, STATUS_SUCCESS);
        IoFreeIrp(irp);
        return STATUS_MORE_PROCESSING_REQUIRED;
    }

    IB_CA* ca_;
    const writer request_;
    IB_MAD_AGENT* agent_ = nullptr;
    ib_lid_t sm_lid_ = 0;
    signal* all_ = nullptr;
    std::size_t count_ = 0;
    std::atomic<std::size_t> next_{0};
    std::atomic<std::size_t> completed_{0};
    std::atomic<unsigned> refused_{0};
};

} // namespace irpverbs::testing
