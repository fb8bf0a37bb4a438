/* The suite over the smallest driver, whose holes lead to skips that say so. In C, as its author
   would write it; the sample's own main stands aside. */
#define main SampleMain
#include "../../../samples/minimal_hca.c"
#undef main

#include <conformance/conformance.h>

int main(int argc, char** argv) {
    const CONFORMANCE_ADAPTER adapter = {.Scheme = "minimal"};
    HcaRegisterDriver(&driver);
    return ConformanceMain(argc, argv, &adapter, 1);
}
