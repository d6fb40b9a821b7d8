/*
 * Faults for a process, loaded by LD_PRELOAD; faults.ts is the other half. It writes down what is written to the files
 * under FAULTS_UNDER and what is synced, so that a power cut can be played afterwards; it makes syncing and writing
 * fail; it moves the clocks; and it kills at a chosen step. FAULTS_CONTROL is a file that says what is wrong at the moment.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct control {
  int64_t wall_ms;      /* added to the wall clock */
  int64_t monotonic_ms; /* added to the clock of timers */
  int64_t sync_error;   /* errno of every sync; -1: it says that it worked, and did not */
  int64_t write_error;  /* errno of every write that would change a file */
  int64_t steps;        /* changes to files and writes to sockets so far, of all processes */
  int64_t kill_at;      /* the step at which the process group is killed */
};

struct record {
  uint32_t kind;
  uint32_t length;
  uint64_t inode;
  uint64_t at;
};

enum { FDS = 65536 };
static struct control none;
static volatile struct control *control = &none;
static int log_fd = -1;
static char under[PATH_MAX];
static uint64_t inode_of[FDS];
static char *folder_of[FDS];

#define REAL(name) \
  ({ \
    static __typeof__(&name) found; \
    if (!found) found = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
    found; \
  })

__attribute__((constructor)) static void begin(void) {
  const char *control_file = getenv("FAULTS_CONTROL"), *log = getenv("FAULTS_LOG"), *folder = getenv("FAULTS_UNDER");
  if (control_file) {
    int fd = REAL(open)(control_file, O_RDWR | O_CLOEXEC);
    void *map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) control = map;
    if (fd >= 0) REAL(close)(fd);
  }
  if (folder && realpath(folder, under) && log) log_fd = REAL(open)(log, O_WRONLY | O_APPEND | O_CLOEXEC);
}

static int is_watched(const char *path, char *whole) {
  if (under[0] == 0) return 0;
  char folder[PATH_MAX];
  strncpy(folder, path, PATH_MAX - 1);
  folder[PATH_MAX - 1] = 0;
  char *slash = strrchr(folder, '/');
  const char *name = slash ? slash + 1 : folder;
  char parent[PATH_MAX];
  if (slash == folder) strcpy(parent, "/");
  else if (slash) *slash = 0;
  if (!realpath(slash == folder ? "/" : slash ? folder : ".", parent)) return 0;
  if (strlen(parent) + strlen(name) + 2 > PATH_MAX) return 0;
  strcpy(whole, parent);
  if (name[0] != 0) {
    if (strcmp(parent, "/") != 0) strcat(whole, "/");
    strcat(whole, name);
  }
  size_t length = strlen(under);
  return strncmp(whole, under, length) == 0 && (whole[length] == '/' || whole[length] == 0);
}

static void step(void) {
  int64_t steps = __atomic_add_fetch(&control->steps, 1, __ATOMIC_SEQ_CST);
  if (control->kill_at > 0 && steps >= control->kill_at) kill(0, SIGKILL);
}

static void note(char kind, uint64_t inode, uint64_t at, const void *data, size_t length) {
  step();
  if (log_fd < 0) return;
  int kept = errno;
  struct record head = {(uint32_t)kind, (uint32_t)length, inode, at};
  struct iovec parts[2] = {{&head, sizeof head}, {(void *)data, length}};
  if (REAL(writev)(log_fd, parts, 2) < 0) abort();
  errno = kept;
}

static int fails(int fd) {
  if (fd < 0 || fd >= FDS || inode_of[fd] == 0 || control->write_error == 0) return 0;
  errno = (int)control->write_error;
  return 1;
}

static int watched(int fd) { return fd >= 0 && fd < FDS && inode_of[fd] != 0; }

static int opened(int fd, const char *path, int flags, int was_there) {
  if (fd < 0 || fd >= FDS) return fd;
  inode_of[fd] = 0;
  folder_of[fd] = NULL;
  char whole[PATH_MAX];
  if (!is_watched(path, whole)) return fd;
  int kept = errno;
  struct stat file;
  if (fstat(fd, &file) == 0) {
    if (S_ISDIR(file.st_mode)) folder_of[fd] = strdup(whole);
    else if (S_ISREG(file.st_mode)) {
      inode_of[fd] = file.st_ino;
      if (!was_there) note('C', file.st_ino, 0, whole, strlen(whole));
      else if (flags & O_TRUNC) note('T', file.st_ino, 0, NULL, 0);
    }
  }
  errno = kept;
  return fd;
}

static int is_there(const char *path) {
  int kept = errno, there = access(path, F_OK) == 0;
  errno = kept;
  return there;
}

static int refuses_new(const char *path, int flags) {
  char whole[PATH_MAX];
  if (!(flags & O_CREAT) || control->write_error == 0 || is_there(path) || !is_watched(path, whole)) return 0;
  errno = (int)control->write_error;
  return 1;
}

int open(const char *path, int flags, ...) {
  __builtin_va_list list;
  __builtin_va_start(list, flags);
  mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) ? __builtin_va_arg(list, mode_t) : 0;
  __builtin_va_end(list);
  if (refuses_new(path, flags)) return -1;
  int there = !(flags & O_CREAT) || is_there(path);
  return opened(REAL(open)(path, flags, mode), path, flags, there);
}

int open64(const char *path, int flags, ...) {
  __builtin_va_list list;
  __builtin_va_start(list, flags);
  mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) ? __builtin_va_arg(list, mode_t) : 0;
  __builtin_va_end(list);
  return open(path, flags | O_LARGEFILE, mode);
}

int close(int fd) {
  if (fd >= 0 && fd < FDS) {
    inode_of[fd] = 0;
    free(folder_of[fd]);
    folder_of[fd] = NULL;
  }
  return REAL(close)(fd);
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t at) {
  if (fails(fd)) return -1;
  ssize_t done = REAL(pwrite64)(fd, data, length, at);
  if (done > 0 && watched(fd)) note('W', inode_of[fd], (uint64_t)at, data, (size_t)done);
  return done;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t at) { return pwrite64(fd, data, length, at); }

static void step_at_socket(int fd) {
  struct stat file;
  if (fd > 2 && fstat(fd, &file) == 0 && S_ISSOCK(file.st_mode)) step();
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  step_at_socket(fd);
  return REAL(writev)(fd, parts, count);
}

ssize_t write(int fd, const void *data, size_t length) {
  if (!watched(fd)) {
    step_at_socket(fd);
    return REAL(write)(fd, data, length);
  }
  if (fails(fd)) return -1;
  struct stat file;
  int appends = fcntl(fd, F_GETFL) & O_APPEND;
  off_t at = appends && fstat(fd, &file) == 0 ? file.st_size : lseek(fd, 0, SEEK_CUR);
  ssize_t done = REAL(write)(fd, data, length);
  if (done > 0) note('W', inode_of[fd], (uint64_t)at, data, (size_t)done);
  return done;
}

int ftruncate64(int fd, off64_t size) {
  if (fails(fd)) return -1;
  int done = REAL(ftruncate64)(fd, size);
  if (done == 0 && watched(fd)) note('T', inode_of[fd], (uint64_t)size, NULL, 0);
  return done;
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

static int synced(int fd, int (*sync)(int)) {
  const char *folder = fd >= 0 && fd < FDS ? folder_of[fd] : NULL;
  if (!watched(fd) && !folder) return sync(fd);
  int64_t fault = control->sync_error;
  if (fault < 0) return 0;
  if (fault > 0) {
    if (!folder) note('F', inode_of[fd], 0, NULL, 0);
    errno = (int)fault;
    return -1;
  }
  /* The file that is really there is thrown away at the power cut, so nobody waits for a disk. */
  if (folder) note('D', 0, 0, folder, strlen(folder));
  else note('S', inode_of[fd], 0, NULL, 0);
  return 0;
}

int fsync(int fd) { return synced(fd, REAL(fsync)); }
int fdatasync(int fd) { return synced(fd, REAL(fdatasync)); }

/* Names: `from` is 0 where there is none. */
static int renamed(char kind, int done, const char *from, const char *to) {
  char old[PATH_MAX] = "", new[PATH_MAX], both[2 * PATH_MAX];
  if (done != 0 || !is_watched(to, new) || (from && !is_watched(from, old))) return done;
  size_t length = strlen(old);
  memcpy(both, old, length);
  both[length] = 0;
  strcpy(both + length + 1, new);
  note(kind, 0, 0, both, length + 1 + strlen(new));
  return done;
}

int unlink(const char *path) { return renamed('U', REAL(unlink)(path), NULL, path); }
int rename(const char *from, const char *to) { return renamed('R', REAL(rename)(from, to), from, to); }
int link(const char *from, const char *to) { return renamed('L', REAL(link)(from, to), from, to); }
int mkdir(const char *path, mode_t mode) { return renamed('M', REAL(mkdir)(path, mode), NULL, path); }

static void move(struct timespec *time, int64_t by_ms) {
  int64_t ns = time->tv_nsec + (by_ms % 1000) * 1000000;
  time->tv_sec += by_ms / 1000;
  if (ns < 0) ns += 1000000000, time->tv_sec--;
  if (ns >= 1000000000) ns -= 1000000000, time->tv_sec++;
  time->tv_nsec = ns;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int done = REAL(clock_gettime)(clock, time);
  if (done != 0) return done;
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) move(time, control->wall_ms);
  if (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_BOOTTIME)
    move(time, control->monotonic_ms);
  return done;
}

int gettimeofday(struct timeval *time, void *zone) {
  int done = REAL(gettimeofday)(time, zone);
  struct timespec moved = {time->tv_sec, time->tv_usec * 1000};
  move(&moved, control->wall_ms);
  time->tv_sec = moved.tv_sec;
  time->tv_usec = moved.tv_nsec / 1000;
  return done;
}
