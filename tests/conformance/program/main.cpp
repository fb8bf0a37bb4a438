// irpverbs-conformance: the suite over the drivers of this project.
#include "software.hpp"

int main(int argc, char** argv) { return ConformanceMain(argc, argv, &software_adapter, 1); }
