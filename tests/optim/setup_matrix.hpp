#pragma once
// Golden files of the preconditioned rules.
#include "configure_google.hpp"
#include "configure_psgd.hpp"
#include "configure_shampoo.hpp"
#include "setup.hpp"

namespace golden {

template <class T>
setup<T> configure_shampoo(const std::string& file, const json& c, lcg& noise) {
  setup<T> s;
  keys h(c.value("hyperparameters", json::object()));
  s.declining = c.value("note", std::string()).find("(1-t/32)") != std::string::npos;
  if (file.starts_with("shampoo_meta"))
    everywhere<T>(s, shampoo_of<T>(h));
  else if (file.starts_with("shampoo_google_torch."))
    everywhere<T>(s, google_of(h, noise));
  else
    unknown(file);
  return s;
}

template <class T>
setup<T> configure_psgd_soap(const std::string& file, const json& c, lcg& noise) {
  setup<T> s;
  keys h(c.value("hyperparameters", json::object()));
  if (file.starts_with("soap."))
    everywhere<T>(s, soap_of(h));
  else if (file.starts_with("psgd_kron_evan."))
    everywhere<T>(s, kron_of(h, noise, c.at("name").get<std::string>() == "balance_always"));
  else if (file.starts_with("psgd_kronwhiten_li."))
    everywhere<T>(s, kronwhiten_of(h, noise));
  else
    unknown(file);
  return s;
}

}  // namespace golden
