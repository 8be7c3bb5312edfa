/*
 * A disk as bad as tests need it, preloaded into a process of theirs: its syncs take longer, and what was written since the
 * last one can be taken back after the process was killed, as when the machine loses its power.
 *
 * FRAIL_DISK names a folder. Its file `sync-ms` says how much longer each fsync and fdatasync takes, and may change. While
 * it has a file `fails`, each of them fails as on a disk that is broken. Where
 * it has a file `loses`, every write to a database, a write-ahead log or an append-only file first notes in `<file>.undo` what
 * was there before, and a sync empties the note. Writes themselves go through, so that the process reads what it wrote.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
static const char *suffixes[] = {".db", ".db-wal", ".db-journal", ".aof", NULL};

struct note {
  int64_t size;
  int64_t offset;
  int64_t kept;
};

static int in_folder(const char *name, char *path, size_t most) {
  const char *folder = getenv("FRAIL_DISK");
  return folder != NULL && (size_t)snprintf(path, most, "%s/%s", folder, name) < most;
}

static void wait_longer(void) {
  char path[4096], text[32];
  if (!in_folder("sync-ms", path, sizeof path)) return;
  int file = open(path, O_RDONLY);
  if (file < 0) return;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return;
  text[length] = 0;
  usleep((useconds_t)atoi(text) * 1000);
}

static int has(const char *name) {
  char path[4096];
  return in_folder(name, path, sizeof path) && access(path, F_OK) == 0;
}

static int loses(void) { return has("loses"); }

/* Where the note of an open file goes; 0: it is none of those that are watched. */
static int note_of(int fd, char *path, size_t most) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, most - 8);
  if (length <= 0) return 0;
  path[length] = 0;
  for (const char **suffix = suffixes; *suffix != NULL; suffix++) {
    size_t tail = strlen(*suffix);
    if ((size_t)length > tail && strcmp(path + length - tail, *suffix) == 0) {
      strcpy(path + length, ".undo");
      return 1;
    }
  }
  return 0;
}

#define REAL(name, type) static type real; if (real == NULL) real = (type)dlsym(RTLD_NEXT, name)
typedef ssize_t (*write_t)(int, const void *, size_t);
typedef ssize_t (*pwrite_t)(int, const void *, size_t, off64_t);
typedef int (*truncate_t)(int, off64_t);
typedef int (*sync_t)(int);
typedef int (*unlink_t)(const char *);

static ssize_t plain_write(int fd, const void *bytes, size_t length) {
  REAL("write", write_t);
  return real(fd, bytes, length);
}

/* The process may have opened the file for writing alone. */
static ssize_t read_old(const char *note, char *bytes, int64_t length, int64_t offset) {
  char path[4096];
  snprintf(path, sizeof path, "%.*s", (int)(strlen(note) - strlen(".undo")), note);
  int file = open(path, O_RDONLY);
  if (file < 0) return -1;
  ssize_t done = pread64(file, bytes, (size_t)length, offset);
  close(file);
  return done;
}

/* Notes what stands from `offset` on, before it is changed. */
static void remember(int fd, int64_t offset, int64_t length) {
  char path[4096];
  struct stat64 is;
  if (!note_of(fd, path, sizeof path) || fstat64(fd, &is) != 0) return;
  int64_t kept = is.st_size - offset;
  if (kept > length) kept = length;
  if (kept < 0) kept = 0;
  char *all = malloc(sizeof(struct note) + (size_t)kept);
  struct note head = {is.st_size, offset, kept};
  memcpy(all, &head, sizeof head);
  if (kept > 0 && read_old(path, all + sizeof head, kept, offset) != kept) abort();
  int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  size_t whole = sizeof head + (size_t)kept;
  if (file < 0 || plain_write(file, all, whole) != (ssize_t)whole) abort();
  close(file);
  free(all);
}

static void forget(int fd) {
  char path[4096];
  if (!note_of(fd, path, sizeof path)) return;
  int file = open(path, O_WRONLY | O_TRUNC);
  if (file >= 0) close(file);
}

ssize_t write(int fd, const void *bytes, size_t length) {
  if (!loses()) return plain_write(fd, bytes, length);
  pthread_mutex_lock(&one);
  int appends = (fcntl(fd, F_GETFL) & O_APPEND) != 0;
  int64_t offset = lseek64(fd, 0, appends ? SEEK_END : SEEK_CUR);
  if (offset >= 0) remember(fd, offset, (int64_t)length);
  ssize_t done = plain_write(fd, bytes, length);
  pthread_mutex_unlock(&one);
  return done;
}

static ssize_t frail_pwrite(int fd, const void *bytes, size_t length, off64_t offset) {
  REAL("pwrite64", pwrite_t);
  if (!loses()) return real(fd, bytes, length, offset);
  pthread_mutex_lock(&one);
  remember(fd, offset, (int64_t)length);
  ssize_t done = real(fd, bytes, length, offset);
  pthread_mutex_unlock(&one);
  return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) { return frail_pwrite(fd, bytes, length, offset); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) { return frail_pwrite(fd, bytes, length, offset); }

static int frail_truncate(int fd, off64_t size) {
  REAL("ftruncate64", truncate_t);
  if (!loses()) return real(fd, size);
  pthread_mutex_lock(&one);
  remember(fd, size, INT64_MAX);
  int failed = real(fd, size);
  pthread_mutex_unlock(&one);
  return failed;
}

int ftruncate(int fd, off_t size) { return frail_truncate(fd, size); }
int ftruncate64(int fd, off64_t size) { return frail_truncate(fd, size); }

/* What is written while a sync runs waits for the next one. */
static int frail_sync(int fd, sync_t real) {
  wait_longer();
  if (has("fails")) {
    errno = EIO;
    return -1;
  }
  if (!loses()) return real(fd);
  pthread_mutex_lock(&one);
  int failed = real(fd);
  if (failed == 0) forget(fd);
  pthread_mutex_unlock(&one);
  return failed;
}

int fsync(int fd) {
  REAL("fsync", sync_t);
  return frail_sync(fd, real);
}

int fdatasync(int fd) {
  REAL("fdatasync", sync_t);
  return frail_sync(fd, real);
}

int unlink(const char *path) {
  REAL("unlink", unlink_t);
  char note[4096];
  if (loses() && snprintf(note, sizeof note, "%s.undo", path) < (int)sizeof note) real(note);
  return real(path);
}
