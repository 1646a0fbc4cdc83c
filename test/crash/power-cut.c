/*
 * A disk for tests of a power cut: LD_PRELOAD it, and what fsync or fdatasync has brought to the disk is copied to the folder
 * that POWER_CUT_DISK names. After a power cut nothing else would be there. Without headers, so that a bare compiler is enough.
 */
extern void *dlsym(void *, const char *);
extern char *getenv(const char *);
extern int snprintf(char *, unsigned long, const char *, ...);
extern char *strrchr(const char *, int);
extern long readlink(const char *, char *, unsigned long);
extern int open(const char *, int, ...);
extern int close(int);
extern int rename(const char *, const char *);
extern long pread(int, void *, unsigned long, long);
extern long write(int, const void *, unsigned long);

#define NEXT ((void *)-1L)
#define PATH 4096
#define READ 0
#define WRITE_NEW_TRUNCATED (1 | 0100 | 01000)

static void keep(int file) {
  char link[64], path[PATH], part[PATH + 64], kept[PATH + 64], block[65536];
  const char *disk = getenv("POWER_CUT_DISK");
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  long length = readlink(link, path, sizeof path - 1);
  if (!disk || length <= 0) return;
  path[length] = 0;
  const char *name = strrchr(path, '/');
  if (!name) return;
  snprintf(kept, sizeof kept, "%s%s", disk, name);
  snprintf(part, sizeof part, "%s.part", kept);
  int from = open(path, READ), to = open(part, WRITE_NEW_TRUNCATED, 0600);
  if (from < 0 || to < 0) return;
  long at = 0, count;
  while ((count = pread(from, block, sizeof block, at)) > 0 && write(to, block, count) == count) at += count;
  close(from);
  close(to);
  /* A process that is killed while it copies leaves the older state, as a disk might. */
  rename(part, kept);
}

int fsync(int file) {
  int (*real)(int) = (int (*)(int))dlsym(NEXT, "fsync");
  int result = real(file);
  if (result == 0) keep(file);
  return result;
}

int fdatasync(int file) {
  int (*real)(int) = (int (*)(int))dlsym(NEXT, "fdatasync");
  int result = real(file);
  if (result == 0) keep(file);
  return result;
}
