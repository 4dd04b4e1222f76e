// Golden trajectories of PSGD and SOAP, float, each case configured from its own hyper-parameters.
#include "runner.hpp"
#include "setup_matrix.hpp"

TEST_CASE("golden trajectories of PSGD and SOAP, float", "[goldens-optim]") {
  golden::run_all<float>(golden::family::psgd_soap, golden::configure_psgd_soap<float>);
}
