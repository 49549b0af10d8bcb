#include "launch/descriptors.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "kabi/text.h"

#define SIGNAL_VARIABLE "OARBANK_CONFINED"
#define SUPERVISOR_VARIABLE "OARBANK_SUPERVISOR"
#define FIRST_FD 3

/* Variables that name a descriptor the module is meant to have. */
static const struct {
	const char *name;
	bool prefix;
} variables[] = {
	{ "OARBANK_ENDPOINT_CHANNEL", false },
	{ "OARBANK_SERVICE_", true },
	{ "OARBANK_LISTEN_FD_", true },
};

struct kept {
	int fd;
	const char *variable; /* NAME=value; its name is shown */
};

struct keep_list {
	size_t count;
	struct kept kept[DESCRIPTORS_KEPT_MAX]; /* ascending, each once */
};

/* ---- environment ---- */

/* The value if `entry` is NAME=value, else NULL. */
static const char *value_of(const char *entry, const char *name)
{
	size_t len = strlen(name);

	return strncmp(entry, name, len) == 0 && entry[len] == '=' ? entry + len + 1 : NULL;
}

int descriptors_take_signal(char **envp)
{
	char **out = envp;
	bool seen = false;
	int fd = -1;

	for (char **in = envp; *in; in++) {
		const char *value = value_of(*in, SIGNAL_VARIABLE);
		int64_t number;

		if (!value) {
			*out++ = *in;
			continue;
		}
		if (!seen && text_int(value, FIRST_FD, INT_MAX, &number) == 0)
			fd = (int)number;
		seen = true;
	}
	*out = NULL;
	return fd;
}

/* The text behind "fd:" if `entry` is one of the variables with such a value, else NULL. */
static const char *descriptor_text(const char *entry)
{
	const char *equals = strchr(entry, '=');

	if (!equals || strncmp(equals, "=fd:", 4) != 0)
		return NULL;
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		size_t len = strlen(variables[i].name);
		size_t name_len = (size_t)(equals - entry);

		if (strncmp(entry, variables[i].name, len) == 0 &&
		    (variables[i].prefix ? name_len > len : name_len == len))
			return equals + 4;
	}
	return NULL;
}

/* ---- what to keep ---- */

static int refuse(const char *variable, const char *what, struct fault *why)
{
	char name[128];
	struct text t = TEXT_BUF(name);

	text_add_bytes(&t, variable, strcspn(variable, "="));
	fault_join(why, name, ": ", what, NULL);
	return -EINVAL;
}

static int keep(struct keep_list *list, int fd, const char *variable, struct fault *why)
{
	size_t at = list->count;

	while (at > 0 && list->kept[at - 1].fd >= fd)
		at--;
	if (at < list->count && list->kept[at].fd == fd)
		return 0;
	if (list->count == DESCRIPTORS_KEPT_MAX)
		return refuse(variable, "too many descriptors", why);
	memmove(&list->kept[at + 1], &list->kept[at], (list->count - at) * sizeof(list->kept[0]));
	list->kept[at] = (struct kept){ .fd = fd, .variable = variable };
	list->count++;
	return 0;
}

static int read_environment(char *const envp[], int signal_fd, int supervisor,
			    struct keep_list *list, struct fault *why)
{
	int r;

	for (; *envp; envp++) {
		const char *text = descriptor_text(*envp);
		int64_t fd;

		if (!text)
			continue;
		if (text_int(text, FIRST_FD, INT_MAX, &fd) < 0)
			return refuse(*envp, "names no descriptor above 2", why);
		if (fd == signal_fd)
			return refuse(*envp, "names the descriptor of " SIGNAL_VARIABLE, why);
		if (fd == supervisor)
			return refuse(*envp, "names the descriptor of " SUPERVISOR_VARIABLE, why);
		r = keep(list, (int)fd, *envp, why);
		if (r < 0)
			return r;
	}
	r = signal_fd < 0 ? 0 : keep(list, signal_fd, SIGNAL_VARIABLE, why);
	if (r == 0 && supervisor >= 0)
		r = keep(list, supervisor, SUPERVISOR_VARIABLE, why);
	return r;
}

/* ---- what may stay ---- */

/* What is wrong with keeping it, or NULL. */
static const char *objection(const struct node *node)
{
	switch (node->type) {
	case NODE_DIR:
		return "is a directory";
	case NODE_CHAR:
	case NODE_BLOCK:
		return "is a device";
	case NODE_OTHER:
	case NODE_FILE:
	case NODE_LINK:
	case NODE_SOCKET:
	case NODE_FIFO:
		return NULL;
	}
	return "is unknown";
}

static bool is_null_device(const struct node *node)
{
	return node->type == NODE_CHAR && node->major == 1 && node->minor == 3;
}

static int check_standard(const struct kernel *k, int fd, struct fault *why)
{
	const char number[] = { (char)('0' + fd), '\0' };
	const char *what;
	struct node node;
	int r = k->fstat(k, fd, &node);

	if (r == -EBADF)
		return 0;
	if (r < 0)
		return fault_errno(why, "look at descriptor", number, -r);
	what = objection(&node);
	if (!what || is_null_device(&node))
		return 0;
	if (node.type == NODE_CHAR && k->isatty(k, fd) == 1)
		return 0;
	fault_join(why, "descriptor ", number, " ", what,
		   node.type == NODE_CHAR ? " other than /dev/null or a terminal" : "", NULL);
	return -EINVAL;
}

static int check_kept(const struct kernel *k, const struct kept *kept, struct fault *why)
{
	const char *what;
	struct node node;
	int r = k->fstat(k, kept->fd, &node);

	if (r < 0) {
		refuse(kept->variable, "names a descriptor that is not open", why);
		return r;
	}
	what = objection(&node);
	if (!what)
		return 0;
	refuse(kept->variable, what, why);
	fault_prefix(why, "a descriptor that may not stay");
	return -EINVAL;
}

/* ---- closing ---- */

static int close_between(const struct kernel *k, int first, int last, struct fault *why)
{
	int r;

	if (first > last)
		return 0;
	r = k->close_range(k, (unsigned)first, (unsigned)last, 0);
	return r < 0 ? fault_errno(why, "close_range", NULL, -r) : 0;
}

static int close_others(const struct kernel *k, const struct keep_list *list, struct fault *why)
{
	int next = FIRST_FD;

	for (size_t i = 0; i < list->count; i++) {
		int r = close_between(k, next, list->kept[i].fd - 1, why);

		if (r < 0)
			return r;
		if (list->kept[i].fd == INT_MAX)
			return 0;
		next = list->kept[i].fd + 1;
	}
	return close_between(k, next, INT_MAX, why);
}

int descriptors_close(const struct kernel *k, char *const envp[], int signal_fd, int supervisor,
		      struct fault *why)
{
	struct keep_list list = { .count = 0 };
	int r;

	r = read_environment(envp, signal_fd, supervisor, &list, why);
	for (int fd = 0; r == 0 && fd < FIRST_FD; fd++)
		r = check_standard(k, fd, why);
	for (size_t i = 0; r == 0 && i < list.count; i++)
		r = check_kept(k, &list.kept[i], why);
	return r == 0 ? close_others(k, &list, why) : r;
}
