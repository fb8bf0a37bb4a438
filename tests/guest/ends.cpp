// Ends as the command line says: with a status, by a signal, or not at all; or counts on many
// threads.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

int count_on_threads() {
    std::atomic<int> counted{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&] {
            for (int turn = 0; turn < 1000; ++turn)
                ++counted;
        });
    for (std::thread& each : threads)
        each.join();
    return counted == 8000 ? 0 : 1;
}

} // namespace

int main(int count, char** words) {
    const std::string_view how = count > 1 ? words[1] : "";
    for (int i = 1; i < count; ++i)
        std::printf("[%s]\n", words[i]);
    std::fflush(stdout);
    if (how == "crash") std::abort();
    if (how == "hang") pause();
    if (how == "threads") return count_on_threads();
    return std::atoi(words[1]);
}
