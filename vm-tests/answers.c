/* What Landlock of one ABI answers, in numbers and in deeds; TAP.
 *
 *	answers ABI    every answer must be that ABI's; 0: there must be no Landlock at all
 *	answers -      of the ABI this kernel says it is
 *
 * The same list runs on genuine kernels and on those that answer as an older one (abi-limit/), so
 *that the two are told apart if they can be. Masks and sizes:
 *Documentation/userspace-api/landlock.rst.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define CREATE_RULESET 444
#define ADD_RULE 445
#define RESTRICT_SELF 446
#define RULE_PATH 1
#define RULE_PORT 2
#define EXECUTE (1ULL << 0)
#define READ_FILE (1ULL << 2)
#define REFER (1ULL << 13)
#define PAGE 4096

struct ruleset {
	uint64_t fs, net, scoped, quiet[3];
};

struct path_rule {
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));

struct port_rule {
	uint64_t allowed, port;
};

static int abi;
static char dir[] = "/tmp/answers-XXXXXX";

/* What there is to reach. */
static int tcp = -1, udp = -1, abstract_name = -1, pathname = -1;
static struct sockaddr_in tcp_at, udp_at;
static struct sockaddr_un abstract_at, pathname_at;

/* How many rights of each kind an ABI has. */
static int fs_bits(void)
{
	return abi >= 9 ? 17 : abi >= 5 ? 16 : abi >= 3 ? 15 : abi == 2 ? 14 : 13;
}

static int net_bits(void)
{
	return abi >= 10 ? 4 : abi >= 4 ? 2 : 0;
}

static int scope_bits(void)
{
	return abi >= 6 ? 2 : 0;
}

static uint64_t mask(int bits)
{
	return (1ULL << bits) - 1;
}

static void expect(int got, int wanted, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void expect(int got, int wanted, const char *fmt, ...)
{
	va_list arguments;

	printf("%s - ", got == wanted ? "ok" : "not ok");
	va_start(arguments, fmt);
	vprintf(fmt, arguments);
	va_end(arguments);
	printf("\n");
	if (got != wanted)
		printf("# %s, not %s\n", strerror(got), strerror(wanted));
}

/* 0 or the errno of making such a ruleset. */
static int made(const void *attr, size_t size, uint32_t flags)
{
	long fd = syscall(CREATE_RULESET, attr, size, flags);

	if (fd < 0)
		return errno;
	close((int)fd);
	return 0;
}

static int made_of(uint64_t fs, uint64_t net, uint64_t scoped)
{
	struct ruleset attr = { .fs = fs, .net = net, .scoped = scoped };

	return made(&attr, scoped ? 24 : net ? 16 : 8, 0);
}

/* ---- numbers ---- */

static void check_rights(void)
{
	for (int bit = 0; bit < 64; bit += bit < 20 ? 1 : 11)
		expect(made_of(1ULL << bit, 0, 0), bit < fs_bits() ? 0 : EINVAL, "file right %d",
		       bit);
	/* A field that is not known must be zero. */
	for (int bit = 0; bit < 64; bit += bit < 6 ? 1 : 19)
		expect(made_of(1, 1ULL << bit, 0),
		       bit < net_bits() ? 0
		       : net_bits()	? EINVAL
					: E2BIG,
		       "network right %d", bit);
	for (int bit = 0; bit < 64; bit += bit < 6 ? 1 : 19)
		expect(made_of(1, 0, 1ULL << bit),
		       bit < scope_bits() ? 0
		       : scope_bits()	  ? EINVAL
					  : E2BIG,
		       "scope %d", bit);
}

static void check_sizes(void)
{
	static char page[PAGE + 8];
	static const size_t zero_tails[] = { 8, 12, 16, 24, 32, 48, 64, PAGE };
	struct ruleset attr = { .fs = 1 };

	for (size_t i = 0; i < sizeof(zero_tails) / sizeof(zero_tails[0]); i++) {
		memset(page, 0, sizeof(page));
		page[0] = 1;
		expect(made(page, zero_tails[i], 0), 0, "size %zu", zero_tails[i]);
	}
	expect(made(page, PAGE + 1, 0), E2BIG, "size over a page");
	page[PAGE - 1] = 1;
	expect(made(page, PAGE, 0), E2BIG, "a last byte that is not zero");
	expect(made(&attr, 7, 0), EINVAL, "size 7");
	expect(made(NULL, 0, 0), EFAULT, "no structure");
	expect(made(NULL, 8, 0), EFAULT, "no structure of size 8");
	expect(made((void *)8, 8, 0), EFAULT, "a structure that is not there");
	expect(made(&attr, 8, 1U << 31), EINVAL, "an unknown flag");
	expect(made(&attr, 8, 1), EINVAL, "the version of a structure");
	expect(made_of(0, 0, 0), ENOMSG, "nothing handled");
	attr.quiet[0] = 1;
	expect(made(&attr, sizeof(attr), 0), abi >= 10 ? 0 : E2BIG, "a quiet right");
}

static int rule(int ruleset, int type, const void *attr)
{
	return syscall(ADD_RULE, ruleset, type, attr, 0) < 0 ? errno : 0;
}

static void check_rules(void)
{
	struct ruleset attr = { .fs = READ_FILE };
	int plain = (int)syscall(CREATE_RULESET, &attr, 8, 0);
	struct path_rule path = { .allowed = READ_FILE, .fd = open(dir, O_PATH | O_CLOEXEC) };
	struct port_rule port = { .allowed = 2, .port = 443 };

	expect(rule(plain, RULE_PATH, &path), 0, "a rule for a path");
	path.allowed = EXECUTE;
	expect(rule(plain, RULE_PATH, &path), EINVAL, "a right that is not handled");
	path.allowed = 0;
	expect(rule(plain, RULE_PATH, &path), ENOMSG, "a rule that allows nothing");
	expect(rule(plain, RULE_PORT, &port), EINVAL, "a port where no network is handled");
	expect(rule(plain, RULE_PORT + 7, &port), EINVAL, "an unknown type of rule");
	expect(rule(-1, RULE_PORT, &port), EBADF, "a port without a ruleset");
	expect(rule(tcp, RULE_PORT, &port), EBADFD, "a port for what is no ruleset");
	close(plain);
	attr.net = 2;
	plain = net_bits() ? (int)syscall(CREATE_RULESET, &attr, 16, 0) : -1;
	if (net_bits()) {
		expect(rule(plain, RULE_PORT, &port), 0, "a rule for a port");
		port.port = 65536;
		expect(rule(plain, RULE_PORT, &port), EINVAL, "a port over 65535");
		close(plain);
	}
	close(path.fd);
}

/* ---- deeds: in a child with a ruleset that handles everything but `without` ---- */

static char *in_dir(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static int failed(long result)
{
	return result < 0 ? errno : 0;
}

static int do_rename(void)
{
	char from[64];

	snprintf(from, sizeof(from), "%s", in_dir("a/file"));
	return failed(rename(from, in_dir("b/file")));
}

static int do_truncate(void)
{
	return failed(truncate("/tmp/answers-outside", 0));
}

static int do_ioctl(void)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? EIO : failed(ioctl(fd, 0x1234, 0));
}

static int do_connect_tcp(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return failed(connect(fd, (void *)&tcp_at, sizeof(tcp_at)));
}

static int do_bind_tcp(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return failed(bind(fd, (void *)&at, sizeof(at)));
}

static int do_send_udp(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	return failed(sendto(fd, "x", 1, 0, (void *)&udp_at, sizeof(udp_at)));
}

static int do_connect_abstract(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	return failed(connect(fd, (void *)&abstract_at, sizeof(sa_family_t) + 1 + strlen(dir)));
}

static int do_connect_pathname(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	return failed(connect(fd, (void *)&pathname_at, sizeof(pathname_at)));
}

static int do_signal(void)
{
	return failed(kill(getppid(), 0));
}

/* Confine this process: all rights of the ABI but `without`, those of the directory allowed below
 * it and reading of /dev/zero.
 */
static int confine(uint64_t without)
{
	struct ruleset attr = { .fs = mask(fs_bits()) & ~without,
				.net = mask(net_bits()),
				.scoped = mask(scope_bits()) };
	size_t size = scope_bits() ? 24 : net_bits() ? 16 : 8;
	int ruleset = (int)syscall(CREATE_RULESET, &attr, size, 0);
	struct path_rule all = { .allowed = attr.fs, .fd = open(dir, O_PATH) };
	struct path_rule zero = { .allowed = READ_FILE, .fd = open("/dev/zero", O_PATH) };

	/* A socket's path is no part of what the directory may do. */
	if (abi >= 9)
		all.allowed &= ~(1ULL << 16);
	if (ruleset < 0 || rule(ruleset, RULE_PATH, &all) || rule(ruleset, RULE_PATH, &zero))
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(RESTRICT_SELF, ruleset, 0);
}

/* The deed in a child; what is handled when `confine_it`. Returns its errno, or 255. */
static int in_child(int (*deed)(void), int confine_it, uint64_t without)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(confine_it && confine(without) < 0 ? 255 : deed());
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 255;
	return WEXITSTATUS(status);
}

static int touch(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? -1 : close(fd);
}

static int listening(int family, int type, void *at, socklen_t size)
{
	int fd = socket(family, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, at, size) < 0 || (type == SOCK_STREAM && listen(fd, 4) < 0))
		return -1;
	if (family == AF_INET && getsockname(fd, at, &size) < 0)
		return -1;
	return fd;
}

static int set_up(void)
{
	tcp_at = udp_at = (struct sockaddr_in){ .sin_family = AF_INET,
						.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	abstract_at.sun_family = pathname_at.sun_family = AF_UNIX;
	memcpy(abstract_at.sun_path + 1, dir, strlen(dir));
	snprintf(pathname_at.sun_path, sizeof(pathname_at.sun_path), "%s", in_dir("socket"));
	tcp = listening(AF_INET, SOCK_STREAM, &tcp_at, sizeof(tcp_at));
	udp = listening(AF_INET, SOCK_DGRAM, &udp_at, sizeof(udp_at));
	abstract_name = listening(AF_UNIX, SOCK_STREAM, &abstract_at,
				  (socklen_t)(sizeof(sa_family_t) + 1 + strlen(dir)));
	pathname = listening(AF_UNIX, SOCK_STREAM, &pathname_at, sizeof(pathname_at));
	if (mkdir(in_dir("a"), 0700) < 0 || mkdir(in_dir("b"), 0700) < 0 ||
	    touch(in_dir("a/file")) < 0 || touch("/tmp/answers-outside") < 0)
		return -1;
	return tcp < 0 || udp < 0 || abstract_name < 0 || pathname < 0 ? -1 : 0;
}

static void clean_up(void)
{
	static const char *const files[] = { "a/file", "b/file", "socket" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlink(in_dir(files[i]));
	rmdir(in_dir("a"));
	rmdir(in_dir("b"));
	rmdir(dir);
	unlink("/tmp/answers-outside");
}

static void check_deeds(void)
{
	const struct {
		const char *what;
		int (*deed)(void);
		int since;
		int denied;
		int otherwise;
	} deeds[] = {
		{ "truncate outside", do_truncate, 3, EACCES, 0 },
		{ "ioctl on a device", do_ioctl, 5, EACCES, ENOTTY },
		{ "connect by TCP", do_connect_tcp, 4, EACCES, 0 },
		{ "bind for TCP", do_bind_tcp, 4, EACCES, 0 },
		{ "send by UDP", do_send_udp, 10, EACCES, 0 },
		{ "connect to an abstract socket", do_connect_abstract, 6, EPERM, 0 },
		{ "connect to a socket's path", do_connect_pathname, 9, EACCES, 0 },
		{ "signal the parent", do_signal, 6, EPERM, 0 },
	};

	for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++) {
		expect(in_child(deeds[i].deed, 0, 0), deeds[i].otherwise, "control: %s",
		       deeds[i].what);
		expect(in_child(deeds[i].deed, 1, 0),
		       abi >= deeds[i].since ? deeds[i].denied : deeds[i].otherwise, "%s, confined",
		       deeds[i].what);
	}
	expect(in_child(do_rename, 1, REFER), EXDEV, "rename to another directory, not handled");
	expect(in_child(do_rename, 1, 0), abi >= 2 ? 0 : EXDEV,
	       "rename to another directory, allowed");
}

int main(int argc, char **argv)
{
	struct ruleset attr = { .fs = 1 };
	long version = syscall(CREATE_RULESET, NULL, 0, 1);

	if (argc != 2)
		return 64;
	setvbuf(stdout, NULL, _IOLBF, 0);
	abi = argv[1][0] == '-' ? (int)version : (int)strtol(argv[1], NULL, 10);
	if (abi <= 0) {
		printf("%s - no Landlock: version\n", version < 0 ? "ok" : "not ok");
		printf("%s - no Landlock: a ruleset\n", made(&attr, 8, 0) ? "ok" : "not ok");
		return 0;
	}
	expect((int)version, abi, "the version");
	if (!mkdtemp(dir))
		return 1;
	if (set_up() < 0) {
		printf("not ok - what the deeds need could not be set up: %s\n", strerror(errno));
	} else {
		check_rights();
		check_sizes();
		check_rules();
		check_deeds();
	}
	clean_up();
	return 0;
}
