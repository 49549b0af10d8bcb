/* A kernel that answers from a recording: a directory with
 *
 *   kernel.calls   rows "call operands = answer", '#' starts a comment line
 *   proc/ sys/ …   files, as the machine showed them
 *
 * A row wins over a file. A path that is in neither does not exist (ENOENT): the tree is taken as
 * whole. Any other call without a row answers -KERNEL_NOT_RECORDED, which no real call does; it
 * means unknown. Symbolic links are resolved inside the directory, never out of it.
 *
 * An answer is a number, an errno name (ENOENT), or the rest of the line as text:
 *
 *   open PATH r|w|rw = ENAME or 0          readlink PATH = TARGET
 *   stat PATH = TYPE[ MAJOR:MINOR] MODE UID GID, TYPE one of file dir link char block socket fifo
 *   list PATH = NAME NAME …                access PATH r|w|x… = 0 or ENAME
 *   statfs PATH = MAGIC [BLOCK_SIZE BLOCKS_AVAILABLE]   (numbers may be 0x…)
 *   getxattr PATH NAME = TEXT
 *   landlock version = N                   landlock errata = N
 *   landlock fs|net|scope BIT = 0          one right alone in landlock_create_ruleset
 *   landlock restrict BIT = ENAME          that flag alone in landlock_restrict_self
 *   seccomp action NAME = 0                seccomp flag NAME = EFAULT
 *   prctl OPTION A = N                     OPTION and A as decimal numbers
 *   capget = EFFECTIVE PERMITTED INHERITABLE (0x…)      ids = UID GID GROUP…
 *   uname nodename|release|version|machine = TEXT       cpu_count = N
 *   io_uring_setup = ENAME                 unshare FLAGS = 0 or ENAME (FLAGS 0x…)
 *   foreign i386|x32 = 0 or ENAME          route_dump TYPE = FILE in the tree, or ENAME
 *   library QUESTION = N
 */
#ifndef KABI_RECORDED_H
#define KABI_RECORDED_H

#include "kabi/fault.h"
#include "kabi/kernel.h"

#define KERNEL_NOT_RECORDED ENOMSG

/* Read root/kernel.calls (which may be missing when there are only files, proc among them) and make
 * *ret answer from it. Returns 0, or -errno with `why` naming the file and line. Free with
 * recorded_close().
 */
int recorded_open(const char *root, struct kernel *ret, struct fault *why);

/* The same from rows in memory, with files below `root`, or with none when it is NULL. */
int recorded_from_rows(const char *rows, const char *root, struct kernel *ret, struct fault *why);

void recorded_close(struct kernel *k);

#endif
