// Golden trajectories of first-order rules, float, each case configured from its own hyper-parameters.
#include "runner.hpp"
#include "setup_first_order.hpp"

TEST_CASE("golden trajectories of first-order rules, float", "[goldens-optim]") {
  golden::run_all<float>(golden::family::first_order, golden::configure_first_order<float>);
}
