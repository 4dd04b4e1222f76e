// quench report DIR: draws report.html again from a study's records.
#include "assets.hpp"
#include "command.hpp"

#include <quench/io/jsonl.hpp>

#include <cstdio>

namespace cli {

void add_report(CLI::App& app, int& code) {
  auto* command = app.add_subcommand("report", "Draw report.html from the records of a study");
  auto folder = std::make_shared<std::string>();
  command->add_option("DIR", *folder, "Folder of the study")->required();
  command->callback([folder, &code] {
    const std::filesystem::path file = std::filesystem::path(*folder) / "report.html";
    quench::study::write_report(
        file, quench::io::read_records(std::filesystem::path(*folder) / "records.jsonl").rows,
        embedded_assets());
    std::printf("%s\n", file.string().c_str());
    code = done;
  });
}

}  // namespace cli
