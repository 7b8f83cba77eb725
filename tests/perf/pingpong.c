/* The floor under our clients, as small as it can be: peers that answer, and one that asks.
 *
 * pingpong lines          answer each line on standard input with a JSON-RPC response
 * pingpong http           the same as HTTP/1.1 on a free port of 127.0.0.1, which it prints
 * pingpong ask N REQUEST  start `pingpong lines`, ask it N times, print each round trip in ns
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 1 << 16 };

static const char TEXT[] =
    "Ticket 4711 (open): the refund for order 1234 has not arrived after ten days. "
    "Ticket 4712 (open): refund asked for a double charge in March. "
    "Ticket 4713 (open): partial refund, shipping was not included.";

static void die(const char *what) {
  perror(what);
  exit(1);
}

/* The reply to a request: its id is the number after "id": in the same bytes. */
static int reply_to(const char *request, char *reply) {
  const char *id = strstr(request, "\"id\":");
  return snprintf(reply, ROOM,
                  "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"content\":[{\"type\":\"text\","
                  "\"text\":\"%s\"}],\"isError\":false}}",
                  id == NULL ? 0L : atol(id + 5), TEXT);
}

static void send_all(int fd, const char *bytes, size_t size) {
  while (size > 0) {
    ssize_t count = write(fd, bytes, size);
    if (count <= 0) exit(0);
    bytes += count;
    size -= (size_t)count;
  }
}

/* Whether a line is whole, and whether an HTTP message is, as far as we speak it. */
static int line_whole(const char *bytes, size_t size) { return bytes[size - 1] == '\n'; }

static int http_whole(const char *bytes, size_t size) {
  const char *body = strstr(bytes, "\r\n\r\n"), *length = strcasestr(bytes, "content-length:");
  if (body == NULL || length == NULL) return 0;
  return bytes + size >= body + 4 + atol(length + 15);
}

/* Read one message; 0 where the other side has closed. */
static size_t take(int fd, char *bytes, int (*whole)(const char *, size_t)) {
  size_t size = 0;
  do {
    ssize_t count = read(fd, bytes + size, ROOM - 1 - size);
    if (count <= 0) return 0;
    size += (size_t)count;
    bytes[size] = 0;
  } while (!whole(bytes, size));
  return size;
}

static int lines(void) {
  static char request[ROOM], reply[ROOM];
  while (take(0, request, line_whole) > 0) {
    int size = reply_to(request, reply);
    reply[size] = '\n';
    send_all(1, reply, (size_t)size + 1);
  }
  return 0;
}

/* One connection until it closes. */
static void serve(int fd) {
  static char request[ROOM], reply[ROOM], response[2 * ROOM];
  while (take(fd, request, http_whole) > 0) {
    int size = reply_to(request, reply);
    int whole = snprintf(response, sizeof response,
                         "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                         "Content-Length: %d\r\n\r\n%s", size, reply);
    send_all(fd, response, (size_t)whole);
  }
  close(fd);
}

static int http(void) {
  int one = 1, fd, door = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  if (bind(door, (struct sockaddr *)&at, size) < 0 || listen(door, 8) < 0) die("listen");
  if (getsockname(door, (struct sockaddr *)&at, &size) < 0) die("getsockname");
  printf("%d\n", ntohs(at.sin_port));
  fflush(stdout);
  while ((fd = accept(door, NULL, NULL)) >= 0) {
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    serve(fd);
  }
  return 1;
}

static long long now_ns(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static void start_lines(int *in, int *out) {
  int to[2], from[2];
  if (pipe(to) < 0 || pipe(from) < 0) die("pipe");
  if (fork() == 0) {
    dup2(to[0], 0);
    dup2(from[1], 1);
    close(to[1]);
    close(from[0]);
    exit(lines());
  }
  close(to[0]);
  close(from[1]);
  *in = from[0];
  *out = to[1];
}

static int ask(int count, const char *request) {
  static char line[ROOM], reply[ROOM];
  int in, out, size = snprintf(line, ROOM, "%s\n", request);
  long long *took_ns = calloc((size_t)count, sizeof *took_ns);
  start_lines(&in, &out);
  for (int i = 0; i < count; i++) {
    long long sent_ns = now_ns();
    send_all(out, line, (size_t)size);
    if (take(in, reply, line_whole) == 0) die("read");
    took_ns[i] = now_ns() - sent_ns;
  }
  for (int i = 0; i < count; i++) printf("%lld\n", took_ns[i]);
  close(out);
  return wait(NULL) < 0;
}

int main(int count, char **words) {
  signal(SIGPIPE, SIG_IGN);
  if (count == 2 && strcmp(words[1], "lines") == 0) return lines();
  if (count == 2 && strcmp(words[1], "http") == 0) return http();
  if (count == 4 && strcmp(words[1], "ask") == 0) return ask(atoi(words[2]), words[3]);
  fprintf(stderr, "usage: pingpong lines | http | ask N REQUEST\n");
  return 64;
}
