/**
 * A file system that lacks something, or a signal at an exact moment, for one process: a library that is loaded before the system's own
 * changes single calls. It needs gcc.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import type { Env } from '../command/command.js'

/** The calls that can fail, each with the error that it then returns. */
export interface FailingCalls {
  readonly syncDirectory?: ErrorName
  /** `open` of a directory, as a file is opened. */
  readonly openDirectory?: ErrorName
  readonly setLock?: ErrorName
  /** `fcntl` that asks for the holder of a lock. */
  readonly getLock?: ErrorName
  /** Sends a signal, SIGTERM by default, to the process at the call of this number that opens or reads a file below the directory. */
  readonly stop?: { readonly atCall: number; readonly below: string; readonly signal?: 'SIGSEGV' }
}

type ErrorName = keyof typeof constants.errno

const LIBRARY = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fails(const char *call) {
  const char *number = getenv(call);
  if (number == NULL) return 0;
  errno = atoi(number);
  return 1;
}

static char isBelow[4096];
static int calls;

static void called(void) {
  const char *number = getenv("STOP_atCall");
  if (number != NULL && __sync_add_and_fetch(&calls, 1) == atoi(number)) kill(getpid(), atoi(getenv("STOP_signal")));
}

static int remembered(int fd, const char *path) {
  const char *below = getenv("STOP_below");
  if (fd >= 0 && fd < 4096) isBelow[fd] = below != NULL && strstr(path, below) != NULL;
  if (fd >= 0 && fd < 4096 && isBelow[fd]) called();
  return fd;
}

static ssize_t positioned(const char *name, int fd, void *buffer, size_t bytes, off_t at) {
  if (fd >= 0 && fd < 4096 && isBelow[fd]) called();
  ssize_t (*real)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, name);
  return real(fd, buffer, bytes, at);
}

int fsync(int fd) {
  struct stat found;
  if (fstat(fd, &found) == 0 && S_ISDIR(found.st_mode) && fails("FAIL_syncDirectory")) return -1;
  int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
  return real(fd);
}

static int opened(const char *name, const char *path, int flags, mode_t mode) {
  struct stat found;
  if (stat(path, &found) == 0 && S_ISDIR(found.st_mode) && fails("FAIL_openDirectory")) return -1;
  int (*real)(const char *, int, mode_t) = dlsym(RTLD_NEXT, name);
  return remembered(real(path, flags, mode), path);
}

static int controlled(const char *name, int fd, int command, void *argument) {
  if (command == F_SETLK && fails("FAIL_setLock")) return -1;
  if (command == F_GETLK && fails("FAIL_getLock")) return -1;
  int (*real)(int, int, void *) = dlsym(RTLD_NEXT, name);
  return real(fd, command, argument);
}

#define OPEN(name) int name(const char *path, int flags, ...) { \\
  va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \\
  return opened(#name, path, flags, mode); }
#define PREAD(name) ssize_t name(int fd, void *buffer, size_t bytes, off_t at) { \\
  return positioned(#name, fd, buffer, bytes, at); }
#define CONTROL(name) int name(int fd, int command, ...) { \\
  va_list rest; va_start(rest, command); void *argument = va_arg(rest, void *); va_end(rest); \\
  return controlled(#name, fd, command, argument); }

OPEN(open)
OPEN(open64)
CONTROL(fcntl)
CONTROL(fcntl64)
PREAD(pread)
PREAD(pread64)
`

let directory: string | null = null

const compiled = (): string => {
  if (directory === null) {
    directory = mkdtempSync(join(tmpdir(), 'fieldwork-sync-calls-'))
    writeFileSync(join(directory, 'calls.c'), LIBRARY)
    const args = ['-shared', '-fPIC', '-o', 'calls.so', 'calls.c', '-ldl']
    execFileSync('gcc', args, { cwd: directory, stdio: 'pipe' })
  }
  return join(directory, 'calls.so')
}

afterAll(() => {
  if (directory !== null) rmSync(directory, { recursive: true, force: true })
  directory = null
})

/** Variables that make these calls of a process fail. */
export const failing = (calls: FailingCalls): Env => ({
  LD_PRELOAD: compiled(),
  FAIL_syncDirectory: numberOf(calls.syncDirectory),
  FAIL_openDirectory: numberOf(calls.openDirectory),
  FAIL_setLock: numberOf(calls.setLock),
  FAIL_getLock: numberOf(calls.getLock),
  STOP_atCall: calls.stop?.atCall.toString(),
  STOP_below: calls.stop?.below,
  STOP_signal: String(constants.signals[calls.stop?.signal ?? 'SIGTERM']),
})

const numberOf = (error: ErrorName | undefined): string | undefined =>
  error === undefined ? undefined : String(constants.errno[error])
