/* PID 1 of a test machine: mounts what its row says, runs what its row lists, sends it all out of
 * the machine (channel.h), powers off.
 *
 *	init            as PID 1: everything
 *	init unit       inside a service of another PID 1: only the programs, as who we are
 *	init open       as root, before that: the way out may be used by everyone
 *	init finish     as root, after that: the kernel's messages, the end, power off
 *
 * The row is the file /row: lines of words between tabs, in order:
 *
 *	cgroup unified|hybrid|v1|none
 *	sysctl PATH VALUE        below /proc/sys
 *	module PATH [ARGUMENTS]
 *	mode PATH OCTAL
 *	run NAME UID SECONDS PROGRAM [ARGUMENT…]
 *	shell                    a prompt on the console
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel.h"
#include "child.h"

#define USER_UID 1000
#define WORDS_MAX 64
#define ROW_MAX (64 * 1024)
#define CGROUP "/sys/fs/cgroup"
#define DELEGATED CGROUP "/oarbank"
#define AGENT \
	"agent" /* the leaf an agent moves itself to, so that the group above can have others */

static void problem(const char *what)
{
	channel_say("problem", "init", "%s: %s", what, strerror(errno));
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		problem(path);
	if (fd >= 0)
		close(fd);
}

/* ---- what every machine has ---- */

static void mount_at(const char *type, const char *target, unsigned long flags, const char *options)
{
	mkdir(target, 0755);
	if (mount(type, target, type, flags, options) < 0)
		problem(target);
}

static void mount_basics(void)
{
	mount_at("devtmpfs", "/dev", MS_NOSUID, "mode=0755");
	mount_at("proc", "/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	mount_at("sysfs", "/sys", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	mount_at("devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC, "ptmxmode=0666,mode=0620");
	mount_at("tmpfs", "/dev/shm", MS_NOSUID | MS_NODEV, "mode=1777");
	mount_at("tmpfs", "/run", MS_NOSUID | MS_NODEV, "mode=0755");
	mount_at("tmpfs", "/tmp", MS_NOSUID | MS_NODEV, "mode=1777");
	mount_at("securityfs", "/sys/kernel/security", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	mount_at("mqueue", "/dev/mqueue", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	if (symlink("/proc/self/fd", "/dev/fd") < 0 ||
	    symlink("/proc/self/fd/0", "/dev/stdin") < 0 ||
	    symlink("/proc/self/fd/1", "/dev/stdout") < 0 ||
	    symlink("/proc/self/fd/2", "/dev/stderr") < 0)
		problem("/dev/fd");
}

/* An IPv4 address for the loopback interface. */
static void give_address(uint32_t address)
{
	struct {
		struct nlmsghdr head;
		struct ifaddrmsg message;
		struct rtattr attribute;
		uint32_t address;
	} request = {
		.head = { .nlmsg_len = sizeof(request),
			  .nlmsg_type = RTM_NEWADDR,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK },
		.message = { .ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = 1 },
		.attribute = { .rta_len = RTA_LENGTH(sizeof(uint32_t)), .rta_type = IFA_LOCAL },
		.address = htonl(address),
	};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char request[sizeof(request)];
	} answer = { .error = { .error = -EIO } };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0 || send(fd, &request, sizeof(request), 0) < 0 ||
	    recv(fd, &answer, sizeof(answer), 0) < 0 || (errno = -answer.error.error))
		problem("an address for the loopback");
	if (fd >= 0)
		close(fd);
}

/* Beside 127.0.0.1 there is an address of the outside world and one of the link, so that what must
 * not be reached is there to be reached.
 */
static void loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		problem("loopback");
	if (fd >= 0)
		close(fd);
	give_address(0xC6336401); /* 198.51.100.1 */
	give_address(0xA9FEA9FE); /* 169.254.169.254 */
}

/* ---- control groups, as systemd lays them out ---- */

static void delegate(const char *dir)
{
	static const char *const files[] = { "cgroup.procs", "cgroup.threads",
					     "cgroup.subtree_control" };
	char path[128];

	if (chown(dir, USER_UID, USER_UID) < 0)
		problem(dir);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		if (chown(path, USER_UID, USER_UID) < 0)
			problem(path);
	}
}

/* Version 2 with a group that belongs to the user, laid out as an agent does it that was started
 * there. */
static void cgroup_unified(void)
{
	mount_at("cgroup2", CGROUP, MS_NOSUID | MS_NODEV | MS_NOEXEC, "nsdelegate");
	put(CGROUP "/cgroup.subtree_control", "+cpu +memory +pids");
	if (mkdir(DELEGATED, 0755) < 0 || mkdir(DELEGATED "/" AGENT, 0755) < 0)
		problem(DELEGATED);
	put(DELEGATED "/cgroup.subtree_control", "+cpu +memory +pids");
	delegate(DELEGATED);
	delegate(DELEGATED "/" AGENT);
	child_cgroup(DELEGATED "/" AGENT);
}

/* The same in a unit with Delegate=yes, as its user. */
static void lay_out_unit(void)
{
	char own[256] = "", dir[300], file[340];
	int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, own, sizeof(own) - 1) < 4)
		problem("/proc/self/cgroup");
	if (fd >= 0)
		close(fd);
	own[strcspn(own, "\n")] = '\0';
	snprintf(dir, sizeof(dir), CGROUP "%s", own + 3); /* behind "0::" */
	snprintf(file, sizeof(file), "%s/" AGENT, dir);
	if (mkdir(file, 0755) < 0)
		problem(file);
	snprintf(file, sizeof(file), "%s/" AGENT "/cgroup.procs", dir);
	put(file, "0");
	snprintf(file, sizeof(file), "%s/cgroup.subtree_control", dir);
	put(file, "+cpu +memory +pids");
}

/* Version 1, one hierarchy for each controller the kernel still has there. */
static void cgroup_v1(int hybrid)
{
	static const char *const controllers[] = { "cpu,cpuacct", "memory", "pids", "freezer",
						   "devices",	  "cpuset", "blkio" };
	char dir[64];
	int mounted = 0;

	mount_at("tmpfs", CGROUP, MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0755");
	for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
		snprintf(dir, sizeof(dir), CGROUP "/%s", controllers[i]);
		mkdir(dir, 0755);
		if (mount("cgroup", dir, "cgroup", MS_NOSUID | MS_NODEV | MS_NOEXEC,
			  controllers[i]) == 0)
			mounted++;
		else
			rmdir(dir);
	}
	if (!mounted)
		problem("cgroup v1");
	if (hybrid)
		mount_at("cgroup2", CGROUP "/unified", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

static void cgroup(const char *layout)
{
	if (strcmp(layout, "unified") == 0)
		cgroup_unified();
	else if (strcmp(layout, "hybrid") == 0)
		cgroup_v1(1);
	else if (strcmp(layout, "v1") == 0)
		cgroup_v1(0);
}

/* ---- the row ---- */

static void load_module(const char *path, const char *arguments)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_finit_module, fd, arguments, 0) < 0)
		problem(path);
	if (fd >= 0)
		close(fd);
}

/* What the way out itself needs, where the kernel has it as modules: /early/0.ko, /early/1.ko, … */
static void load_early_modules(void)
{
	char path[32];

	for (int i = 0; i < 16; i++) {
		snprintf(path, sizeof(path), "/early/%d.ko", i);
		if (access(path, F_OK) < 0)
			return;
		load_module(path, "");
	}
}

static void sysctl(const char *name, const char *value)
{
	char path[256];

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	put(path, value);
}

static void shell(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		setsid();
		ioctl(0, TIOCSCTTY, 1);
		execl("/bin/sh", "-sh", (char *)NULL);
		_exit(127);
	}
	while (wait(NULL) != pid)
		;
}

static void run(char **words, int as_is)
{
	struct child child = {
		.name = words[1],
		.uid = as_is ? (uid_t)-1 : (uid_t)strtoul(words[2], NULL, 10),
		.seconds = (unsigned)strtoul(words[3], NULL, 10),
		.argv = words + 4,
	};

	child_run(&child);
}

/* One line of /row; `unit`: only its programs. */
static void carry_out(char **words, int count, int unit)
{
	const char *verb = words[0];

	if (strcmp(verb, "run") == 0 && count >= 5)
		run(words, unit);
	else if (unit)
		return;
	else if (strcmp(verb, "cgroup") == 0 && count == 2)
		cgroup(words[1]);
	else if (strcmp(verb, "sysctl") == 0 && count == 3)
		sysctl(words[1], words[2]);
	else if (strcmp(verb, "module") == 0 && count >= 2)
		load_module(words[1], count > 2 ? words[2] : "");
	else if (strcmp(verb, "mode") == 0 && count == 3)
		chmod(words[1], (mode_t)strtoul(words[2], NULL, 8));
	else if (strcmp(verb, "shell") == 0)
		shell();
	else
		channel_say("problem", "init", "/row: cannot carry out '%s'", verb);
}

static void follow_row(int unit)
{
	static char text[ROW_MAX];
	char *words[WORDS_MAX + 1];
	char *line, *rest = text;
	int fd = open("/row", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0 || n == sizeof(text) - 1)
		problem("/row");
	if (fd >= 0)
		close(fd);
	while ((line = strsep(&rest, "\n"))) {
		int count = 0;

		while (count < WORDS_MAX && (words[count] = strsep(&line, "\t")))
			count++;
		words[count] = NULL;
		if (words[0][0])
			carry_out(words, count, unit);
	}
}

/* ---- the end ---- */

/* The kernel's messages of every level: the console shows only the worst. */
static void send_kernel_log(void)
{
	static char text[512 * 1024];
	int length = (int)syscall(SYS_syslog, 3, text, sizeof(text));

	if (length > 0)
		channel_send("kmsg", "kernel", text, (size_t)length);
}

static void finish(void)
{
	send_kernel_log();
	channel_send("done", "init", "", 0);
	sync();
	reboot(RB_POWER_OFF);
}

static int beside_another(const char *mode)
{
	if (channel_open() < 0)
		return 1;
	if (strcmp(mode, "unit") == 0) {
		lay_out_unit();
		follow_row(1);
	} else if (strcmp(mode, "open") == 0) {
		chmod(channel_path(), 0666);
	} else if (strcmp(mode, "finish") == 0) {
		finish();
	}
	return 0;
}

int main(int argc, char **argv)
{
	int console;

	/* PID 1 gets the words of the boot line that its kernel does not know. */
	if (argc > 1 && getpid() != 1)
		return beside_another(argv[1]);
	umask(022);
	mount_basics();
	console = open("/dev/console", O_RDWR | O_NOCTTY);
	for (int fd = 0; console >= 0 && fd < 3; fd++)
		if (fd != console)
			dup2(console, fd);
	load_early_modules();
	if (channel_open() < 0)
		dprintf(2, "oarbank init: no virtio port and no second serial port\n");
	channel_send("begin", "init", "", 0);
	if (sethostname("oarbank-vm", 10) < 0)
		problem("hostname");
	loopback_up();
	follow_row(0);
	finish();
	return 1;
}
