#include "sysfs.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace shim {
namespace {

const std::string device = "/sys/class/infiniband/ibsim0/";

__attribute__((format(printf, 1, 2))) std::string text(const char* format, ...) {
    char buffer[160];
    va_list values;
    va_start(values, format);
    std::vsnprintf(buffer, sizeof buffer, format, values);
    va_end(values);
    return buffer;
}

std::string guid_text(const std::uint8_t* at) {
    return text("%04x:%04x:%04x:%04x", get16(at), get16(at + 2), get16(at + 4), get16(at + 6));
}

const char* name_of(unsigned index, std::initializer_list<const char*> names) {
    return index < names.size() ? names.begin()[index] : "?";
}

int lanes(unsigned width) {
    switch (width) {
    case 1:
        return 1;
    case 2:
        return 4;
    case 4:
        return 8;
    default:
        return 12;
    }
}

} // namespace

sysfs::sysfs(ibsim_link& link) : link_(link) {
    std::string folder = std::filesystem::temp_directory_path() / "umad-shim-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) fatal("mkdtemp");
    folder_ = folder;
    if (!link_.ask(control::node_info, node_) || !link_.ask(control::pkeys, pkeys_))
        fatal("ibsim does not describe the node");
    write_device();
    refresh();
}

sysfs::~sysfs() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

void sysfs::put(const std::string& path, const std::string& what) const {
    const std::filesystem::path file = folder_ + path;
    std::error_code ignored;
    std::filesystem::create_directories(file.parent_path(), ignored);
    if (FILE* out = std::fopen(file.c_str(), "w")) {
        std::fputs(what.c_str(), out);
        std::fclose(out);
    }
}

void sysfs::write_device() const {
    const unsigned type = node_[2];
    put("/sys/class/infiniband_mad/abi_version", "5\n");
    put(device + "node_type",
        text("%u: %s\n", type, name_of(type, {"?", "CA", "SWITCH", "ROUTER"})));
    put(device + "fw_ver", "1\n");
    put(device + "hw_rev", text("%x\n", get32(&node_[32])));
    put(device + "hca_type", "simulator\n");
    put(device + "node_guid", guid_text(&node_[12]) + "\n");
    put(device + "sys_image_guid", guid_text(&node_[4]) + "\n");
}

void sysfs::refresh() {
    attribute now{};
    if (!link_.ask(control::port_info, now) || now == port_) return;
    port_ = now;
    write_port();
}

void sysfs::write_port() const {
    const unsigned number = port_[28] != 0 ? port_[28] : 1;
    const unsigned state = port_[32] & 15;
    const unsigned physical = port_[33] >> 4;
    const unsigned speed = port_[35] >> 4;
    const std::string port = device + text("ports/%u/", number);
    put(port + "lid", text("0x%x\n", get16(&port_[16])));
    put(port + "sm_lid", text("0x%x\n", get16(&port_[18])));
    put(port + "sm_sl", text("%u\n", port_[36] & 15u));
    put(port + "lid_mask_count", text("%u\n", port_[34] & 7u));
    put(port + "state",
        text("%u: %s\n", state, name_of(state, {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE"})));
    put(port + "phys_state", text("%u: %s\n", physical,
                                  name_of(physical, {"NOP", "Sleep", "Polling", "Disabled",
                                                     "Training", "LinkUp", "ErrorRecovery"})));
    const int wide = lanes(port_[31]);
    put(port + "rate",
        text("%d Gb/sec (%dX)\n", wide * 5 * static_cast<int>(speed != 0 ? speed : 1) / 2, wide));
    put(port + "cap_mask", text("0x%08x\n", get32(&port_[20])));
    put(port + "link_layer", "InfiniBand\n");

    std::array<std::uint8_t, 16> gid{};
    const std::uint64_t prefix = get64(&port_[8]) != 0 ? get64(&port_[8]) : 0xfe80000000000000;
    constexpr unsigned switch_node = 2;
    const std::uint64_t guid = get64(&node_[12]) + (node_[2] == switch_node ? 0 : number);
    put32(&gid[0], static_cast<std::uint32_t>(prefix >> 32));
    put32(&gid[4], static_cast<std::uint32_t>(prefix));
    put32(&gid[8], static_cast<std::uint32_t>(guid >> 32));
    put32(&gid[12], static_cast<std::uint32_t>(guid));
    put(port + "gids/0", guid_text(&gid[0]) + ":" + guid_text(&gid[8]) + "\n");
    for (unsigned i = 0; i < 32; ++i)
        put(port + text("pkeys/%u", i), text("0x%04x\n", get16(&pkeys_[2 * i])));
    for (const char* node : {"umad0", "issm0"}) {
        const std::string folder = std::string("/sys/class/infiniband_mad/") + node + "/";
        put(folder + "ibdev", "ibsim0\n");
        put(folder + "port", text("%u\n", number));
    }
}

} // namespace shim
