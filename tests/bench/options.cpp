#include "options.hpp"

#include <charconv>
#include <string_view>

namespace irpverbs::bench {

const char* const usage =
    "  --filter REGEX  only measurements whose name matches; a bar needs both sides\n"
    "  --rounds N      rounds in random order (11; a bar is judged from 9 on)\n"
    "  --ms N          milliseconds of one sample (20)\n"
    "  --patience N    seconds of waiting for a quiet machine, in the whole run (600)\n"
    "  --seed N        seed for the order within the rounds\n"
    "  --smoke         one tiny round of all measurements, to see that they run\n"
    "  --json          tables as JSON\n"
    "  --list          names, and a description of one operation\n"
    "For figures worth quoting: a release build, an idle machine, nice -n -10.\n";

namespace {

template <class Number>
bool read(std::string_view text, Number& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && value > Number(0);
}

void make_tiny(sampling& how) {
    how.smoke = true;
    how.rounds = 1;
    how.milliseconds = 0.2;
    how.patience = 0;
}

} // namespace

options parse(int count, char** words) {
    options given;
    given.how.progress = true;
    for (int at = 1; at < count; ++at) {
        const std::string_view word = words[at];
        const auto wrong = [&](const char* what) {
            given.error = std::string(word) + ": " + what + "; try --help";
            return given;
        };
        if (word == "--help" || word == "-h") {
            given.help = true;
        } else if (word == "--list") {
            given.list = true;
        } else if (word == "--json") {
            given.json = true;
        } else if (word == "--smoke") {
            make_tiny(given.how);
            given.how.progress = false;
        } else {
            if (word != "--filter" && word != "--rounds" && word != "--ms" &&
                word != "--patience" && word != "--seed")
                return wrong("unknown option");
            if (at + 1 == count) return wrong("needs a value");
            const std::string_view value = words[++at];
            if (word == "--filter") given.filter = value;
            const bool good = word == "--filter" ||
                              (word == "--rounds" && read(value, given.how.rounds)) ||
                              (word == "--ms" && read(value, given.how.milliseconds)) ||
                              (word == "--patience" && read(value, given.how.patience)) ||
                              (word == "--seed" && read(value, given.how.seed));
            if (!good) return wrong("needs a number above zero");
        }
    }
    return given;
}

} // namespace irpverbs::bench
