#include "report/audit/read.h"

#include <errno.h>
#include <string.h>

#include "kabi/text.h"
#include "report/marks.h"
#include "report/scan.h"

struct reader {
	struct scan s;
	struct audit_facts *ret;
	bool has_sandbox;
	const char *problem; /* of a text that is JSON */
};

/* ---- values ---- */

static void take_text(struct reader *r, char *buf, size_t size)
{
	struct span value;

	if (scan_string(&r->s, &value))
		span_copy(&value, buf, size);
}
#define TAKE(reader, member) take_text((reader), (member), sizeof(member))

static struct audit_capability *find(struct audit_facts *f, const char *name)
{
	for (unsigned i = 0; i < f->capability_count; i++)
		if (strcmp(f->capabilities[i].name, name) == 0)
			return &f->capabilities[i];
	return NULL;
}

/* The capability of that name, made when there is none; NULL when no more fit. */
static struct audit_capability *capability(struct reader *r, const char *name)
{
	struct audit_capability *c = find(r->ret, name);

	if (c)
		return c;
	if (r->ret->capability_count == AUDIT_CAPABILITIES_MAX) {
		r->problem = "more capabilities than an audit can hold";
		return NULL;
	}
	c = &r->ret->capabilities[r->ret->capability_count++];
	text_copy(c->name, sizeof(c->name), name);
	c->status = STATUS_UNAVAILABLE;
	c->why[0] = c->remedy[0] = c->kernel[0] = '\0';
	return c;
}

/* ---- the members of a report; each takes the value it stands at ---- */

static void take_hostname(struct reader *r)
{
	TAKE(r, r->ret->hostname);
}

static void take_platform(struct reader *r)
{
	struct audit_facts *f = r->ret;
	struct span key;

	if (!scan_enter_object(&r->s))
		return;
	while (scan_key(&r->s, &key)) {
		if (span_is(&key, "os"))
			TAKE(r, f->os);
		else if (span_is(&key, "arch"))
			TAKE(r, f->arch);
		else if (span_is(&key, "os_version"))
			TAKE(r, f->os_version);
		else if (span_is(&key, "kernel"))
			TAKE(r, f->kernel);
		else if (span_is(&key, "libc"))
			TAKE(r, f->libc);
		else if (span_is(&key, "libc_version"))
			TAKE(r, f->libc_version);
		else
			scan_skip(&r->s);
	}
}

static void take_enforcement(struct reader *r)
{
	struct span key;

	if (!scan_enter_object(&r->s))
		return;
	while (scan_key(&r->s, &key)) {
		struct audit_capability *c;
		char name[AUDIT_WORD_MAX];
		char status[AUDIT_WORD_MAX] = "";

		span_copy(&key, name, sizeof(name));
		TAKE(r, status);
		c = capability(r, name);
		if (c)
			c->status = status_named(status);
	}
}

static void take_sandbox(struct reader *r)
{
	char backend[AUDIT_WORD_MAX] = "";
	struct span key;
	long abi = 0;

	if (!scan_enter_object(&r->s))
		return;
	r->has_sandbox = true;
	while (scan_key(&r->s, &key)) {
		if (span_is(&key, "backend"))
			TAKE(r, backend);
		else if (span_is(&key, "landlock_abi"))
			scan_integer(&r->s, &abi);
		else if (span_is(&key, "enforcement"))
			take_enforcement(r);
		else
			scan_skip(&r->s);
	}
	r->ret->backend = backend[0];
	r->ret->abi = abi > 0 && abi < 1000 ? (unsigned)abi : 0;
}

static void take_about(struct reader *r)
{
	struct span key;

	if (!scan_enter_object(&r->s))
		return;
	while (scan_key(&r->s, &key)) {
		if (span_is(&key, "time")) {
			TAKE(r, r->ret->time);
		} else if (span_is(&key, "assumed")) {
			r->ret->assumed = *r->s.at == '{';
			scan_skip(&r->s);
		} else {
			scan_skip(&r->s);
		}
	}
}

/* The string `name` of an object; nothing else of it. */
static void take_one(struct reader *r, const char *name, char *buf, size_t size)
{
	struct span key;

	if (!scan_enter_object(&r->s))
		return;
	while (scan_key(&r->s, &key)) {
		if (span_is(&key, name))
			take_text(r, buf, size);
		else
			scan_skip(&r->s);
	}
}

static void take_seccomp(struct reader *r)
{
	struct span key;

	if (!scan_enter_object(&r->s))
		return;
	while (scan_key(&r->s, &key)) {
		if (span_is(&key, "mode"))
			take_one(r, "answer", r->ret->seccomp, sizeof(r->ret->seccomp));
		else
			scan_skip(&r->s);
	}
}

static void take_obstacles(struct reader *r)
{
	char name[AUDIT_WORD_MAX];

	if (!scan_enter_array(&r->s))
		return;
	r->ret->obstacles = 0;
	while (scan_element(&r->s)) {
		name[0] = '\0';
		TAKE(r, name);
		r->ret->obstacles |= 1U << leaf_obstacle_find(name);
	}
}

/* The sentences: all that reports had at first. */
static void take_missing(struct reader *r)
{
	if (!scan_enter_array(&r->s))
		return;
	while (scan_element(&r->s)) {
		scan_skip(&r->s);
		if (!r->ret->obstacles)
			r->ret->obstacles = 1U << LEAF_UNKNOWN;
	}
}

static void take_cgroup(struct reader *r)
{
	struct span key;

	if (!scan_enter_object(&r->s))
		return;
	while (scan_key(&r->s, &key)) {
		if (span_is(&key, "obstacles"))
			take_obstacles(r);
		else if (span_is(&key, "missing"))
			take_missing(r);
		else
			scan_skip(&r->s);
	}
}

static void add_group(struct audit_facts *f, const char *group)
{
	for (unsigned i = 0; i < f->group_count; i++)
		if (strcmp(f->groups[i], group) == 0)
			return;
	if (f->group_count < AUDIT_GROUPS_MAX)
		text_copy(f->groups[f->group_count++], AUDIT_WORD_MAX, group);
}

static void take_gpu_nodes(struct reader *r)
{
	if (!scan_enter_array(&r->s))
		return;
	while (scan_element(&r->s)) {
		char group[AUDIT_WORD_MAX] = "";

		take_one(r, "group", group, sizeof(group));
		if (group[0])
			add_group(r->ret, group);
	}
}

static void take_gpu(struct reader *r)
{
	struct span key;

	if (!scan_enter_object(&r->s))
		return;
	while (scan_key(&r->s, &key)) {
		if (span_is(&key, "nodes"))
			take_gpu_nodes(r);
		else
			scan_skip(&r->s);
	}
}

static void take_kernel(struct reader *r)
{
	struct span key;

	if (!scan_enter_object(&r->s))
		return;
	while (scan_key(&r->s, &key)) {
		if (span_is(&key, "landlock"))
			take_one(r, "state", r->ret->landlock_state,
				 sizeof(r->ret->landlock_state));
		else if (span_is(&key, "seccomp"))
			take_seccomp(r);
		else if (span_is(&key, "cgroup"))
			take_cgroup(r);
		else if (span_is(&key, "gpu"))
			take_gpu(r);
		else
			scan_skip(&r->s);
	}
}

static void take_capability(struct reader *r)
{
	struct audit_capability read = { .status = STATUS_UNAVAILABLE };
	char status[AUDIT_WORD_MAX] = "";
	struct audit_capability *c;
	struct span key;

	if (!scan_enter_object(&r->s))
		return;
	while (scan_key(&r->s, &key)) {
		if (span_is(&key, "name"))
			TAKE(r, read.name);
		else if (span_is(&key, "status"))
			TAKE(r, status);
		else if (span_is(&key, "why"))
			TAKE(r, read.why);
		else if (span_is(&key, "remedy"))
			TAKE(r, read.remedy);
		else if (span_is(&key, "kernel"))
			TAKE(r, read.kernel);
		else
			scan_skip(&r->s);
	}
	if (!read.name[0])
		return;
	read.status = status_named(status);
	c = capability(r, read.name);
	if (c)
		*c = read;
}

static void take_capabilities(struct reader *r)
{
	if (!scan_enter_array(&r->s))
		return;
	r->has_sandbox = true;
	while (scan_element(&r->s))
		take_capability(r);
}

static void take_finding(struct reader *r)
{
	struct audit_finding read = { 0 };
	char severity[AUDIT_WORD_MAX] = "";
	struct span key;

	if (!scan_enter_object(&r->s))
		return;
	while (scan_key(&r->s, &key)) {
		if (span_is(&key, "id"))
			TAKE(r, read.id);
		else if (span_is(&key, "severity"))
			TAKE(r, severity);
		else if (span_is(&key, "remedy"))
			TAKE(r, read.remedy);
		else
			scan_skip(&r->s);
	}
	if (!read.id[0])
		return;
	read.warning = strcmp(severity, severity_name(SEVERITY_WARNING)) == 0;
	if (r->ret->finding_count == AUDIT_FINDINGS_MAX)
		r->problem = "more findings than an audit can hold";
	else
		r->ret->findings[r->ret->finding_count++] = read;
}

static void take_findings(struct reader *r)
{
	if (!scan_enter_array(&r->s))
		return;
	while (scan_element(&r->s))
		take_finding(r);
}

static const struct member {
	const char *key;
	void (*take)(struct reader *r);
} members[] = {
	{ "hostname", take_hostname }, { "platform", take_platform },
	{ "sandbox", take_sandbox },   { "report", take_about },
	{ "kernel", take_kernel },     { "capabilities", take_capabilities },
	{ "findings", take_findings },
};

static void take_member(struct reader *r, const struct span *key)
{
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (!span_is(key, members[i].key))
			continue;
		members[i].take(r);
		return;
	}
	scan_skip(&r->s);
}

/* ---- what a report leaves unsaid ---- */

/* Without a backend the facts list no capability; each is unavailable then. */
static void name_missing(struct reader *r)
{
	if (r->ret->backend || r->ret->capability_count > 0)
		return;
	for (int i = 0; i < CAPABILITY_COUNT; i++)
		capability(r, capability_rows[i].name);
}

/* The Landlock ABI that is needed and not there; 0: none. */
static unsigned abi_wanting(const struct audit_facts *f, const struct audit_capability *c)
{
	int id = capability_find(c->name);
	unsigned needed = id < 0 ? 0 : capability_rows[id].needed_abi;

	return needed > f->abi ? needed : 0;
}

/* Reports had no member for it at first. What stands on more than the ABI stays without. */
static void say_kernel(const struct audit_facts *f, struct audit_capability *c)
{
	bool kernel = !f->landlock_state[0] || strcmp(f->landlock_state, "not-built") == 0 ||
		      strcmp(f->landlock_state, "present") == 0;
	const char *release = ll_abi_linux(abi_wanting(f, c));
	int id = capability_find(c->name);

	if (kernel && release && id >= 0 && capability_rows[id].on_wire)
		text_copy(c->kernel, sizeof(c->kernel), release);
}

static void say_reason(const struct audit_facts *f, struct audit_capability *c)
{
	unsigned needed = abi_wanting(f, c);
	struct text why = TEXT_BUF(c->why);
	struct text remedy = TEXT_BUF(c->remedy);

	if (!needed) {
		text_add(&why, f->backend ? "the report gives no reason"
					  : "this node has no sandbox backend");
		return;
	}
	text_add(&why, "Landlock ABI ");
	text_add_int(&why, f->abi);
	text_add(&why, " found, ");
	text_add_int(&why, needed);
	text_add(&why, " needed");
	text_add(&remedy, "Linux ");
	text_add(&remedy, ll_abi_linux(needed) ? ll_abi_linux(needed) : "of the future");
	text_add(&remedy, " or later (Landlock ABI ");
	text_add_int(&remedy, needed);
	text_add(&remedy, ")");
}

static void clear(struct audit_facts *f)
{
	f->hostname[0] = f->time[0] = '\0';
	f->os[0] = f->arch[0] = f->os_version[0] = f->kernel[0] = '\0';
	f->libc[0] = f->libc_version[0] = '\0';
	f->landlock_state[0] = f->seccomp[0] = '\0';
	f->obstacles = 0;
	f->backend = f->assumed = false;
	f->abi = f->capability_count = f->group_count = f->finding_count = 0;
}

int audit_read(const char *text, size_t len, struct audit_facts *ret, struct fault *why)
{
	struct reader r = { .s = scan_start(text, len), .ret = ret };
	struct span key;

	clear(ret);
	if (!scan_enter_object(&r.s) && !r.s.problem)
		r.problem = "not an object: a report is one, beginning on a line of its own";
	else
		while (scan_key(&r.s, &key))
			take_member(&r, &key);
	if (!scan_finish(&r.s)) {
		scan_fault(&r.s, why);
		return -EINVAL;
	}
	if (!r.problem && !r.has_sandbox)
		r.problem = "no report: it has neither 'sandbox' nor 'capabilities'";
	if (r.problem) {
		fault_join(why, r.problem, NULL);
		return -EINVAL;
	}
	name_missing(&r);
	for (unsigned i = 0; i < ret->capability_count; i++) {
		struct audit_capability *c = &ret->capabilities[i];

		if (c->status == STATUS_ENFORCED)
			continue;
		if (!c->why[0])
			say_reason(ret, c);
		if (!c->kernel[0])
			say_kernel(ret, c);
	}
	return 0;
}
