#include "interface.hpp"

#include "address.hpp"
#include "packet.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace irpverbs::hca_software::roce {

namespace {

using address_list = std::unique_ptr<ifaddrs, decltype(&freeifaddrs)>;

address_list all_addresses() {
    ifaddrs* first = nullptr;
    if (getifaddrs(&first) != 0) first = nullptr;
    return {first, freeifaddrs};
}

bool is_ip(const ifaddrs& of) {
    return of.ifa_addr != nullptr &&
           (of.ifa_addr->sa_family == AF_INET || of.ifa_addr->sa_family == AF_INET6);
}

// None: the interface has no hardware address of 6 bytes.
std::optional<hardware_address> hardware_of(const ifaddrs& of) {
    if (of.ifa_addr == nullptr || of.ifa_addr->sa_family != AF_PACKET) return std::nullopt;
    const auto& link = reinterpret_cast<const sockaddr_ll&>(*of.ifa_addr);
    hardware_address made;
    std::copy_n(link.sll_addr, made.size(), made.begin());
    if (link.sll_halen != made.size() || made == hardware_address{}) return std::nullopt;
    return made;
}

// As an interface identifier of IPv6; that of an IPv4 address is ISATAP's. Source: RFC 5214.
ib_guid_t guid_of_address(const ib_gid_t& gid) {
    constexpr std::uint64_t isatap = 0x02005EFE;
    return is_ipv4(gid) ? isatap << 32 | (gid.gid_guid & 0xFFFFFFFF) : gid.gid_guid;
}

ULONG mtu_of(const std::string& name) {
    const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (any < 0) return 0;
    ifreq request{};
    std::copy_n(name.data(), std::min<std::size_t>(name.size(), IFNAMSIZ - 1), request.ifr_name);
    const bool known = ioctl(any, SIOCGIFMTU, &request) == 0;
    close(any);
    return known ? static_cast<ULONG>(request.ifr_mtu) : 0;
}

// The interface that has the address, or the loopback interface.
std::string name_of_holder(const ifaddrs* list, const ib_gid_t& gid) {
    const bool is_loopback = is_ipv4(gid) && (gid.gid_guid >> 24 & 0xFF) == 127;
    for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next)
        if (is_ip(*each) &&
            (is_loopback ? (each->ifa_flags & IFF_LOOPBACK) != 0 : gid_of(*each->ifa_addr) == gid))
            return each->ifa_name;
    return {};
}

interface read_interface(const ifaddrs* list, const std::string& name) {
    interface made;
    for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
        if (name != each->ifa_name) continue;
        made.name = name;
        made.is_enabled = (each->ifa_flags & IFF_UP) != 0;
        made.is_up = made.is_enabled && (each->ifa_flags & IFF_RUNNING) != 0;
        if (const auto hardware = hardware_of(*each)) {
            made.hardware = *hardware;
            made.guid = eui64_of(*hardware);
        }
        if (!is_ip(*each)) continue;
        const ib_gid_t gid = gid_of(*each->ifa_addr);
        made.gids.insert(is_link_local(gid) ? made.gids.begin() : made.gids.end(), gid);
    }
    made.index = if_nametoindex(name.c_str());
    made.mtu = mtu_of(name);
    return made;
}

} // namespace

std::optional<interface> find_interface(const std::string& name_or_address) {
    const address_list list = all_addresses();
    const std::optional<ib_gid_t> only = gid_of_text(name_or_address);
    const std::string name = only ? name_of_holder(list.get(), *only) : name_or_address;
    interface made = read_interface(list.get(), name);
    if (made.name.empty()) return std::nullopt;
    if (only) made.gids = {*only};
    if ((only || made.guid == 0) && !made.gids.empty())
        made.guid = guid_of_address(made.gids.front());
    return made;
}

std::optional<ib_gid_t> gid_of_text(const std::string& address) {
    sockaddr_in version_4{};
    version_4.sin_family = AF_INET;
    if (inet_pton(AF_INET, address.c_str(), &version_4.sin_addr) == 1)
        return gid_of(reinterpret_cast<const sockaddr&>(version_4));
    sockaddr_in6 version_6{};
    version_6.sin6_family = AF_INET6;
    if (inet_pton(AF_INET6, address.c_str(), &version_6.sin6_addr) == 1)
        return gid_of(reinterpret_cast<const sockaddr&>(version_6));
    return std::nullopt;
}

std::string text_of(const ib_gid_t& gid) {
    char text[INET6_ADDRSTRLEN] = "";
    socket_address address = address_of(gid, 0, 0);
    const bool is_version_4 = is_ipv4(gid);
    const void* bytes =
        is_version_4
            ? static_cast<const void*>(&reinterpret_cast<sockaddr_in&>(address.value).sin_addr)
            : &reinterpret_cast<sockaddr_in6&>(address.value).sin6_addr;
    inet_ntop(is_version_4 ? AF_INET : AF_INET6, bytes, text, sizeof(text));
    return text;
}

bool is_link_local(const ib_gid_t& gid) { return gid.gid_prefix >> 54 == 0xFE80u >> 6; }

UCHAR path_mtu_of(ULONG mtu) {
    // The longest headers of a packet with a payload: a write's with immediate data.
    constexpr ULONG headers =
        max_route_size + transport::base_transport_size + 16 + 4 + ci::invariant_crc_size;
    UCHAR found = 0;
    for (UCHAR each = IB_MTU_256; each <= IB_MTU_4096; ++each)
        if (mtu >= headers + (128u << each)) found = each;
    return found;
}

} // namespace irpverbs::hca_software::roce
