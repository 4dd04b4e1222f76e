#pragma once
/// \file  A checkpoint in one or many safetensors files, as Hugging Face stores them: model.safetensors, or
/// shards and an index that maps tensor names to them.
#include <quench/io/safetensors.hpp>

#include <memory>

namespace quench::inline QUENCH_ISA::io {

/// All tensors of a checkpoint under one roof. Each shard is mapped; nothing is read before it is asked for.
/// \throws io_error: no such file, a malformed index or shard, a shard name that leaves the folder, a tensor
/// the index promises and its shard lacks, or one that stands in two shards
class safetensors_shards {
 public:
  /// \param where a .safetensors file, an index (.json), or a folder that holds model.safetensors or
  /// model.safetensors.index.json
  explicit safetensors_shards(const path& where) {
    const bool folder = std::filesystem::is_directory(where);
    const path single = folder ? where / "model.safetensors" : where;
    if (folder ? std::filesystem::exists(single) : where.extension() != ".json")
      open(single);
    else
      read_index(folder ? where / "model.safetensors.index.json" : where);
  }

  std::size_t size() const { return tensors_.size(); }
  std::size_t shards() const { return files_.size(); }
  bool contains(std::string_view name) const { return tensors_.find(name) != tensors_.end(); }

  /// Calls visit(file, tensor) for every tensor, shard by shard, in the order of the data: a scan reads each
  /// file once.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& file : files_)
      for (const tensor_info& t : file->tensors()) visit(*file, t);
  }
  /// The file that holds a tensor. \throws io_error when none does
  const safetensors_file& file_of(std::string_view name) const {
    const auto it = tensors_.find(name);
    require(it != tensors_.end(), files_.front()->file(), 0,
            "has no tensor \"{}\" (nor has any of {} shards)", printable(name), shards());
    return *it->second;
  }
  const tensor_info& at(std::string_view name) const { return file_of(name).at(name); }
  /// As safetensors_file::read. \throws io_error
  template <class T>
  matrix<T> read(std::string_view name) const {
    return file_of(name).template read<T>(name);
  }

 private:
  const safetensors_file& open(const path& file) {
    const safetensors_file& opened = *files_.emplace_back(std::make_unique<safetensors_file>(file));
    for (const tensor_info& t : opened.tensors())
      require(tensors_.emplace(t.name, &opened).second, file, t.begin, "tensor \"{}\" stands in two shards",
              printable(t.name));
    return opened;
  }
  void read_index(const path& index_file) {
    const mapped_file source(index_file);
    const json index = parse_json(source.text(), index_file);
    const auto map = index.is_object() ? index.find("weight_map") : index.end();
    require(index.is_object() && map != index.end() && map->is_object() && !map->empty(), index_file, 0,
            "index must hold an object \"weight_map\" with an entry for each tensor");
    std::map<std::string, const safetensors_file*> opened;
    for (const auto& [name, shard] : map->items()) {
      require(shard.is_string(), index_file, 0, "index: the shard of \"{}\" must be a string",
              printable(name));
      const auto& text = shard.template get_ref<const std::string&>();
      require(!text.empty() && text != ".." && text.find_first_of(std::string_view("/\\\0", 3)) == text.npos,
              index_file, 0, "index: the shard of \"{}\" must be a file beside the index, is \"{}\"",
              printable(name), printable(text));
      const safetensors_file*& file = opened[text];
      if (!file) file = &open(index_file.parent_path() / text);
      require(file->contains(name), file->file(), 0, "has no tensor \"{}\", which the index promises",
              printable(name));
    }
  }

  std::vector<std::unique_ptr<safetensors_file>> files_;
  std::map<std::string, const safetensors_file*, std::less<>> tensors_;
};

}  // namespace quench::inline QUENCH_ISA::io
