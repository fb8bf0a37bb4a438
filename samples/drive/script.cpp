#include "script.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <iterator>
#include <map>

namespace drive {

const char* const script_help = R"(The script, one command a line; # begins a comment:
  registry NAME dword NUMBER | registry NAME string "TEXT"
                            first of all: a value of the driver's registry key, before the driver
                            is loaded; NAME as Depth or Parameters\Depth
  resource interrupt | resource port BYTES | resource memory BYTES
                            first of all, too: what 'start' assigns to the device, in this order;
                            no device is at the ports, and the memory is zero at first
  setup                     the commands below run one after the other, first
  actor NAME                a thread of its own: all actors run at the same time
  teardown                  the commands below run when all actors have ended
    open FILE PATH [as ACCOUNT]
                            FILE is the script's name of it, PATH as \Device\Pipe, or
                            {GUID}, the class of a device interface that is enabled;
                            ACCOUNT is administrator (as without it), system, service,
                            user, guest or anonymous
    read FILE BYTES
    write FILE "TEXT"
    ioctl FILE CODE [in "TEXT" [becomes "TEXT"]] [out BYTES]
                            becomes: another thread of user mode writes that text, of the same
                            length, over the first while the driver has the request
    flush FILE
    cancel FILE             all requests of the file
    close FILE
    add | start | stop | remove | unplug
                            Plug and Play of one device: AddDevice, IRP_MN_START_DEVICE, ...
    shutdown                IRP_MJ_SHUTDOWN for the devices that are registered for it
    sleep MS                of the machine's time
    interrupt               the device's interrupt line is raised; STATUS_NOT_FOUND: no service
                            routine claimed it
  Each command may end in "expect STATUS[|STATUS...]" or "expect any". Without it open, add and
  start must succeed, and others may have any status.
  Requests wait for their completion. One that takes a minute of the machine's time fails the run,
  and is cancelled; it may if its line ends in "|pending" ("expect any|pending"). A command that
  ends in "completes ACTOR" and succeeds leaves no request of that actor pending.
)";

namespace {

struct word {
    std::string text;
    bool quoted = false;
};

class parser {
public:
    parser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

    script parse() {
        while (next_line())
            read_line();
        if (made_.actors.empty() && made_.setup.empty())
            fail("a command in 'setup' or of an 'actor' was expected");
        check_completes(made_.setup);
        for (const actor& each : made_.actors)
            check_completes(each.commands);
        return std::move(made_);
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw script_error(name_ + ':' + std::to_string(line_) + ": " + what);
    }

    bool next_line() {
        if (position_ > text_.size() || (position_ == text_.size() && line_ != 0)) return false;
        const std::size_t end = std::min(text_.find('\n', position_), text_.size());
        source_ = text_.substr(position_, end - position_);
        position_ = end + 1;
        ++line_;
        return true;
    }

    void read_line() {
        split();
        if (words_.empty()) return;
        const std::string first = take("a command");
        if (first == "registry") {
            read_setting();
        } else if (first == "resource") {
            read_resource();
        } else if (first == "setup") {
            section_ = &made_.setup;
        } else if (first == "teardown") {
            section_ = &made_.teardown;
        } else if (first == "actor") {
            made_.actors.push_back({take("the name of the actor"), {}});
            section_ = nullptr;
        } else {
            read_command(first);
        }
        if (!words_.empty()) fail("nothing more was expected than before '" + words_[0].text + "'");
    }

    void expect_no_section(const std::string& name) const {
        if (section_ != nullptr || !made_.actors.empty())
            fail("'" + name + "' was expected before 'setup', 'actor NAME' and 'teardown'");
    }

    void read_resource() {
        expect_no_section("resource");
        resource made{};
        if (take_if("interrupt"))
            made.kind = resource_kind::interrupt;
        else if (take_if("port"))
            made = {resource_kind::port, number("a number of bytes", max_length)};
        else if (take_if("memory"))
            made = {resource_kind::memory, number("a number of bytes", max_length)};
        else
            fail("'interrupt', 'port' or 'memory' was expected");
        if (made.kind != resource_kind::interrupt && made.bytes == 0)
            fail("a number of bytes above 0 was expected");
        made_.resources.push_back(made);
    }

    void read_setting() {
        expect_no_section("registry");
        setting made;
        const std::string path = take("the name of a value");
        const std::size_t slash = path.rfind('\\');
        if (slash != path.npos) made.key = path.substr(0, slash);
        made.name = path.substr(slash + 1);
        if (take_if("dword"))
            made.number = number("a number", 0xFFFFFFFF);
        else if (take_if("string"))
            made.text = quoted();
        else
            fail("'dword' or 'string' was expected");
        made_.settings.push_back(std::move(made));
    }

    // section_ is null for the last actor, whose commands move as actors are added.
    std::vector<command>& section() {
        if (section_ != nullptr) return *section_;
        if (made_.actors.empty()) fail("'setup', 'actor NAME' or 'teardown' was expected first");
        return made_.actors.back().commands;
    }

    void read_command(const std::string& name) {
        static const std::map<std::string, verb> verbs{
            {"open", verb::open},         {"read", verb::read},     {"write", verb::write},
            {"ioctl", verb::ioctl},       {"flush", verb::flush},   {"cancel", verb::cancel},
            {"close", verb::close},       {"add", verb::add},       {"start", verb::start},
            {"stop", verb::stop},         {"remove", verb::remove}, {"unplug", verb::unplug},
            {"shutdown", verb::shutdown}, {"sleep", verb::sleep},   {"interrupt", verb::interrupt},
        };
        const auto known = verbs.find(name);
        if (known == verbs.end()) fail("'" + name + "' is no command; see irpverbs-drive --help");
        command made{known->second, line_, trimmed(), {}, {}, {}, 0, {}, {}, 0, {}, false, {}, {}};
        if (made.what <= verb::close) made.file = take("the script's name of a file");
        read_arguments(made);
        read_expectation(made);
        if (take_if("completes")) made.completes = take("the name of an actor");
        section().push_back(std::move(made));
    }

    void read_arguments(command& made) {
        switch (made.what) {
        case verb::open:
            made.path = take("the path of a device");
            if (made.path.starts_with('{')) made.interface = take_guid(made.path);
            if (take_if("as")) made.account = account(take("the name of an account"));
            break;
        case verb::read:
            made.length = number("a number of bytes", max_length);
            break;
        case verb::write:
            made.input = quoted();
            break;
        case verb::sleep:
            made.length = number("a number of ms", max_length);
            break;
        case verb::ioctl:
            made.code = number("a control code", 0xFFFFFFFF);
            if (take_if("in")) made.input = quoted();
            if (take_if("becomes")) made.becomes = quoted();
            if (!made.becomes.empty() && made.becomes.size() != made.input.size())
                fail("a text of the length of the first was expected behind 'becomes'");
            if (take_if("out")) made.length = number("a number of bytes", max_length);
            break;
        default:
            break;
        }
    }

    void read_expectation(command& made) {
        if (!take_if("expect")) {
            if (made.what == verb::open || made.what == verb::add || made.what == verb::start)
                made.expected = {STATUS_SUCCESS};
            return;
        }
        const std::string statuses = take("a status, or 'any'");
        for (std::size_t from = 0; from <= statuses.size();) {
            const std::size_t end = std::min(statuses.find('|', from), statuses.size());
            read_expected(made, statuses.substr(from, end - from));
            from = end + 1;
        }
    }

    void read_expected(command& made, const std::string& name) {
        const bool is_request =
            made.what == verb::read || made.what == verb::write || made.what == verb::ioctl;
        if (name == "pending" && !is_request) fail("'pending' is for 'read', 'write' and 'ioctl'");
        if (name == "pending")
            made.may_stay_pending = true;
        else if (name != "any")
            made.expected.push_back(status(name));
    }

    void check_completes(const std::vector<command>& commands) const {
        for (const command& each : commands)
            if (!each.completes.empty() &&
                std::none_of(made_.actors.begin(), made_.actors.end(),
                             [&](const actor& one) { return one.name == each.completes; }))
                throw script_error(name_ + ':' + std::to_string(each.line) + ": '" +
                                   each.completes + "' is no actor");
    }

    IRP_ACCOUNT account(const std::string& name) const {
        static const std::map<std::string, IRP_ACCOUNT> accounts{
            {"administrator", IrpAccountAdministrator},
            {"system", IrpAccountSystem},
            {"service", IrpAccountService},
            {"user", IrpAccountUser},
            {"guest", IrpAccountGuest},
            {"anonymous", IrpAccountAnonymous},
        };
        const auto known = accounts.find(name);
        if (known == accounts.end())
            fail("'" + name + "' is no account; see irpverbs-drive --help");
        return known->second;
    }

    NTSTATUS status(const std::string& name) const {
        static constexpr NTSTATUS all[] = {
#define IRPVERBS_X_STATUS(name, value, meaning) name,
#include <dispatch/ntstatus.def>
#undef IRPVERBS_X_STATUS
        };
        for (const NTSTATUS each : all)
            if (name == NtStatusName(each)) return each;
        fail("'" + name + "' is no status that the library names");
    }

    // Removes the GUID from the beginning of the path.
    GUID take_guid(std::string& path) const {
        constexpr std::string_view form = "{01234567-89ab-cdef-0123-456789abcdef}";
        std::string digits;
        bool fits = path.size() >= form.size();
        for (std::size_t i = 0; fits && i < form.size(); ++i) {
            const bool digit = std::isxdigit(static_cast<unsigned char>(form[i])) != 0;
            fits = digit ? std::isxdigit(static_cast<unsigned char>(path[i])) != 0
                         : path[i] == form[i];
            if (digit) digits += path[i];
        }
        if (!fits) fail("a GUID as " + std::string(form) + " was expected, not '" + path + "'");
        path.erase(0, form.size());
        const auto part = [&](std::size_t at, std::size_t length) {
            return std::stoul(digits.substr(at, length), nullptr, 16);
        };
        GUID made{static_cast<ULONG>(part(0, 8)),
                  static_cast<USHORT>(part(8, 4)),
                  static_cast<USHORT>(part(12, 4)),
                  {}};
        for (std::size_t i = 0; i < std::size(made.Data4); ++i)
            made.Data4[i] = static_cast<UCHAR>(part(16 + 2 * i, 2));
        return made;
    }

    std::string take(const char* expected) {
        if (words_.empty()) fail(std::string(expected) + " was expected at the end of the line");
        std::string text = std::move(words_.front().text);
        words_.erase(words_.begin());
        return text;
    }

    bool take_if(const char* keyword) {
        if (words_.empty() || words_.front().quoted || words_.front().text != keyword) return false;
        words_.erase(words_.begin());
        return true;
    }

    std::string quoted() {
        if (words_.empty() || !words_.front().quoted)
            fail("a text in quotation marks was expected");
        return take("a text");
    }

    ULONG number(const char* expected, std::uint64_t most) {
        const std::string text = take(expected);
        const bool hex = text.starts_with("0x");
        std::uint64_t value = 0;
        const char* end = text.data() + text.size();
        const auto read = std::from_chars(text.data() + (hex ? 2 : 0), end, value, hex ? 16 : 10);
        if (read.ec != std::errc() || read.ptr != end || value > most)
            fail(std::string(expected) + " was expected, up to " + std::to_string(most) +
                 ", not '" + text + "'");
        return static_cast<ULONG>(value);
    }

    // Words, and texts in quotation marks with \n, \" and \\.
    void split() {
        words_.clear();
        for (std::size_t i = 0; i < source_.size();) {
            if (source_[i] == '#') {
                source_ = source_.substr(0, i);
                return;
            }
            if (is_blank(source_[i])) {
                ++i;
            } else if (source_[i] == '"') {
                i = split_text(i + 1);
            } else {
                const std::size_t begin = i;
                while (i < source_.size() && !is_blank(source_[i]) && source_[i] != '#')
                    ++i;
                words_.push_back({std::string(source_.substr(begin, i - begin)), false});
            }
        }
    }

    std::size_t split_text(std::size_t i) {
        std::string text;
        for (; i < source_.size() && source_[i] != '"'; ++i) {
            if (source_[i] == '\\' && ++i == source_.size()) break;
            const bool newline = source_[i] == 'n' && source_[i - 1] == '\\';
            text += newline ? '\n' : source_[i];
        }
        if (i >= source_.size()) fail("a text without a closing quotation mark");
        words_.push_back({std::move(text), true});
        return i + 1;
    }

    static bool is_blank(char each) { return each == ' ' || each == '\t' || each == '\r'; }

    std::string trimmed() const {
        const std::size_t begin = source_.find_first_not_of(" \t\r");
        return std::string(source_.substr(begin, source_.find_last_not_of(" \t\r") + 1 - begin));
    }

    static constexpr std::uint64_t max_length = 16 * 1024 * 1024;

    std::string_view text_;
    std::string name_;
    std::string_view source_; // the present line, without its comment
    std::size_t position_ = 0;
    int line_ = 0;
    std::vector<word> words_; // those of the line that are left
    std::vector<command>* section_ = nullptr;
    script made_;
};

} // namespace

script parse_script(std::string_view text, const std::string& name) {
    return parser(text, name).parse();
}

} // namespace drive
