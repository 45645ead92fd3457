// What all pages of a monitor have around them, and the parts that several are made of. Arguments named
// `*_html` are markup already, all others are text of anybody.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/monitor_pages/shown_job.h"
#include "tools/web/http_message.h"

namespace goodput {

struct TrailStep {
  std::string text;
  std::string link;
};

struct PageFrame {
  std::string title;             // of the window
  std::vector<TrailStep> trail;  // the pages above this one, from the top
  std::string topic;             // whose events renew the live parts of the page; empty: it has none
  std::string main_html;
};

[[nodiscard]] HttpResponse whole_page(const PageContext& context, const PageFrame& frame);

// A page that says what is wrong, for any status.
[[nodiscard]] HttpResponse error_page(int status, std::string_view what);

// <section> with a heading and an id; a live one is renewed while the page is open.
enum class Renewal { kOnce, kLive };
[[nodiscard]] std::string section_html(std::string_view id, std::string_view heading, Renewal renewal,
                                       std::string_view content_html);

// A figure with its name, as in `dl.figures`.
struct PageFigure {
  std::string name;
  std::string value_html;
  std::string note_html{};  // below it, smaller
};
[[nodiscard]] std::string figures_html(std::span<const PageFigure> figures);

// A table in a box that scrolls by itself, a long one down too; the first cell of a row names the row.
struct HtmlColumn {
  std::string heading;
  enum class Kind { kText, kNumber, kLong } kind = Kind::kText;
};
class HtmlTable {
 public:
  HtmlTable(std::string caption, std::vector<HtmlColumn> columns)
      : caption_(std::move(caption)), columns_(std::move(columns)) {}

  // REQUIRES: a cell a column.
  void add_row(const std::vector<std::string>& cells_html);
  [[nodiscard]] std::string html() const;

 private:
  std::string caption_;
  std::vector<HtmlColumn> columns_;
  std::string rows_html_;
  std::size_t rows_ = 0;
};

// `a` element. REQUIRES: link is percent-encoded.
[[nodiscard]] std::string link_html(std::string_view link, std::string_view text_html);
// A box that scrolls on its own and can be reached with the keyboard.
[[nodiscard]] std::string scroll_box(std::string_view kind, std::string_view label,
                                     std::string_view content_html);
// The worker, with a link to its history.
[[nodiscard]] std::string worker_html(std::string_view job, const WorkerPlace& worker);
[[nodiscard]] std::string paragraph(std::string_view kind, std::string_view text_html);

}  // namespace goodput
