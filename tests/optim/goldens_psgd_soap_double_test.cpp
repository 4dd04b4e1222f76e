// Golden trajectories of PSGD and SOAP, double, each case configured from its own hyper-parameters.
#include "runner.hpp"
#include "setup_matrix.hpp"

TEST_CASE("golden trajectories of PSGD and SOAP, double", "[goldens-optim]") {
  golden::run_all<double>(golden::family::psgd_soap, golden::configure_psgd_soap<double>);
}
