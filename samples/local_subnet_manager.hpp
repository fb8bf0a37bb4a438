// The subnet manager of a program's own fabric. docs/decisions/subnet-manager.md.
#pragma once

#include <ci/async.hpp>
#include <hca/hca.hpp>
#include <subnet_manager/subnet_manager.hpp>

#include <boost/asio/use_future.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace samples {

/// Runs a subnet manager for "software:" and "software:FILE", without "?unmanaged" and "?static".
/// The caller attaches the URI's HCAs before the constructor, and detaches them after the
/// destructor.
class local_subnet_manager {
public:
    /// `partitions`: as in OpenSM's partitions.conf. `lmc`: each port has 2^lmc LIDs. Waits until
    /// the subnet is up. Throws boost::system::system_error.
    explicit local_subnet_manager(std::string_view uri, std::string partitions = {},
                                  std::uint8_t lmc = 0) {
        if (!is_wanted(uri)) return;
        const std::optional<port_location> where = first_linked_port();
        if (!where) return;
        manager_ = irpverbs::subnet_manager::manager({.hca = where->hca,
                                                      .port = where->port,
                                                      .lmc = lmc,
                                                      .partitions = std::move(partitions)});
        manager_.start(boost::asio::use_future).get();
        runs_ = true;
        manager_.wait_until_up(boost::asio::use_future).get();
    }
    ~local_subnet_manager() {
        if (runs_) manager_.stop(boost::asio::use_future).wait();
    }
    local_subnet_manager(const local_subnet_manager&) = delete;
    local_subnet_manager& operator=(const local_subnet_manager&) = delete;

    static bool is_wanted(std::string_view uri) {
        const auto has = [uri](const char* option) { return uri.find(option) != uri.npos; };
        return uri.starts_with("software:") && !has("?unmanaged") && !has("?static");
    }

private:
    struct port_location {
        ib_guid_t hca;
        std::uint8_t port;
    };

    static std::optional<port_location> first_linked_port() {
        for (const ib_guid_t guid : irpverbs::hca::guids()) {
            auto ca = irpverbs::ci::open_ca(HcaFromGuid(guid), boost::asio::use_future).get();
            const auto all = irpverbs::ci::query_ca(ca, boost::asio::use_future).get();
            ca.async_close(boost::asio::use_future).get();
            for (const IB_PORT_ATTR& each : irpverbs::ci::ports(*all))
                if (each.State != IB_PORT_DOWN) return port_location{guid, each.PortNumber};
        }
        return std::nullopt;
    }

    irpverbs::subnet_manager::manager manager_;
    bool runs_ = false;
};

} // namespace samples
