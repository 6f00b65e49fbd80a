/* Loaded before libc: one call that writes below a folder fails, or one that asks for memory; all
   of the kind that is armed are counted. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static long counted, failing; /* failing: number of the call that fails, 0 for none */
static int error, memory; /* memory: calls for it are counted, and not those that write */
static char folder[PATH_MAX];

void fault_arm(const char *below, long number, int code, int of_memory) {
    snprintf(folder, sizeof folder, "%s", of_memory ? "" : below);
    memory = of_memory;
    counted = 0;
    failing = number;
    error = code;
}

long fault_counted(void) { return counted; }

static int inside(const char *path) {
    char whole[PATH_MAX];
    if (!*folder || !path) return 0;
    if (path[0] == '/') return !strncmp(path, folder, strlen(folder));
    return getcwd(whole, sizeof whole) && !strncmp(whole, folder, strlen(folder));
}

static int open_inside(int file) {
    char name[64], path[PATH_MAX];
    if (!*folder) return 0;
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    ssize_t size = readlink(name, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return path[0] == '/' && inside(path);
}

/* A negative error is a signal, that comes while the call goes on. */
static int fails(int here) {
    if (!here || ++counted != failing) return 0;
    if (error < 0) {
        kill(getpid(), -error);
        return 0;
    }
    errno = error;
    return 1;
}

#define NEXT(type, name, ...) ((type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

#define OPENS(name)                                                          \
    int name(const char *path, int flags, ...) {                             \
        va_list rest;                                                        \
        va_start(rest, flags);                                               \
        mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;            \
        va_end(rest);                                                        \
        if (fails((flags & O_ACCMODE) != O_RDONLY && inside(path))) return -1; \
        return NEXT(int, name, const char *, int, ...)(path, flags, mode);   \
    }
OPENS(open)
OPENS(open64)

#define OPENS_AT(name)                                                       \
    int name(int base, const char *path, int flags, ...) {                   \
        va_list rest;                                                        \
        va_start(rest, flags);                                               \
        mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;            \
        va_end(rest);                                                        \
        if (fails((flags & O_ACCMODE) != O_RDONLY && inside(path))) return -1; \
        return NEXT(int, name, int, const char *, int, ...)(base, path, flags, mode); \
    }
OPENS_AT(openat)
OPENS_AT(openat64)

#define OPENS_STREAM(name)                                                   \
    FILE *name(const char *path, const char *mode) {                         \
        if (fails(mode[0] != 'r' && inside(path))) return NULL;              \
        return NEXT(FILE *, name, const char *, const char *)(path, mode);   \
    }
OPENS_STREAM(fopen)
OPENS_STREAM(fopen64)

ssize_t write(int file, const void *from, size_t size) {
    if (fails(open_inside(file))) return -1;
    return NEXT(ssize_t, write, int, const void *, size_t)(file, from, size);
}

#define WRITES_AT(name)                                                      \
    ssize_t name(int file, const void *from, size_t size, off_t place) {     \
        if (fails(open_inside(file))) return -1;                             \
        return NEXT(ssize_t, name, int, const void *, size_t, off_t)(file, from, size, place); \
    }
WRITES_AT(pwrite)
WRITES_AT(pwrite64)

#define ON_FILE(name)                                                        \
    int name(int file) {                                                     \
        if (fails(open_inside(file))) return -1;                             \
        return NEXT(int, name, int)(file);                                   \
    }
ON_FILE(fsync)
ON_FILE(fdatasync)

#define CUTS(name)                                                           \
    int name(int file, off_t size) {                                         \
        if (fails(open_inside(file))) return -1;                             \
        return NEXT(int, name, int, off_t)(file, size);                      \
    }
CUTS(ftruncate)
CUTS(ftruncate64)

int rename(const char *from, const char *to) {
    if (fails(inside(to))) return -1;
    return NEXT(int, rename, const char *, const char *)(from, to);
}

int mkdir(const char *path, mode_t mode) {
    if (fails(inside(path))) return -1;
    return NEXT(int, mkdir, const char *, mode_t)(path, mode);
}


/* glibc's own names: dlsym asks for memory itself. */
#define ASKS(name, list, ...)                                                \
    void *__libc_##name list;                                                \
    void *name list {                                                        \
        if (fails(memory)) return NULL;                                      \
        return __libc_##name(__VA_ARGS__);                                   \
    }
ASKS(malloc, (size_t size), size)
ASKS(calloc, (size_t number, size_t size), number, size)
ASKS(realloc, (void *old, size_t size), old, size)

#define MAPS(name)                                                           \
    void *name(void *at, size_t size, int protection, int flags, int file, off_t place) { \
        if (fails(memory)) return MAP_FAILED;                                \
        return (void *)syscall(SYS_mmap, at, size, protection, flags, file, place); \
    }
MAPS(mmap)
MAPS(mmap64)
