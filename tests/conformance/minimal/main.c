/* Runs the suite over the smallest driver; the cases for its missing operations are skipped with
   that reason. It is in C, as a driver's author would write it, and renames the sample's own
   main. */
#define main SampleMain
#include "../../../samples/minimal_hca.c"
#undef main

#include <conformance/conformance.h>

int main(int argc, char** argv) {
    const CONFORMANCE_ADAPTER adapter = {.Scheme = "minimal"};
    HcaRegisterDriver(&driver);
    return ConformanceMain(argc, argv, &adapter, 1);
}
