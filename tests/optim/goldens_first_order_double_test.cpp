// Golden trajectories of first-order rules, double, each case configured from its own hyper-parameters.
#include "runner.hpp"
#include "setup_first_order.hpp"

TEST_CASE("golden trajectories of first-order rules, double", "[goldens-optim]") {
  golden::run_all<double>(golden::family::first_order, golden::configure_first_order<double>);
}
