// Loaded before a gateway that is counted: its reads, writes and syncs stand in a file that the bench reads while it runs.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/** In the order of `SYSTEM_CALLS` in counted-gateway.ts. */
enum { READS, WRITES, SYNCS, WAKES, KINDS };
/** What one thread writes to wake another: the number of an eventfd. How many of these become one depends on which thread runs when. */
#define WAKE_BYTES 8

static uint64_t unread[KINDS];
static uint64_t *counts = unread;

__attribute__((constructor)) static void begin(void) {
  const char *file = getenv("SYSTEM_CALLS_FILE");
  if (file == NULL) return;
  int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof unread) != 0) abort();
  void *shared = mmap(NULL, sizeof unread, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (shared == MAP_FAILED) abort();
  counts = shared;
  close(fd);
}

#define COUNTED(kind, type, name, parameters, arguments)                  \
  type name parameters {                                                  \
    static type(*real) parameters;                                        \
    if (real == NULL) real = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
    __atomic_fetch_add(&counts[kind], 1, __ATOMIC_RELAXED);               \
    return real arguments;                                                \
  }
#define READ_OF(bytes) ((bytes) == WAKE_BYTES ? WAKES : READS)
#define WRITE_OF(bytes) ((bytes) == WAKE_BYTES ? WAKES : WRITES)

COUNTED(READ_OF(bytes), ssize_t, read, (int fd, void *to, size_t bytes), (fd, to, bytes))
COUNTED(READS, ssize_t, readv, (int fd, const struct iovec *to, int parts), (fd, to, parts))
COUNTED(READS, ssize_t, pread64, (int fd, void *to, size_t bytes, off64_t at), (fd, to, bytes, at))
COUNTED(READS, ssize_t, recv, (int fd, void *to, size_t bytes, int flags), (fd, to, bytes, flags))
COUNTED(WRITE_OF(bytes), ssize_t, write, (int fd, const void *from, size_t bytes), (fd, from, bytes))
COUNTED(WRITES, ssize_t, writev, (int fd, const struct iovec *from, int parts), (fd, from, parts))
COUNTED(WRITES, ssize_t, pwrite64, (int fd, const void *from, size_t bytes, off64_t at), (fd, from, bytes, at))
COUNTED(WRITES, ssize_t, send, (int fd, const void *from, size_t bytes, int flags), (fd, from, bytes, flags))
COUNTED(WRITES, ssize_t, sendmsg, (int fd, const struct msghdr *from, int flags), (fd, from, flags))
COUNTED(SYNCS, int, fdatasync, (int fd), (fd))
COUNTED(SYNCS, int, fsync, (int fd), (fd))
