// Both ends of an upload, so light that what lies between them is what is measured.
//   transfer send PORT PATH FILE_NAME BYTES           one multipart/form-data upload, part `dataFile`, of a block of 1 MiB over
//       and over, the connection closed after it; prints nanoseconds from connecting to the end of the answer, the status,
//       the CRC-32 of what the file was (if its name ends in `.checked`, else 0), and the answer
//   transfer store                                    an S3 store that throws away what it is given; prints its port, ends with
//       stdin. HEAD tells the length of what was put, and the CRC-32 of objects whose name ends in `.checked` as ETag

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCK (1 << 20)
#define HEAD_BYTES 65536
#define OBJECTS 4096
#define BOUNDARY "----longshoreBenchmark7MA4YWxkTrZu0gW"

static uint32_t table[256];

static void make_table(void) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t c = i;
    for (int k = 0; k < 8; k++) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
    table[i] = c;
  }
}

static uint32_t crc_of(uint32_t crc, const unsigned char *bytes, size_t count) {
  crc = ~crc;
  for (size_t i = 0; i < count; i++) crc = table[(crc ^ bytes[i]) & 255] ^ (crc >> 8);
  return ~crc;
}

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static struct sockaddr_in local(int port) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return at;
}

static void write_all(int fd, const void *bytes, size_t count) {
  for (const char *at = bytes; count > 0;) {
    ssize_t wrote = send(fd, at, count, MSG_NOSIGNAL);
    if (wrote <= 0) fail("send");
    at += wrote;
    count -= wrote;
  }
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int send_upload(int port, const char *path, const char *name, int64_t bytes) {
  unsigned char *block = malloc(BLOCK);
  uint64_t x = 88172645463325252ull;
  for (int i = 0; i < BLOCK; i++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    block[i] = x >> 32;
  }
  char head[4096], part[2048];
  int part_length = snprintf(part, sizeof part,
                             "--" BOUNDARY "\r\ncontent-disposition: form-data; name=\"dataFile\"; filename=\"%s\"\r\n"
                             "content-type: application/octet-stream\r\n\r\n", name);
  static const char end[] = "\r\n--" BOUNDARY "--\r\n";
  int head_length = snprintf(head, sizeof head,
                             "POST %s HTTP/1.1\r\nhost: 127.0.0.1:%d\r\ncontent-type: multipart/form-data; boundary=" BOUNDARY
                             "\r\ncontent-length: %lld\r\nconnection: close\r\n\r\n",
                             path, port, (long long)(part_length + bytes + (int64_t)sizeof end - 1));
  int64_t begun = now_ns();
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in at = local(port);
  if (connect(fd, (struct sockaddr *)&at, sizeof at)) fail("connect");
  write_all(fd, head, head_length);
  write_all(fd, part, part_length);
  for (int64_t left = bytes; left > 0; left -= BLOCK) write_all(fd, block, left < BLOCK ? left : BLOCK);
  write_all(fd, end, sizeof end - 1);
  char answer[8192];
  int length = 0;
  for (ssize_t got; (got = recv(fd, answer + length, sizeof answer - 1 - length, 0)) > 0;) length += got;
  int64_t took = now_ns() - begun;
  answer[length] = 0;
  uint32_t crc = 0;
  if (strstr(name, ".checked"))
    for (int64_t left = bytes; left > 0; left -= BLOCK) crc = crc_of(crc, block, left < BLOCK ? left : BLOCK);
  int status = 0;
  sscanf(answer, "HTTP/1.1 %d", &status);
  char *body = strstr(answer, "\r\n\r\n");
  printf("%lld %d %08x %s\n", (long long)took, status, crc, body ? body + 4 : "");
  return 0;
}

static struct object {
  char path[512];
  int64_t bytes;
  uint32_t crc;
} objects[OBJECTS];
static int object_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/** Made when it is new; the oldest make room. */
static struct object *object_at(const char *path) {
  for (int i = 0; i < object_count && i < OBJECTS; i++)
    if (!strcmp(objects[i].path, path)) return &objects[i];
  struct object *found = &objects[object_count++ % OBJECTS];
  snprintf(found->path, sizeof found->path, "%s", path);
  found->bytes = 0;
  found->crc = 0;
  return found;
}

static int64_t header(const char *head, const char *name) {
  const char *at = strcasestr(head, name);
  return at ? atoll(at + strlen(name)) : 0;
}

/** Length and CRC-32 of a body, of which some was read with the head. */
static uint32_t take_body(int fd, const char *held, size_t held_bytes, int64_t left, int checked, uint32_t crc) {
  static __thread unsigned char chunk[256 * 1024];
  if (checked) crc = crc_of(crc, (const unsigned char *)held, held_bytes);
  for (left -= held_bytes; left > 0;) {
    ssize_t got = recv(fd, chunk, left < (int64_t)sizeof chunk ? left : (int64_t)sizeof chunk, checked ? 0 : MSG_TRUNC);
    if (got <= 0) pthread_exit(NULL);
    if (checked) crc = crc_of(crc, chunk, got);
    left -= got;
  }
  return crc;
}

static void answer(int fd, const char *status, const char *more, const char *body, int64_t length) {
  char text[2048];
  int count = snprintf(text, sizeof text,
                       "HTTP/1.1 %s\r\nserver: transfer\r\nlast-modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n%s"
                       "content-type: application/xml\r\ncontent-length: %lld\r\n\r\n%s",
                       status, more, (long long)length, body);
  write_all(fd, text, count);
}

/** One request; false when the connection has ended. */
static int serve_one(int fd, char *head) {
  size_t length = 0;
  char *end = NULL;
  while (!end) {
    ssize_t got = recv(fd, head + length, HEAD_BYTES - 1 - length, 0);
    if (got <= 0) return 0;
    length += got;
    head[length] = 0;
    end = strstr(head, "\r\n\r\n");
  }
  *end = 0;
  const char *held = end + 4;
  char method[8], path[1024];
  if (sscanf(head, "%7s %1023s", method, path) != 2) return 0;
  char *query = strchr(path, '?');
  if (query) *query++ = 0;
  int64_t bytes = header(head, "\r\ncontent-length:");
  int checked = strlen(path) > 8 && !strcmp(path + strlen(path) - 8, ".checked");
  int is_put = !strcmp(method, "PUT"), is_post = !strcmp(method, "POST");
  int is_part = is_put && query && strstr(query, "partNumber=");
  pthread_mutex_lock(&lock);
  struct object *object = object_at(path);
  if ((is_put && !is_part) || (is_post && query && strstr(query, "uploads"))) object->bytes = object->crc = 0;
  uint32_t crc = object->crc;
  pthread_mutex_unlock(&lock);
  // Parts come one after the other.
  crc = take_body(fd, held, head + length - held, bytes, checked, crc);
  char tag[64], body[512] = "";
  pthread_mutex_lock(&lock);
  object = object_at(path);
  if (is_put) object->bytes += bytes, object->crc = crc;
  int64_t stored = object->bytes;
  snprintf(tag, sizeof tag, "etag: \"%08x\"\r\n", object->crc);
  if (is_post && query && strstr(query, "uploads"))
    snprintf(body, sizeof body, "<InitiateMultipartUploadResult><UploadId>upload</UploadId></InitiateMultipartUploadResult>");
  else if (is_post)
    snprintf(body, sizeof body,
             "<CompleteMultipartUploadResult><Location>/</Location><Bucket>bench</Bucket><Key>key</Key>"
             "<ETag>\"%08x\"</ETag></CompleteMultipartUploadResult>",
             object->crc);
  else if (!strcmp(method, "GET") && query && strstr(query, "uploads"))
    snprintf(body, sizeof body, "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>");
  pthread_mutex_unlock(&lock);
  int is_head = !strcmp(method, "HEAD");
  const char *status = !strcmp(method, "DELETE") ? "204 No Content" : "200 OK";
  answer(fd, status, tag, body, is_head ? stored : (int64_t)strlen(body));
  return 1;
}

static void *serve(void *socket) {
  int fd = (int)(intptr_t)socket;
  char *head = malloc(HEAD_BYTES);
  while (serve_one(fd, head));
  free(head);
  close(fd);
  return NULL;
}

static void *listen_on(void *socket) {
  for (int listener = (int)(intptr_t)socket;;) {
    int fd = accept(listener, NULL, NULL), on = 1;
    if (fd < 0) continue;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    pthread_t thread;
    pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd);
    pthread_detach(thread);
  }
  return NULL;
}

static int store(void) {
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in at = local(0);
  socklen_t size = sizeof at;
  if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 64)) fail("listen");
  getsockname(listener, (struct sockaddr *)&at, &size);
  pthread_t thread;
  pthread_create(&thread, NULL, listen_on, (void *)(intptr_t)listener);
  printf("%d\n", ntohs(at.sin_port));
  fflush(stdout);
  while (getchar() != EOF);
  return 0;
}

int main(int argc, char **argv) {
  make_table();
  if (argc == 6 && !strcmp(argv[1], "send")) return send_upload(atoi(argv[2]), argv[3], argv[4], atoll(argv[5]));
  if (argc == 2 && !strcmp(argv[1], "store")) return store();
  fprintf(stderr, "transfer send PORT PATH FILE_NAME BYTES | store\n");
  return 2;
}
