#pragma once
/// \file  The settings of two papers: "Beyond Outliers" (arXiv 2509.23500, six optimizers) and the
/// training-dynamics study of quantization error (arXiv 2510.06213, AdamW, AdamLH, AdamC), as optimizers
/// ready to step.
#include <quench/optim/any.hpp>

namespace quench::inline QUENCH_ISA::presets {

/// The six optimizers of "Beyond Outliers" as its program calls them: "adamw", "muon", "shampoo", "soap",
/// "psgd", "scion". Learning rates where they are known (AdamW 3e-3, Muon 3e-2 with its AdamW at 3e-3,
/// Shampoo 3e-3); SOAP 3e-3 and PSGD 1e-3 are the libraries' defaults, and Scion's 2e-2 is ours. Vectors are
/// decayed as matrices are, as there. \throws error listing the six for another name.
template <class T = float>
any_optimizer<T> beyond_outliers(std::string_view name, double weight_decay = 0.1) {
  const std::string wd = setting_text(weight_decay);
  if (name == "adamw")
    return make_optimizer<T>(
        "adamw", "lr=0.003,beta1=0.9,beta2=0.95,eps=1e-6,weight_decay=" + wd + ",vector.weight_decay=" + wd);
  if (name == "muon")
    return make_optimizer<T>("muon", "lr=0.03,momentum=0.95,scaling=additive_eps,weight_decay=" + wd +
                                         ",aux.lr=0.003,aux.eps=1e-6,aux.weight_decay=" + wd +
                                         ",vector.weight_decay=" + wd);
  if (name == "shampoo")
    return make_optimizer<T>(
        "shampoo",
        "lr=0.003,beta1=0.95,beta2=0.95,epsilon=1e-10,relative_epsilon=0,graft_eps=1e-10,frequency=20,"
        "start=20,max_dim=12288,weight_decay=" +
            wd + ",vector.weight_decay=" + wd);
  if (name == "soap")
    return make_optimizer<T>("soap",
                             "lr=0.003,beta1=0.95,beta2=0.95,eps=1e-8,frequency=10,max_dim=12288,count_"
                             "skipped=true,weight_decay=" +
                                 wd + ",vector.weight_decay=" + wd);
  if (name == "psgd")
    return make_optimizer<T>("psgd", "lr=0.001,beta1=0.9,max_dim=12288,precond_lr=0.1,weight_decay=" + wd +
                                         ",vector.weight_decay=" + wd);
  if (name == "scion")  // gains: the stand-in for a norm that was never published
    return make_optimizer<T>("scion", "lr=0.02,momentum=0.9,weight_decay=" + wd +
                                          ",table.lr=1,vector.lr=0.003,vector.norm=sign,vector.normalized=0");
  expects(false,
          "presets::beyond_outliers: no optimizer is called '{}'; there are adamw, muon, shampoo, soap, "
          "psgd, scion",
          name);
  return make_optimizer<T>("adamw");
}

/// AdamW of the training-dynamics study: betas 0.9 and 0.95, eps 1e-8, decay 0.1, norms and biases not
/// decayed; clip the global gradient norm at 1 before each step. `decay` scheduled is AdamW, independent
/// AdamLH (weight_decay is then its lambda, AdamW's times the peak learning rate), corrected AdamC.
template <class T = float>
any_optimizer<T> training_dynamics(double lr = 3e-3, double weight_decay = 0.1,
                                   decay_kind decay = decay_kind::scheduled) {
  return make_optimizer<T>("adamw", "beta1=0.9,beta2=0.95,eps=1e-8,lr=" + setting_text(lr) +
                                        ",weight_decay=" + setting_text(weight_decay) +
                                        ",decay=" + setting_text(decay));
}

}  // namespace quench::inline QUENCH_ISA::presets
