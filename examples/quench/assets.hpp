#pragma once
/// \file  The texts of report.html, embedded in the program when it is built (examples/CMakeLists.txt).
#include <quench/study/report.hpp>

namespace cli {

/// Views into the program itself.
quench::study::report_assets embedded_assets();

}  // namespace cli
