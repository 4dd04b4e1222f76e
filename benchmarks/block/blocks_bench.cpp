// Every block codec of the list: encoding and decoding 64 Ki floats, beside memcpy of the floats and the
// codec's own block-at-a-time form. Bounds: a decoder writes 4 bytes an element, as memcpy does, and reads
// little.
#include <quench/block/list.hpp>
#include <quench/block/rows.hpp>

#include "harness.hpp"

namespace {

template <class C>
void add() {
  const std::string name = "block/" + std::string(C::name);
  bench::add<float>(name + "/encode", {bench::in_l2}, [](bench::run<float>& r) {
    const quench::index blocks = r.n / C::elements;
    std::vector<std::byte> out(std::size_t(blocks * C::bytes)), single(out.size());
    const auto one_by_one = [&] {
      for (quench::index b = 0; b < blocks; ++b)
        C::encode(r.in.data() + b * C::elements, single.data() + b * C::bytes);
    };
    one_by_one();
    quench::encode_blocks<C>(r.in.data(), blocks, out.data());
    r.verify(out == single);
    r.measure([&] { quench::encode_blocks<C>(r.in.data(), blocks, out.data()); },
              bench::peer("one_block", one_by_one));
  });
  bench::add<float>(name + "/decode", {bench::in_l2}, [](bench::run<float>& r) {
    const quench::index blocks = r.n / C::elements;
    std::vector<std::byte> bytes(std::size_t(blocks * C::bytes));
    quench::encode_blocks<C>(r.in.data(), blocks, bytes.data());
    quench::decode_blocks<C>(bytes.data(), blocks, r.out.data());
    std::vector<float> single(static_cast<std::size_t>(r.n));
    for (quench::index b = 0; b < blocks; ++b)
      C::decode(bytes.data() + b * C::bytes, single.data() + b * C::elements);
    r.verify(std::equal(single.begin(), single.end(), r.out.data()));
    r.measure([&] { quench::decode_blocks<C>(bytes.data(), blocks, r.out.data()); });
  });
}

const bool rows = [] {
  quench::block_codecs::for_each([](auto codec) { add<decltype(codec)>(); });
  return true;
}();

}  // namespace
