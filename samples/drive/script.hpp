// Scripts of user mode: what is opened, read, written, cancelled and unplugged, by whom.
#pragma once

#include <dispatch/ntdef.h>
#include <dispatch/ntstatus.h>
#include <irp/device_security.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace drive {

enum class verb : std::uint8_t {
    open,
    read,
    write,
    ioctl,
    flush,
    cancel,
    close,
    add,
    start,
    stop,
    remove,
    unplug,
    shutdown,
    sleep,
    interrupt,
};

struct command {
    verb what;
    int line;
    std::string text;               // as written
    std::string file;               // the script's name of the file
    std::string path;               // open; behind the device, if there is an interface
    std::optional<GUID> interface;  // open: the class of a device interface
    ULONG code = 0;                 // ioctl
    std::string input;              // write, ioctl
    std::string becomes;            // ioctl: what another thread writes over the input; or empty
    ULONG length = 0;               // read: bytes; ioctl: of output; sleep: ms
    std::vector<NTSTATUS> expected; // empty: any status
    bool may_stay_pending = false;  // read, write, ioctl: to the end
    std::string completes;          // an actor, none of whose requests stays pending; or empty
    IRP_ACCOUNT account = IrpAccountAdministrator; // open
};

/// A value of the driver's registry key.
struct setting {
    std::string key; // below the driver's, with backslashes; may be empty
    std::string name;
    std::optional<ULONG> number; // REG_DWORD; without it `text` is the value, a REG_SZ
    std::string text;
};

enum class resource_kind : std::uint8_t { interrupt, port, memory };

/// What IRP_MN_START_DEVICE assigns to the device.
struct resource {
    resource_kind kind;
    ULONG bytes = 0; // of ports and memory
};

struct actor {
    std::string name;
    std::vector<command> commands;
};

struct script {
    std::vector<setting> settings;   // before the driver is loaded
    std::vector<resource> resources; // in the order of the lists
    std::vector<command> setup;      // one after the other, before the actors
    std::vector<actor> actors;       // at the same time
    std::vector<command> teardown;
};

/// "pipe.script:3: ...".
struct script_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Throws script_error. `name`: the file's, for errors.
script parse_script(std::string_view text, const std::string& name);

/// Text for --help.
extern const char* const script_help;

} // namespace drive
