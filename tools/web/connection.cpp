#include "tools/web/connection.h"

#include <algorithm>
#include <ctime>
#include <span>
#include <utility>

namespace goodput {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 10;
// A client may still be sending who does not know that this response is the last, and would not see why if
// its connection were reset.
constexpr std::chrono::milliseconds kDrainTime{5000};
constexpr std::size_t kMostDrained = std::size_t{64} << 20;
// Of a body: who sends it byte by byte is waited for all the time.
constexpr std::size_t kProgress = std::size_t{16} << 10;
constexpr std::size_t kMostEmptyLines = 4;  // before a request
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr int kStreamSendBuffer = 64 << 10;  // the system would hold megabytes for a slow reader

HttpResponse too_busy(std::string_view what) {
  HttpResponse response = plain_error(503, what);
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace

Connection::Connection(ConnectionShare& share, std::uint64_t id, ClientSocket socket)
    : share_(share), id_(id), socket_(std::move(socket)), waits_since_(Clock::now()) {
  ++share_.use.connections;
}

void Connection::start() {
  set_deadline(share_.options.header_timeout);
  wait_to_read();
}

void Connection::close() {
  if (is_closed_) return;
  is_closed_ = true;
  --share_.use.connections;
  if (phase_ == Phase::kStream) --share_.use.event_streams;
  if (phase_ != Phase::kHandler) release_body();
  socket_.close();
  if (operations_ == 0) share_.forget(id_);
}

bool Connection::end_operation() {
  --operations_;
  if (!is_closed_) return true;
  if (operations_ == 0) share_.forget(id_);
  return false;
}

std::optional<Connection::Clock::time_point> Connection::waits_since() const {
  if (is_closed_ || phase_ == Phase::kHandler || phase_ == Phase::kStream) return std::nullopt;
  return waits_since_;
}

void Connection::check_deadline(Clock::time_point now) {
  if (is_closed_ || now < deadline_) return;
  const bool is_half_read = phase_ == Phase::kBody || (phase_ == Phase::kHead && !input_.empty());
  if (is_half_read && outgoing_.empty()) {
    refuse(plain_error(408, "the request took too long to arrive"));
  } else {
    close();
  }
}

// ---- Reading.

void Connection::wait_to_read() {
  if (std::exchange(waits_to_read_, true)) return;
  ++operations_;
  socket_.when_readable([this](ClientSocket::Outcome outcome) {
    waits_to_read_ = false;
    if (!end_operation()) return;
    if (outcome == ClientSocket::Outcome::kFailed) return close();
    read();
  });
}

void Connection::read() {
  const std::size_t most = phase_ == Phase::kHead ? share_.options.header_bytes : share_.scratch.size();
  const std::optional<std::size_t> count =
      socket_.read_some(std::span(share_.scratch).first(std::min(most, share_.scratch.size())));
  if (!count) return close();
  if (*count == 0) return wait_to_read();
  take_input({share_.scratch.data(), *count});
}

void Connection::take_input(std::string_view bytes) {
  switch (phase_) {
    case Phase::kHead:
      if (input_.empty() && empty_lines_ == 0) set_deadline(share_.options.header_timeout);
      input_ += bytes;
      return advance();
    case Phase::kBody:
      input_ += bytes;
      return advance();
    case Phase::kDrain:
      drained_ += bytes.size();
      return drained_ > kMostDrained ? close() : wait_to_read();
    case Phase::kHandler:
    case Phase::kResponse:
      return;  // a wait that began before a refusal: what came is of no more interest
    case Phase::kStream:
      return close();  // there is nothing to say in one
  }
}

void Connection::advance() {
  if (phase_ == Phase::kHead) {
    find_head();
  } else {
    take_body();
  }
}

// Those before the request line; more than a few are no request.
void Connection::skip_empty_lines() {
  const std::size_t bytes = empty_line_bytes(input_, kMostEmptyLines - empty_lines_);
  empty_lines_ += bytes / 2;
  input_.erase(0, bytes);
}

void Connection::find_head() {
  skip_empty_lines();
  if (input_.empty() || input_ == "\r") return wait_to_read();
  const bool may_be_method = input_.front() >= 'A' && input_.front() <= 'Z';
  if (!may_be_method) return refuse(plain_error(400, kNoRequest));
  const std::size_t most = share_.options.header_bytes;
  const std::size_t bytes = head_bytes(input_, searched_);
  if (bytes > most || (bytes == 0 && input_.size() >= most)) {
    return refuse(plain_error(431, "the request header is too long"));
  }
  if (bytes == 0) {
    searched_ = input_.size();
    return wait_to_read();
  }
  const std::string head = input_.substr(0, bytes);
  input_.erase(0, bytes);
  take_head(head);
}

void Connection::take_head(std::string_view text) {
  parser_ = RequestParser();
  const Result<RequestHead> head = parser_.read_head(text);
  if (!head) return refuse(plain_error(400, head.error().what));
  const bool keeps_alive = head->keeps_alive;
  JudgedRequest judged = judge_request(*head, share_.rules);
  framing_.is_head = judged.is_head;
  framing_.after = keeps_alive ? AfterResponse::kKeepAlive : AfterResponse::kClose;
  if (judged.refusal) return refuse(*judged.refusal);
  if (share_.gate) {
    if (const std::optional<HttpResponse> refusal = share_.gate(judged.request)) {
      return judged.has_body ? refuse(*refusal) : respond(*refusal);
    }
  }
  if (judged.body_refusal) return refuse(*judged.body_refusal);
  request_ = std::move(judged.request);
  if (!judged.has_body) return submit();
  begin_body(*head, judged.awaits_continue);
}

void Connection::begin_body(const RequestHead& head, bool awaits_continue) {
  if (!reserve_body(head.content_length.value_or(0))) {
    return refuse(too_busy("too much data is being sent to this server; try again later"));
  }
  phase_ = Phase::kBody;
  waits_since_ = Clock::now();
  progressed_body_ = 0;
  set_deadline(share_.options.body_timeout);
  if (awaits_continue && input_.empty()) return send_continue();
  advance();
}

// A few bytes behind an answer that was read, so they fit into the socket's buffer.
void Connection::send_continue() {
  if (socket_.write_now(kContinue) != kContinue.size()) return close();
  wait_to_read();
}

void Connection::take_body() {
  const RequestParser::Progress progress = parser_.read_body(input_, share_.options.body_bytes);
  input_.erase(0, progress.used);
  using State = RequestParser::State;
  if (progress.state == State::kTooLarge) return refuse(plain_error(413, "the request body is too large"));
  // What is not used is the line of a chunk, or trailers.
  const bool is_endless = progress.state == State::kMore && input_.size() > share_.options.header_bytes;
  if (progress.state == State::kMalformed || is_endless) {
    return refuse(plain_error(400, "the request body is malformed"));
  }
  if (!reserve_body(parser_.body_size())) {
    return refuse(too_busy("too much data is being sent to this server; try again later"));
  }
  if (parser_.body_size() >= progressed_body_ + kProgress) {
    waits_since_ = Clock::now();
    progressed_body_ = parser_.body_size();
  }
  if (progress.state == State::kMore) return wait_to_read();
  request_.body = parser_.take_body();
  submit();
}

bool Connection::reserve_body(std::size_t bytes) {
  if (bytes <= reserved_body_) return true;
  const std::size_t more = bytes - reserved_body_;
  if (more > share_.options.body_bytes_in_flight - share_.use.body_bytes) return false;
  share_.use.body_bytes += more;
  reserved_body_ = bytes;
  return true;
}

void Connection::release_body() {
  share_.use.body_bytes -= reserved_body_;
  reserved_body_ = 0;
}

// ---- Answering.

void Connection::submit() {
  phase_ = Phase::kHandler;
  deadline_ = Clock::time_point::max();
  if (share_.submit(id_, std::move(request_))) {
    ++operations_;
  } else {
    respond(too_busy("too many requests are waiting; try again later"));
  }
}

void Connection::answer(const HttpResponse& response) {
  release_body();
  if (!end_operation()) return;
  respond(response);
}

void Connection::refuse(const HttpResponse& response) {
  may_send_on_ = true;
  framing_.after = AfterResponse::kClose;
  input_.clear();
  respond(response);
}

void Connection::respond(const HttpResponse& response) {
  release_body();
  const bool is_stream = !response.topic.empty();
  if (is_stream && share_.use.event_streams >= share_.options.event_streams) {
    return respond(too_busy("too many event streams are open; try again later"));
  }
  framing_.now = std::time(nullptr);
  if (share_.newcomer_waits && framing_.after == AfterResponse::kKeepAlive) {
    framing_.after = AfterResponse::kClose;
    may_send_on_ = true;
  }
  outgoing_ = response_text(response, framing_);
  phase_ = Phase::kResponse;
  if (is_stream) framing_.after = AfterResponse::kClose;
  if (is_stream && !framing_.is_head) {
    phase_ = Phase::kStream;
    topic_ = response.topic;
    ++share_.use.event_streams;
    socket_.limit_send_buffer(kStreamSendBuffer);
    wait_to_read();  // for its end
  }
  write_piece();
}

void Connection::write_piece() {
  set_deadline(share_.options.write_timeout);
  waits_since_ = Clock::now();
  ++operations_;
  const std::size_t count = std::min(kPieceBytes, outgoing_.size() - sent_);
  socket_.write(std::string_view(outgoing_).substr(sent_, count),
                [this, count](ClientSocket::Outcome outcome) {
                  if (!end_operation()) return;
                  if (outcome == ClientSocket::Outcome::kFailed) return close();
                  sent_ += count;
                  if (sent_ < outgoing_.size()) return write_piece();
                  after_write();
                });
}

void Connection::after_write() {
  outgoing_ = {};
  sent_ = 0;
  if (phase_ == Phase::kStream) {
    deadline_ = Clock::time_point::max();
    if (events_.empty()) return;
    outgoing_ = std::exchange(events_, {});
    return write_piece();
  }
  if (framing_.after == AfterResponse::kKeepAlive) return begin_next_request();
  if (may_send_on_ || !input_.empty()) return drain();
  close();
}

void Connection::begin_next_request() {
  phase_ = Phase::kHead;
  searched_ = 0;
  empty_lines_ = 0;
  framing_ = {};
  waits_since_ = Clock::now();
  set_deadline(input_.empty() ? share_.options.idle_timeout : share_.options.header_timeout);
  advance();
}

void Connection::drain() {
  socket_.end_sending();
  input_ = {};
  waits_since_ = Clock::now();
  phase_ = Phase::kDrain;
  set_deadline(kDrainTime);
  wait_to_read();
}

// ---- Event streams.

void Connection::send_event(std::string_view topic, std::string_view text) {
  if (is_closed_ || phase_ != Phase::kStream || topic != topic_) return;
  was_quiet_ = false;
  if (outgoing_.size() - sent_ + events_.size() + text.size() > share_.options.stream_bytes) return close();
  events_ += text;
  if (outgoing_.empty()) after_write();
}

void Connection::send_heartbeat() {
  if (phase_ == Phase::kStream && was_quiet_) send_event(topic_, ":\n\n");
  was_quiet_ = true;
}

}  // namespace goodput
