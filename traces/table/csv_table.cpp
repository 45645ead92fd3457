#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "traces/io/byte_sink.h"
#include "traces/table/csv_field.h"
#include "traces/table/table.h"

namespace goodput {
namespace {

constexpr std::size_t kCsvTableBlock = std::size_t{1} << 18;

class CsvTable final : public TableWriter {
 public:
  CsvTable(ByteSink sink, std::span<const TableColumn> columns) : sink_(std::move(sink)) {
    for (const TableColumn& column : columns) add_field(csv_field(column.name));
    end_line();
  }

  Status add(std::span<const TableCell> row) override {
    for (const TableCell& cell : row) add_cell(cell);
    end_line();
    return sink_.write_if_full(text_, kCsvTableBlock);
  }

  Status close() override {
    GOODPUT_TRY_STATUS(sink_.write(text_));
    return sink_.close();
  }

 private:
  void add_field(std::string_view field) {
    text_ += field;
    text_ += ',';
  }
  void add_cell(const TableCell& cell) {
    if (const auto* real = std::get_if<double>(&cell)) {
      fmt::format_to(std::back_inserter(text_), FMT_COMPILE("{},"), *real);
    } else if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
      fmt::format_to(std::back_inserter(text_), FMT_COMPILE("{},"), *integer);
    } else if (const auto* text = std::get_if<std::string_view>(&cell)) {
      add_field(csv_field(std::string(*text)));
    } else if (const auto* truth = std::get_if<bool>(&cell)) {
      add_field(*truth ? "1" : "0");
    } else {
      text_ += ',';
    }
  }
  void end_line() { text_.back() = '\n'; }

  ByteSink sink_;
  std::string text_;
};

}  // namespace

Result<std::unique_ptr<TableWriter>> csv_table(const std::string& path,
                                               std::span<const TableColumn> columns) {
  GOODPUT_CHECK(!columns.empty(), "a table must have columns");
  GOODPUT_TRY(ByteSink sink, ByteSink::open(path, path));
  return std::unique_ptr<TableWriter>(std::make_unique<CsvTable>(std::move(sink), columns));
}

}  // namespace goodput
