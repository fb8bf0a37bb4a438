#include "user_mode.hpp"

#include "resources.hpp"

#include <dispatch/status.hpp>
#include <dispatch/support/faults.hpp>
#include <dispatch/support/leftovers.hpp>
#include <dispatch/support/unset_bytes.hpp>
#include <dispatch/support/verify.hpp>
#include <irp/file.h>
#include <irp/testing/driver.hpp>
#include <irp/testing/interrupt.h>
#include <irp/testing/pnp.hpp>
#include <irp/testing/shutdown.h>
#include <irp/wdm.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <set>
#include <utility>
#include <vector>

namespace drive {

namespace {

using irpverbs::dispatch::detail::check_leftovers;
using irpverbs::dispatch::detail::free_to_special_pool;
using irpverbs::irp::pnp_device;

constexpr const char16_t* driver_name = u"Drive";
constexpr std::int64_t ticks_of_ms = 10'000;
constexpr std::int64_t patience = 60'000 * ticks_of_ms;
constexpr std::size_t least_unset = 8;
constexpr ULONG longest_pause = 1 << 16; // ms

std::string name_of(NTSTATUS status) {
    const char* name = NtStatusName(status);
    return name != nullptr ? name : std::to_string(static_cast<ULONG>(status));
}

/// A buffer of user mode. After its end it is kept back as freed memory, so that a driver which
/// still uses it is found.
class user_memory {
public:
    explicit user_memory(std::size_t size)
        : size_(size), data_(size == 0 ? nullptr : static_cast<char*>(std::calloc(size, 1))) {
        if (size != 0 && data_ == nullptr) throw std::bad_alloc();
    }
    explicit user_memory(const std::string& text) : user_memory(text.size()) {
        std::copy(text.begin(), text.end(), data_);
    }
    ~user_memory() {
        if (data_ != nullptr) free_to_special_pool(data_, size_, "buffer of user mode");
    }
    user_memory(const user_memory&) = delete;
    user_memory& operator=(const user_memory&) = delete;

    char* data() { return data_; } // null: of no bytes
    std::size_t size() const { return size_; }

private:
    std::size_t size_;
    char* data_;
};

/// An event of one request, for the wait for its completion.
class completion {
public:
    explicit completion(irpverbs::dispatch::sim_machine& machine) : machine_(machine) {
        ZwCreateEvent(&event_, 0, nullptr, NotificationEvent, FALSE);
    }
    ~completion() {
        if (event_ != nullptr) ZwClose(event_);
    }
    completion(const completion&) = delete;
    completion& operator=(const completion&) = delete;

    /// Null: there is none, since its creation was made to fail.
    HANDLE event() const { return event_; }
    IO_STATUS_BLOCK* block() { return &block_; }
    std::size_t returned(const user_memory& output) const {
        return std::min<std::size_t>(block_.Information, output.size());
    }

    /// Waits for the completion. A user without patience cancels the request after a minute, and
    /// waits on; cancelled() is true then.
    NTSTATUS result(NTSTATUS returned, HANDLE file) {
        if (returned != STATUS_PENDING) return returned;
        cancelled_ = !completes_in_time();
        if (cancelled_) {
            pending_ = machine_.dumped_state();
            IO_STATUS_BLOCK ignored{};
            NtCancelIoFileEx(file, &block_, &ignored);
            ZwWaitForSingleObject(event_, FALSE, nullptr);
        }
        return block_.Status;
    }

    bool cancelled() const { return cancelled_; }
    /// The IRPs that were pending when the request was cancelled.
    const std::string& pending() const { return pending_; }

private:
    // The delays of the schedule are not the driver's time.
    bool completes_in_time() {
        const std::uint64_t begun = machine_.interrupt_time() - machine_.delayed_time();
        LARGE_INTEGER limit;
        limit.QuadPart = -patience;
        while (ZwWaitForSingleObject(event_, FALSE, &limit) == STATUS_TIMEOUT) {
            const auto waited = static_cast<std::int64_t>(machine_.interrupt_time() -
                                                          machine_.delayed_time() - begun);
            if (waited >= patience) return false;
            limit.QuadPart = waited - patience;
        }
        return true;
    }

    irpverbs::dispatch::sim_machine& machine_;
    HANDLE event_ = nullptr;
    bool cancelled_ = false;
    std::string pending_;
    IO_STATUS_BLOCK block_{};
};

/// Another thread of user mode, which writes over the input of a request that it does not wait for.
class overwriting_thread {
public:
    overwriting_thread(irpverbs::dispatch::sim_machine& machine, const command& what,
                       user_memory& input) {
        KeInitializeEvent(&ended_, NotificationEvent, FALSE);
        machine.spawn("another thread", [this, &what, &input] {
            std::copy(what.becomes.begin(), what.becomes.end(), input.data());
            KeSetEvent(&ended_, IO_NO_INCREMENT, FALSE);
        });
    }
    ~overwriting_thread() { KeWaitForSingleObject(&ended_, Executive, KernelMode, FALSE, nullptr); }
    overwriting_thread(const overwriting_thread&) = delete;
    overwriting_thread& operator=(const overwriting_thread&) = delete;

private:
    KEVENT ended_;
};

class world {
public:
    world(irpverbs::dispatch::sim_machine& machine, driver_module& module, const script& what)
        : machine_(machine), module_(module), script_(what) {}

    std::optional<std::string> play() {
        KeInitializeMutex(&manager_, 0);
        if (const NTSTATUS status = load(); !NT_SUCCESS(status)) return not_loaded(status);
        perform(script_.setup);
        left_ = script_.actors.size();
        for (const actor& each : script_.actors)
            machine_.spawn(each.name, [this, &each] {
                perform(each.commands, each.name);
                if (--left_ == 0) spawn_teardown();
            });
        if (left_ == 0) spawn_teardown();
        machine_.run();
        if (!unloaded_) return failure_;
        check_leftovers();
        load_again();
        return failure_;
    }

private:
    NTSTATUS load() {
        module_.reset_variables();
        for (const setting& each : script_.settings)
            set(each);
        return irpverbs::irp::load_driver(module_.entry(), driver_name, driver_);
    }

    // Code of the driver that goes on then is found as after an unload.
    std::optional<std::string> not_loaded(NTSTATUS status) {
        if (!a_call_was_made_to_fail()) return "DriverEntry returned " + name_of(status);
        machine_.run();
        module_.check_unloaded();
        check_leftovers();
        return failure_;
    }

    bool a_call_was_made_to_fail() const {
        return irpverbs::dispatch::detail::faults_injected(machine_) != 0;
    }

    static std::u16string wide(const std::string& text) { return {text.begin(), text.end()}; }

    static PWSTR pointer_to(std::u16string& text) { return reinterpret_cast<PWSTR>(text.data()); }

    // Creates the keys of the path one after the other.
    static void set(const setting& what) {
        std::u16string path = driver_name;
        RtlCreateRegistryKey(RTL_REGISTRY_SERVICES, pointer_to(path));
        const std::u16string below = wide(what.key);
        for (std::size_t from = 0; from < below.size();) {
            const std::size_t end = std::min(below.find(u'\\', from), below.size());
            path += u'\\' + below.substr(from, end - from);
            RtlCreateRegistryKey(RTL_REGISTRY_SERVICES, pointer_to(path));
            from = end + 1;
        }
        std::u16string name = wide(what.name);
        std::u16string text = wide(what.text);
        ULONG number = what.number.value_or(0);
        RtlWriteRegistryValue(
            RTL_REGISTRY_SERVICES, pointer_to(path), pointer_to(name),
            what.number ? REG_DWORD : REG_SZ,
            what.number ? static_cast<void*>(&number) : text.data(),
            static_cast<ULONG>(what.number ? sizeof number : (text.size() + 1) * sizeof(WCHAR)));
    }

    // A name that the driver left behind is in the way of the next load.
    void load_again() {
        const NTSTATUS status = load();
        if (NT_SUCCESS(status)) return unload();
        if (status == STATUS_OBJECT_NAME_COLLISION)
            fail("the driver can't be loaded again: DriverEntry returned " + name_of(status) +
                 ", a device or symbolic link is left");
    }

    // Part of the run: the driver's timers, DPCs and threads go on during the unload, and those
    // that it leaves behind run after it.
    void spawn_teardown() {
        machine_.spawn("teardown", [this] { tear_down(); });
    }

    void tear_down() {
        machine_.end_delays();
        perform(script_.teardown);
        close_files();
        remove_device();
        unload();
    }

    void fail(const std::string& what) {
        if (!failure_) failure_ = what;
    }

    /// `who`: the actor; empty: none.
    void perform(const std::vector<command>& commands, const std::string& who = {}) {
        for (const command& each : commands) {
            const NTSTATUS status = perform(each, who);
            if (NT_SUCCESS(status) && !each.completes.empty()) completed_.insert(each.completes);
            check(each, status);
        }
    }

    void check(const command& each, NTSTATUS status) {
        if (each.expected.empty() || a_call_was_made_to_fail() ||
            std::find(each.expected.begin(), each.expected.end(), status) != each.expected.end())
            return;
        std::string expected;
        for (const NTSTATUS one : each.expected)
            expected += (expected.empty() ? "" : " or ") + name_of(one);
        fail("line " + std::to_string(each.line) + ": " + each.text + ": " + name_of(status) +
             ", expected was " + expected);
    }

    NTSTATUS perform(const command& each, const std::string& who) {
        switch (each.what) {
        case verb::open:
            return open(each);
        case verb::read:
        case verb::write:
        case verb::ioctl:
            return request(each, who);
        case verb::flush: {
            IO_STATUS_BLOCK ignored{};
            return NtFlushBuffersFile(files_[each.file], &ignored);
        }
        case verb::cancel: {
            IO_STATUS_BLOCK ignored{};
            return NtCancelIoFileEx(files_[each.file], nullptr, &ignored);
        }
        case verb::close:
            return NtClose(std::exchange(files_[each.file], nullptr));
        case verb::shutdown:
            return IrpShutDown();
        case verb::sleep:
            return pause(each.length);
        case verb::interrupt:
            if (vector_ == 0) return STATUS_INVALID_DEVICE_STATE;
            return IrpRaiseInterrupt(vector_) ? STATUS_SUCCESS : STATUS_NOT_FOUND;
        default:
            return plug_and_play(each.what);
        }
    }

    static NTSTATUS pause(ULONG ms) {
        LARGE_INTEGER time;
        time.QuadPart = -static_cast<std::int64_t>(ms) * ticks_of_ms;
        return KeDelayExecutionThread(KernelMode, FALSE, &time);
    }

    // The path of the first enabled interface of a class; empty: there is none.
    static std::u16string path_of(const command& each) {
        if (!each.interface) return wide(each.path);
        PZZWSTR links = nullptr;
        if (!NT_SUCCESS(IoGetDeviceInterfaces(&*each.interface, nullptr, 0, &links))) return {};
        const std::u16string first(reinterpret_cast<const char16_t*>(links));
        ExFreePool(links);
        return first.empty() ? first : first + wide(each.path);
    }

    NTSTATUS open(const command& each) {
        const std::u16string path = path_of(each);
        if (path.empty()) return STATUS_OBJECT_NAME_NOT_FOUND;
        UNICODE_STRING name{static_cast<USHORT>(path.size() * sizeof(WCHAR)),
                            static_cast<USHORT>(path.size() * sizeof(WCHAR)),
                            reinterpret_cast<PWSTR>(const_cast<char16_t*>(path.data()))};
        OBJECT_ATTRIBUTES attributes;
        InitializeObjectAttributes(&attributes, &name, OBJ_CASE_INSENSITIVE, nullptr, nullptr);
        IO_STATUS_BLOCK block{};
        HANDLE file = nullptr;
        IrpSetAccount(each.account);
        const NTSTATUS status =
            NtOpenFile(&file, GENERIC_READ | GENERIC_WRITE, &attributes, &block, 0, 0);
        if (NT_SUCCESS(status)) forgotten_.push_back(std::exchange(files_[each.file], file));
        return status;
    }

    NTSTATUS request(const command& each, const std::string& who) {
        completion done(machine_);
        if (done.event() == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
        user_memory input(each.input);
        user_memory output(each.length);
        std::optional<overwriting_thread> other;
        if (!each.becomes.empty()) other.emplace(machine_, each, input);
        const NTSTATUS status = done.result(send(each, done, input, output), files_[each.file]);
        if (done.cancelled()) check_stayed_pending(each, who, done.pending());
        if (NT_SUCCESS(status)) check_returned(each, {output.data(), done.returned(output)});
        return status;
    }

    void check_stayed_pending(const command& each, const std::string& who,
                              const std::string& pending) {
        const bool completed = completed_.count(who) != 0;
        if (each.may_stay_pending && !completed) return;
        fail("line " + std::to_string(each.line) + ": " + each.text +
             ": was not completed within a minute" +
             (completed ? ", though a command that completes it has succeeded" : "") + "\n" +
             pending);
    }

    NTSTATUS send(const command& each, completion& done, user_memory& input, user_memory& output) {
        const HANDLE file = files_[each.file];
        const auto length = static_cast<ULONG>(input.size());
        LARGE_INTEGER start{};
        if (each.what == verb::read)
            return NtReadFile(file, done.event(), nullptr, nullptr, done.block(), output.data(),
                              each.length, &start, nullptr);
        if (each.what == verb::write)
            return NtWriteFile(file, done.event(), nullptr, nullptr, done.block(), input.data(),
                               length, &start, nullptr);
        return NtDeviceIoControlFile(file, done.event(), nullptr, nullptr, done.block(), each.code,
                                     input.data(), length, output.data(), each.length);
    }

    // A few bytes may have the value by chance.
    void check_returned(const command& each, std::string_view returned) {
        const std::size_t unset = irpverbs::dispatch::detail::unset_at_end(returned);
        if (unset >= least_unset)
            fail("line " + std::to_string(each.line) + ": " + each.text + ": returned " +
                 std::to_string(returned.size()) +
                 " bytes, of which the driver never set the last " + std::to_string(unset));
    }

    // The Plug and Play manager sends one request of a device at a time.
    NTSTATUS plug_and_play(verb what) {
        KeWaitForSingleObject(&manager_, Executive, KernelMode, FALSE, nullptr);
        const NTSTATUS status = send_plug_and_play(what);
        KeReleaseMutex(&manager_, FALSE);
        return status;
    }

    NTSTATUS add_device() try {
        device_.emplace();
        device_->let_bus_pend();
        vector_ = device_->interrupt_vector();
        resources_.emplace(script_.resources, vector_, device_->interrupt_irql());
        device_->set_resources(resources_->raw(), resources_->translated());
        return device_->add(driver_);
    } catch (const irpverbs::dispatch::status_error& wrong) {
        return wrong.status();
    }

    NTSTATUS send_plug_and_play(verb what) {
        if (what == verb::add) return add_device();
        if (!device_) return STATUS_INVALID_DEVICE_STATE;
        switch (what) {
        case verb::start: {
            const NTSTATUS status = device_->start();
            if (NT_SUCCESS(status)) device_->send_unknown();
            return status;
        }
        case verb::stop: {
            const NTSTATUS status = device_->query_stop();
            return NT_SUCCESS(status) ? device_->stop() : status;
        }
        case verb::unplug:
            return device_->surprise_removal();
        default:
            return remove();
        }
    }

    NTSTATUS remove() {
        if (device_->current() != pnp_device::state::surprise_removed) {
            const NTSTATUS status = device_->query_remove();
            if (!NT_SUCCESS(status)) return status;
        }
        return device_->remove();
    }

    void close_files() {
        for (auto& [name, file] : files_)
            if (file != nullptr) NtClose(std::exchange(file, nullptr));
        for (const HANDLE file : forgotten_)
            if (file != nullptr) NtClose(file);
    }

    // A request that has just completed may still hold its file.
    template <class Action>
    static NTSTATUS repeat_while_busy(Action action) {
        NTSTATUS status = action();
        for (ULONG ms = 1; ms < longest_pause && status == STATUS_DEVICE_BUSY; ms *= 2) {
            pause(ms);
            status = action();
        }
        return status;
    }

    void remove_device() {
        if (!device_) return;
        device_->surprise_removal();
        repeat_while_busy([this] { return device_->remove(); });
        device_.reset();
    }

    void unload() {
        if (driver_->DriverUnload == nullptr) return;
        const NTSTATUS status =
            repeat_while_busy([this] { return irpverbs::irp::unload_driver(driver_); });
        unloaded_ = NT_SUCCESS(status);
        if (unloaded_) return module_.check_unloaded();
        // User mode has closed its files.
        if (status == STATUS_DEVICE_BUSY) check_leftovers("file");
        fail("the driver was not unloaded: " + name_of(status));
    }

    irpverbs::dispatch::sim_machine& machine_;
    driver_module& module_;
    const script& script_;
    DRIVER_OBJECT* driver_ = nullptr;
    bool unloaded_ = false;
    std::optional<resource_lists> resources_;
    std::optional<pnp_device> device_;
    ULONG vector_ = 0; // of the device's interrupt line; 0: there was no device
    KMUTEX manager_{};
    std::size_t left_ = 0; // actors that have not ended
    std::map<std::string, HANDLE> files_;
    std::set<std::string> completed_; // actors
    std::vector<HANDLE> forgotten_;   // opened, and then another file under the same name; or null
    std::optional<std::string> failure_;
};

} // namespace

std::optional<std::string> play(irpverbs::dispatch::sim_machine& machine, driver_module& driver,
                                const script& what) {
    return world(machine, driver, what).play();
}

} // namespace drive
