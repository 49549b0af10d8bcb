/* The terminal the launcher was started on: descriptor 0, and the controlling terminal. */
#include "tests/attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kd.h>
#include <linux/tiocl.h>
#include <linux/vt.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

/* arg: the request, and what its argument points at or is */
static int control(const struct stage *s, const long *arg)
{
	union {
		int value;
		char room[64];
	} a = { .value = (int)arg[1] };

	(void)s;
	return answer_zero(syscall(SYS_ioctl, STDIN_FILENO, arg[0], &a));
}

static int control_value(const struct stage *s, const long *arg)
{
	(void)s;
	return answer_zero(syscall(SYS_ioctl, STDIN_FILENO, arg[0], arg[1]));
}

/* The foreground group becomes our own. */
static int take_foreground(const struct stage *s, const long *arg)
{
	int group = getpgrp();

	(void)s;
	(void)arg;
	return answer_zero(ioctl(STDIN_FILENO, TIOCSPGRP, &group));
}

static int open_path(const struct stage *s, const long *arg)
{
	(void)s;
	return answer_fd(open(TEXT_OF(arg[0]), (int)arg[1] | O_NOCTTY | O_CLOEXEC));
}

static int open_own_terminal(const struct stage *s, const long *arg)
{
	char name[64];

	(void)s;
	(void)arg;
	if (ttyname_r(STDIN_FILENO, name, sizeof(name)) != 0)
		return broken("ttyname");
	return answer_fd(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
}

static int get_attributes(const struct stage *s, const long *arg)
{
	struct termios t;

	(void)s;
	(void)arg;
	return answer_zero(tcgetattr(STDIN_FILENO, &t));
}

static int set_attributes(const struct stage *s, const long *arg)
{
	struct termios t;

	(void)s;
	(void)arg;
	if (tcgetattr(STDIN_FILENO, &t) < 0)
		return broken("tcgetattr");
	return answer_zero(tcsetattr(STDIN_FILENO, TCSANOW, &t));
}

#define HIGH (1L << 32)
#define ON_TERMINAL .terminal = true

static const struct row table[] = {
	{ DENY("tty_type", EPERM, control, TIOCSTI, 'x'), ON_TERMINAL, .absent = -EIO },
	{ DENY("tty_type_high_half", EPERM, control, HIGH | TIOCSTI, 'x'), ON_TERMINAL,
	  .absent = -EIO },
	{ DENY("tty_paste", EPERM, control, TIOCLINUX, TIOCL_PASTESEL), ON_TERMINAL,
	  .control = -ENOTTY },
	{ DENY("tty_discipline", EPERM, control, TIOCSETD, 0), ON_TERMINAL },
	{ DENY("tty_foreground", EPERM, take_foreground), ON_TERMINAL },
	{ DENY("tty_hangup", EPERM, control_value, TIOCVHANGUP, 0), ON_TERMINAL, .who = ROOT_ONLY,
	  .control = KILLED(SIGHUP) },
	/* These two signal the foreground group, and stop what it writes. */
	{ DENY("tty_window_set", EPERM, control, TIOCSWINSZ, 0), ON_TERMINAL },
	{ DENY("tty_flow", EPERM, control_value, TCXONC, TCOON), ON_TERMINAL },
	{ DENY("tty_exclusive", EPERM, control_value, TIOCEXCL, 0), ON_TERMINAL },
	{ DENY("tty_console", EPERM, control_value, TIOCCONS, 0), ON_TERMINAL },
	{ DENY("tty_signal", EPERM, control_value, TIOCSIG, 2), ON_TERMINAL, .control = -ENOTTY },
	{ DENY("vt_activate", EPERM, control_value, VT_ACTIVATE, 1), ON_TERMINAL,
	  .control = -ENOTTY },
	{ DENY("vt_mode", EPERM, control_value, KDSETMODE, KD_TEXT), ON_TERMINAL,
	  .control = -ENOTTY },
	{ DENY("vt_keyboard", EPERM, control_value, KDSKBMODE, 1), ON_TERMINAL,
	  .control = -ENOTTY },
	{ DENY("tty_open", EACCES, open_path, TEXT("/dev/tty"), O_RDWR), ON_TERMINAL },
	{ DENY("tty_open_read", EACCES, open_path, TEXT("/dev/tty"), O_RDONLY), ON_TERMINAL },
	{ DENY("tty_open_own", EACCES, open_own_terminal), ON_TERMINAL },
	{ DENY("tty_open_by_fd", EACCES, open_path, TEXT("/proc/self/fd/0"), O_RDWR), ON_TERMINAL },
	{ DENY("tty_open_stdin", EACCES, open_path, TEXT("/dev/stdin"), O_RDWR), ON_TERMINAL },
	{ DENY("tty_new", EACCES, open_path, TEXT("/dev/ptmx"), O_RDWR), .absent = -ENOENT },
	{ DENY("tty_new_pts", EACCES, open_path, TEXT("/dev/pts/ptmx"), O_RDWR),
	  .absent = -ENOENT },
	{ DENY("console_open", EACCES, open_path, TEXT("/dev/console"), O_RDWR),
	  .absent = -ENOENT },
	{ DENY("vt_open", EACCES, open_path, TEXT("/dev/tty0"), O_WRONLY), .absent = -ENOENT },

	{ ALLOW("tty_attributes", get_attributes), ON_TERMINAL },
	{ ALLOW("tty_window", control, TIOCGWINSZ, 0), ON_TERMINAL },
	{ ALLOW("tty_readable", control, FIONREAD, 0), ON_TERMINAL },
	{ KNOWN("tty_set_attributes", set_attributes), ON_TERMINAL },
};

ROWS(terminal_rows, table);
