#include "launch/egress/command.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "kabi/file.h"

#define DAY 86400

/* ---- the allow list ---- */

int egress_allow_add(const char *entry, struct egress_allow *allow, struct fault *why)
{
	int r;

	if (allow->count == EGRESS_ENTRIES_MAX)
		return fault_errno(why, "too many entries at", entry, E2BIG);
	r = host_entry_read(entry, &allow->entries[allow->count], why);
	if (r == 0)
		allow->count++;
	return r;
}

static int add_lines(char *text, struct egress_allow *allow, struct fault *why)
{
	const char *line;
	int number = 0;
	int r = 0;

	while (r == 0 && (line = text_line(&text))) {
		char place[32];
		struct text t = TEXT_BUF(place);
		char *end = strchr(line, '#');

		number++;
		if (end)
			*end = '\0';
		if (line[strspn(line, " \t")] == '\0')
			continue;
		r = egress_allow_add(line, allow, why);
		text_add(&t, "line ");
		text_add_int(&t, number);
		if (r < 0)
			fault_prefix(why, place);
	}
	return r;
}

int egress_allow_file(const struct kernel *k, const char *path, struct egress_allow *allow,
		      struct fault *why)
{
	char *text = malloc(EGRESS_FILE_MAX);
	ssize_t n;
	int r;

	if (!text)
		return fault_errno(why, "read", path, ENOMEM);
	n = file_read(k, path, text, EGRESS_FILE_MAX);
	r = n < 0 ? fault_errno(why, "read", path, (int)-n) : add_lines(text, allow, why);
	if (n >= 0 && r < 0)
		fault_prefix(why, path);
	free(text);
	return r;
}

bool egress_allowed(const struct egress_allow *allow, const char *name, uint16_t port)
{
	for (size_t i = 0; i < allow->count; i++)
		if (host_entry_matches(&allow->entries[i], name, port))
			return true;
	return false;
}

/* ---- options ---- */

struct setting {
	const struct kernel *k;
	struct egress_options *options;
	struct fault *why;
};

static int set_allow(const struct setting *s, const char *value)
{
	return egress_allow_add(value, s->options->allow, s->why);
}

static int set_allow_file(const struct setting *s, const char *value)
{
	return egress_allow_file(s->k, value, s->options->allow, s->why);
}

static int set_number(const struct setting *s, const char *value, int64_t min, int64_t max,
		      int64_t *ret)
{
	char bound[24];
	struct text t = TEXT_BUF(bound);

	if (text_int(value, min, max, ret) == 0)
		return 0;
	text_add_int(&t, min);
	text_add(&t, " to ");
	text_add_int(&t, max);
	fault_join(s->why, "'", value, "' is no number from ", bound, NULL);
	return -EINVAL;
}

static int set_uint(const struct setting *s, const char *value, int64_t min, int64_t max,
		    uint32_t *ret)
{
	int64_t number;
	int r = set_number(s, value, min, max, &number);

	if (r == 0)
		*ret = (uint32_t)number;
	return r;
}

static int set_port(const struct setting *s, const char *value)
{
	int64_t number;
	int r = set_number(s, value, 0, UINT16_MAX, &number);

	if (r == 0)
		s->options->port = (uint16_t)number;
	return r;
}

static int set_log(const struct setting *s, const char *value)
{
	s->options->log = value;
	return 0;
}

static int set_control(const struct setting *s, const char *value)
{
	int64_t number;
	int r = set_number(s, value, 0, INT_MAX, &number);

	if (r == 0)
		s->options->control = (int)number;
	return r;
}

static int set_connections(const struct setting *s, const char *value)
{
	return set_uint(s, value, 1, 1000000, &s->options->connections);
}

static int set_head_bytes(const struct setting *s, const char *value)
{
	return set_uint(s, value, 256, 1024 * 1024, &s->options->head_bytes);
}

static int set_head(const struct setting *s, const char *value)
{
	return set_uint(s, value, 1, DAY, &s->options->head_s);
}

static int set_connect(const struct setting *s, const char *value)
{
	return set_uint(s, value, 1, DAY, &s->options->connect_s);
}

static int set_idle(const struct setting *s, const char *value)
{
	return set_uint(s, value, 1, DAY, &s->options->idle_s);
}

static int set_grace(const struct setting *s, const char *value)
{
	return set_uint(s, value, 0, DAY, &s->options->grace_s);
}

static int set_any_user(const struct setting *s, const char *value)
{
	(void)value;
	s->options->any_user = true;
	return 0;
}

static const struct egress_options defaults = {
	.control = -1,
	.connections = 4096,
	.head_bytes = 16384,
	.head_s = 10,
	.connect_s = 10,
	.idle_s = 300,
	.grace_s = 5,
};

static const struct option {
	const char *name;
	const char *value; /* NULL: takes none */
	const char *help;
	int (*set)(const struct setting *s, const char *value);
} options_known[] = {
	{ "--allow", "HOST[:PORT]", "connect to it, port 443 by default; *.HOST: to its subdomains",
	  set_allow },
	{ "--allow-file", "FILE", "the same for each line of FILE; '#' starts a comment",
	  set_allow_file },
	{ "--port", "N", "listen on this port of 127.0.0.1; by default one that is free",
	  set_port },
	{ "--log", "FILE|-", "write each refusal there as a line of JSON", set_log },
	{ "--control-fd", "N", "end when the other end of descriptor N is closed", set_control },
	{ "--max-connections", "N", "at a time: 4096", set_connections },
	{ "--head-bytes", "N", "longest head of a request: 16384", set_head_bytes },
	{ "--head-timeout", "S", "seconds for the head to arrive: 10", set_head },
	{ "--connect-timeout", "S", "seconds for the lookup, and for each address: 10",
	  set_connect },
	{ "--idle-timeout", "S", "seconds without a byte in either direction: 300", set_idle },
	{ "--stop-grace", "S", "seconds for connections to finish after SIGTERM: 5", set_grace },
	{ "--any-user", NULL, "serve other users' processes too", set_any_user },
};
#define OPTION_COUNT (sizeof(options_known) / sizeof(options_known[0]))

void egress_command_help(struct text *t)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		const struct option *o = &options_known[i];

		text_add(t, "  ");
		text_add(t, o->name);
		text_add(t, o->value ? " " : "");
		text_add(t, o->value ? o->value : "");
		text_add(t, "\n\t");
		text_add(t, o->help);
		text_add(t, "\n");
	}
}

static const struct option *find(const char *name)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (strcmp(options_known[i].name, name) == 0)
			return &options_known[i];
	return NULL;
}

int egress_command_parse(const struct kernel *k, int argc, char **argv,
			 struct egress_options *options, struct fault *why)
{
	const struct setting s = { k, options, why };
	struct egress_allow *allow = options->allow;

	*options = defaults;
	options->allow = allow;
	allow->count = 0;
	for (int at = 1; at < argc; at++) {
		const struct option *o = find(argv[at]);
		const char *name = argv[at];
		int r;

		if (!o) {
			fault_join(why, "unknown argument '", name, "'", NULL);
			return -EINVAL;
		}
		if (o->value && ++at == argc) {
			fault_join(why, name, " needs a value: ", o->value, NULL);
			return -EINVAL;
		}
		r = o->set(&s, o->value ? argv[at] : NULL);
		if (r < 0) {
			fault_prefix(why, name);
			return r;
		}
	}
	if (allow->count > 0)
		return 0;
	fault_join(why, "an allow list is needed: --allow or --allow-file", NULL);
	return -EINVAL;
}
