// Makes a mistake that the sanitizer named on the command line must report; ctest expects it to
// fail. Exits with 0 if the mistake is not reported.
#include <climits>
#include <memory>
#include <string_view>
#include <thread>

int main(int count, char** words) {
    const std::string_view sanitizer = words[1];
    volatile int sink = count;
    if (sanitizer == "undefined") {
        const volatile int biggest = INT_MAX;
        sink = biggest + count;
    } else if (sanitizer == "address") {
        auto one = std::make_unique<int>(count);
        const volatile int* gone = one.get();
        one.reset();
        sink = *gone;
    } else if (sanitizer == "thread") {
        std::thread other([&] { sink = 1; });
        sink = 2;
        other.join();
    }
    return 0;
}
