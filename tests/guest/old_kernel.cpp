// Replaces a function of libibumad: with IRPVERBS_OLD_KERNEL in the environment it rejects all
// flags as kernels before 3.18 do, so that the kernel does RMPP.
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <infiniband/umad.h>

extern "C" int umad_register2(int port_fd, umad_reg_attr* attr, std::uint32_t* agent_id) {
    if (attr->flags != 0 && std::getenv("IRPVERBS_OLD_KERNEL") != nullptr) return ENOTTY;
    static const auto real =
        reinterpret_cast<decltype(&umad_register2)>(dlsym(RTLD_NEXT, "umad_register2"));
    return real(port_fd, attr, agent_id);
}
