// Runs the suite over HCAs with a known defect. --defects: lists them, and the case that finds
// each.
#include "hook.hpp"

#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
    HcaRegisterDriver(&planted::driver);
    if (argc != 2 || std::strcmp(argv[1], "--defects") != 0)
        return ConformanceMain(argc, argv, &planted::adapter, 1);
    for (const planted::defect* each : planted::all_defects())
        std::printf("%s %s\n", each->name, each->found_by != nullptr ? each->found_by : "");
    return 0;
}
