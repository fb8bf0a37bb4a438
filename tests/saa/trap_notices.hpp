// The Reports of the tests' SA.
#pragma once

#include <dispatch/ke.h>
#include <saa/sa_recs.h>

#include <boost/endian/conversion.hpp>

#include <atomic>
#include <cstdint>

namespace irpverbs::testing {

/// Counts events of a test; a caller can wait for them.
class event_counter {
public:
    event_counter() { KeInitializeSemaphore(&semaphore_, 0, INT32_MAX); }
    void increment() {
        ++so_far_;
        KeReleaseSemaphore(&semaphore_, 0, 1, FALSE);
    }
    void await(int more) {
        while (more-- > 0)
            KeWaitForSingleObject(&semaphore_, Executive, KernelMode, FALSE, nullptr);
    }
    int so_far() const { return so_far_; }

private:
    std::atomic<int> so_far_{0};
    KSEMAPHORE semaphore_;
};

inline ib_mad_notice_t trap(std::uint16_t number) {
    ib_mad_notice_t notice{};
    notice.IsGeneric = 1;
    notice.Type = MAD_NOTICE_TYPE_SUBNET_MGMT;
    notice.ProducerType_VendorID = MAD_NOTICE_NODETYPE_SUBNET_MANAGEMENT;
    notice.TrapNumber_DeviceID = number;
    return notice;
}

inline ib_mad_notice_t trap_about(std::uint16_t number, const ib_gid_t& gid) {
    ib_mad_notice_t notice = trap(number);
    boost::endian::store_big_u64(notice.DataDetails + 6, gid.gid_prefix);
    boost::endian::store_big_u64(notice.DataDetails + 14, gid.gid_guid);
    return notice;
}

} // namespace irpverbs::testing
