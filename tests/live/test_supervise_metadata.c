/* launch: changes of metadata made by a supervisor, on this kernel: beneath the writable roots they
 * are made, outside they are EACCES, where the control succeeds.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#include <cmocka.h>

#include "tests/fake/supervised.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MODE_BEFORE 0640
#define MODE_WANTED 0604
#define OLD 1000000000

enum way {
	BY_CHMOD,
	BY_FCHMOD,	/* through a descriptor to read with */
	BY_FCHMOD_PATH, /* through one for nothing */
	BY_FCHMODAT,	/* from its directory */
	BY_FCHMODAT2,
	BY_FCHMODAT2_EMPTY,
	BY_PROC, /* /proc/self/fd/N */
	BY_CWD,	 /* relative to the working directory */
	BY_CHOWN,
	BY_FCHOWN,
	BY_FCHOWNAT,
	BY_UTIME,
	BY_UTIMES,
	BY_FUTIMENS,
	BY_UTIMENSAT,
	WAY_COUNT,
};

/* What each way gave, in memory that the children share. */
struct results {
	int error[WAY_COUNT];
	bool changed[WAY_COUNT];
};
static struct results *results;

static char dir[] = "/tmp/metadata-XXXXXX";
static char inside[64];	 /* a file in the writable root */
static char outside[64]; /* a file beside it */
static char link_out[64];
static char link_in[64];
static char twisted[96]; /* the file outside, by way of the root */
static char root[64];
static char wider[64]; /* its name begins with the root's */
static const char *const roots[] = { root };
static const struct supervise_rules rules = { .writable = roots, .writable_count = 1 };

static void make_file(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static int set_up(void **state)
{
	(void)state;
	results = mmap(NULL, sizeof(*results), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (results == MAP_FAILED || !mkdtemp(dir))
		return -1;
	snprintf(root, sizeof(root), "%s/root", dir);
	snprintf(inside, sizeof(inside), "%s/root/file", dir);
	snprintf(outside, sizeof(outside), "%s/outside", dir);
	snprintf(link_out, sizeof(link_out), "%s/root/out", dir);
	snprintf(link_in, sizeof(link_in), "%s/root/in", dir);
	snprintf(twisted, sizeof(twisted), "%s/root/../outside", dir);
	snprintf(wider, sizeof(wider), "%s/root2", dir);
	if (mkdir(root, 0700) < 0)
		return -1;
	make_file(inside);
	make_file(outside);
	make_file(wider);
	return symlink(outside, link_out) < 0 ? -1 : symlink("file", link_in);
}

static int tear_down(void **state)
{
	(void)state;
	munmap(results, sizeof(*results));
	unlink(link_out);
	unlink(link_in);
	unlink(inside);
	unlink(outside);
	unlink(wider);
	rmdir(root);
	return rmdir(dir);
}

static int supervise(child_body *body, struct supervise_counts *ret)
{
	return supervised(body, ASK_METADATA, &rules, ret);
}

/* ---- attempts ---- */

static const char *path_tried;
static const char *really; /* what it leads to */
static bool may_reset;

static int result(long r)
{
	return r < 0 ? errno : 0;
}

static int attempt(enum way way)
{
	static const struct timespec nano[2] = { { OLD, 7 }, { OLD, 7 } };
	static const struct timeval micro[2] = { { OLD, 7 }, { OLD, 7 } };
	static const struct utimbuf seconds = { OLD, OLD };
	char buf[128];
	int fd = open(path_tried, O_RDONLY);
	int flags;

	switch (way) {
	case BY_CHMOD:
		return result(chmod(path_tried, MODE_WANTED));
	case BY_FCHMOD:
		return result(fchmod(fd, MODE_WANTED));
	case BY_FCHMOD_PATH:
		fd = open(path_tried, O_PATH);
		/* The kernel itself refuses this one. */
		return fchmod(fd, MODE_WANTED) < 0 && errno == EBADF ? 0 : errno;
	case BY_FCHMODAT:
		fd = open(root, O_PATH);
		snprintf(buf, sizeof(buf), "..%s", path_tried + strlen(dir));
		return result(syscall(SYS_fchmodat, fd, buf, MODE_WANTED));
	case BY_FCHMODAT2:
		return result(syscall(452, AT_FDCWD, path_tried, MODE_WANTED, 0));
	case BY_FCHMODAT2_EMPTY:
		return result(syscall(452, fd, "", MODE_WANTED, AT_EMPTY_PATH));
	case BY_PROC:
		snprintf(buf, sizeof(buf), "/proc/self/fd/%d", fd);
		return result(chmod(buf, MODE_WANTED));
	case BY_CWD:
		if (chdir(root) < 0)
			return 250;
		snprintf(buf, sizeof(buf), "..%s", path_tried + strlen(dir));
		return result(chmod(buf, MODE_WANTED));
	case BY_CHOWN:
		return result(chown(path_tried, geteuid(), getegid()));
	case BY_FCHOWN:
		return result(fchown(fd, geteuid(), getegid()));
	case BY_FCHOWNAT:
		flags = AT_SYMLINK_NOFOLLOW;
		return result(fchownat(AT_FDCWD, path_tried, geteuid(), getegid(), flags));
	case BY_UTIME:
		return result(utime(path_tried, &seconds));
	case BY_UTIMES:
		return result(utimes(path_tried, micro));
	case BY_FUTIMENS:
		return result(futimens(fd, nano));
	case BY_UTIMENSAT:
		return result(utimensat(AT_FDCWD, path_tried, nano, 0));
	case WAY_COUNT:
		break;
	}
	return 251;
}

static bool is_mode(enum way w)
{
	return w < BY_CHOWN && w != BY_FCHMOD_PATH;
}

static bool is_time(enum way w)
{
	return w >= BY_UTIME;
}

/* Is the file that the path leads to changed the way it was meant to be? */
static bool is_changed(const char *path, enum way w)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (is_mode(w) && (st.st_mode & 07777) == MODE_WANTED) ||
	       (is_time(w) && st.st_mtim.tv_sec == OLD);
}

static void reset(const char *path)
{
	assert_int_equal(chmod(path, MODE_BEFORE), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0);
}

static int attempt_all(void)
{
	for (enum way way = 0; way < WAY_COUNT; way++) {
		if (may_reset)
			reset(really);
		results->error[way] = attempt(way);
		results->changed[way] = is_changed(really, way);
	}
	return 0;
}

static void try_all(const char *path, const char *leads_to, int expected)
{
	struct results control;

	path_tried = path;
	really = leads_to;
	may_reset = true;
	assert_int_equal(not_supervised(attempt_all), 0);
	control = *results;
	reset(really);
	may_reset = expected == 0;
	assert_int_equal(supervise(attempt_all, NULL), 0);
	for (enum way way = 0; way < WAY_COUNT; way++) {
		bool changes = is_mode(way) || is_time(way);

		if (control.error[way] == ENOSYS)
			continue; /* older than the call */
		if (control.error[way] != 0 || control.changed[way] != changes)
			fail_msg("way %u of %s: %d without a supervisor", way, path,
				 control.error[way]);
		/* A link that is not followed is an object of its own, inside; and the kernel
		 * itself refuses another.
		 */
		if ((way == BY_FCHOWNAT && path == link_out) || way == BY_FCHMOD_PATH)
			continue;
		if (results->error[way] != expected ||
		    results->changed[way] != (changes && expected == 0))
			fail_msg("way %u of %s: %d", way, path, results->error[way]);
	}
}

static void a_file_in_a_root_is_changed(void **state)
{
	(void)state;
	try_all(inside, inside, 0);
	try_all(link_in, inside, 0);
}

static void a_file_outside_is_not(void **state)
{
	(void)state;
	try_all(outside, outside, EACCES);
	try_all(twisted, outside, EACCES);
	try_all(link_out, outside, EACCES);
	try_all(wider, wider, EACCES);
}

/* ---- what programs rely on ---- */

static int uses_it_as_programs_do(void)
{
	struct timespec times[2] = { { 0, UTIME_OMIT }, { OLD, 123456789 } };
	struct stat st;
	int fd = open(root, O_TMPFILE | O_RDWR, 0600);
	int memory = memfd_create("x", 0);

	EXPECT(chmod(root, 0711) == 0 && stat(root, &st) == 0 && (st.st_mode & 07777) == 0711);
	EXPECT(chmod(root, 0700) == 0);
	EXPECT(utimensat(AT_FDCWD, inside, times, 0) == 0 && stat(inside, &st) == 0);
	EXPECT(st.st_mtim.tv_sec == OLD && st.st_mtim.tv_nsec == 123456789);
	EXPECT(utimensat(AT_FDCWD, inside, NULL, 0) == 0 && stat(inside, &st) == 0);
	EXPECT(st.st_mtim.tv_sec > OLD);
	EXPECT(utimensat(AT_FDCWD, link_in, times, AT_SYMLINK_NOFOLLOW) == 0);
	EXPECT(lstat(link_in, &st) == 0 && st.st_mtim.tv_sec == OLD);
	EXPECT(lchown(link_in, geteuid(), (gid_t)-1) == 0);
	/* Files without a name: a temporary one, memory. */
	EXPECT(fd < 0 || fchmod(fd, 0644) == 0);
	EXPECT(fchmod(memory, 0600) == 0);
	EXPECT(fchmod(-1, 0600) < 0 && errno == EBADF);
	EXPECT(chmod((char *)8, 0600) < 0 && errno == EFAULT);
	EXPECT(chmod("", 0600) < 0 && errno == ENOENT);
	EXPECT(chmod("/no/such", 0600) < 0 && errno == ENOENT);
	EXPECT(fchownat(AT_FDCWD, inside, 0, 0, 0x10000) < 0 && errno == EINVAL);
	EXPECT(chown(inside, geteuid() + 1, (gid_t)-1) < 0 && errno == EPERM);
	EXPECT(chown(inside, (uid_t)-1, 54321) < 0 && errno == EPERM);
	EXPECT(chmod("/dev/null", 0666) < 0 && errno == EACCES);
	return 0;
}

static void programs_find_what_they_rely_on(void **state)
{
	struct supervise_counts counts;

	(void)state;
	assert_int_equal(supervise(uses_it_as_programs_do, &counts), 0);
	assert_true(counts.changed > 5);
	assert_true(counts.refused > 0);
}

/* ---- races ---- */

static char raced[64];
static _Atomic bool race_over;

/* The path in memory, and the link in the root, lead now inside and now outside. */
static void *change_path(void *arg)
{
	char other[80];

	(void)arg;
	snprintf(other, sizeof(other), "%s/swap", root);
	for (unsigned i = 0; !race_over; i++) {
		memcpy(raced, i % 2 ? inside : outside, sizeof(raced));
		unlink(other);
		if (symlink(i % 4 < 2 ? outside : inside, other) == 0)
			rename(other, link_in);
	}
	unlink(other);
	return NULL;
}

static int race_for_the_path(void)
{
	double start = race_clock();
	pthread_t thread;
	unsigned changed = 0;
	unsigned refused = 0;

	strcpy(raced, inside);
	pthread_create(&thread, NULL, change_path, NULL);
	for (int i = 0; race_on(i, changed && refused, start); i++) {
		int r = chmod(i % 2 ? raced : link_in, MODE_WANTED);

		changed += r == 0;
		refused += r < 0;
	}
	race_over = true;
	pthread_join(thread, NULL);
	return changed > 0 && refused > 0 ? 0 : 1;
}

static void a_path_that_changes_leads_nowhere_else(void **state)
{
	(void)state;
	reset(inside);
	reset(outside);
	assert_int_equal(supervise(race_for_the_path, NULL), 0);
	assert_false(is_changed(outside, BY_CHMOD));
	assert_true(is_changed(inside, BY_CHMOD));
	unlink(link_in);
	assert_int_equal(symlink("file", link_in), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_in_a_root_is_changed),
		cmocka_unit_test(a_file_outside_is_not),
		cmocka_unit_test(programs_find_what_they_rely_on),
		cmocka_unit_test(a_path_that_changes_leads_nowhere_else),
	};

	take_arguments(argc, argv);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
