#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/diff.h"

#include "kabi/text.h"
#include "report/json.h"
#include "report/layout.h"
#include "report/marks.h"

#define LINE_MAX_LEN 1024
#define NAME_WIDTH 30

static const char *string_at(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsString(item) ? item->valuestring : NULL;
}

/* A value as a person writes it: of a fact, its answer and what came back. */
static void add_value(struct text *t, const cJSON *value)
{
	char *json;

	if (cJSON_IsString(value)) {
		text_add(t, value->valuestring);
	} else if (cJSON_IsNull(value)) {
		text_add(t, "none");
	} else if (cJSON_IsObject(value)) {
		const char *answer = string_at(value, "answer");
		const char *got = string_at(value, "got");

		text_add(t, answer ? answer : "{...}");
		text_add(t, got && *got ? ", " : "");
		text_add(t, got ? got : "");
	} else {
		json = cJSON_PrintUnformatted(value);
		text_add(t, json ? json : "(out of memory)");
		free(json);
	}
}

/* The item of `list` in `report` whose `key` is what `path` has behind "LIST.", up to a dot. Names
 * have dots too, so it is the longest: "ipc.broker", not "ipc".
 */
static const cJSON *item_of(const cJSON *report, const char *list, const char *key,
			    const char *path)
{
	const cJSON *all = cJSON_GetObjectItemCaseSensitive(report, list);
	const char *rest = path + strlen(list) + 1;
	const cJSON *found = NULL;
	const cJSON *item;
	size_t longest = 0;

	cJSON_ArrayForEach(item, all)
	{
		const char *name = string_at(item, key);
		size_t len = name ? strlen(name) : 0;

		if (len <= longest || strncmp(rest, name, len) != 0 ||
		    (rest[len] && rest[len] != '.'))
			continue;
		found = item;
		longest = len;
	}
	return found;
}

/* "is enforced, was unavailable: because". False: the change is another one. */
static bool say_capability(const struct diff_change *c, const cJSON *to, struct text *label,
			   struct text *t)
{
	const cJSON *item;

	if (!text_starts(c->path, "capabilities.") || !text_ends(c->path, ".status") || !c->from ||
	    !c->to)
		return false;
	item = item_of(to, "capabilities", "name", c->path);
	text_add(label, item ? string_at(item, "name") : c->path);
	add_value(t, c->to);
	text_add(t, ", was ");
	add_value(t, c->from);
	if (item && string_at(item, "why")) {
		text_add(t, ": ");
		text_add(t, string_at(item, "why"));
	}
	return true;
}

static bool say_finding(const struct diff_change *c, struct text *label, struct text *t)
{
	const cJSON *item = c->to ? c->to : c->from;

	if (!text_starts(c->path, "findings.") || (c->from && c->to))
		return false;
	text_add(label, c->path + strlen("findings."));
	text_add(t, c->to ? "new: " : "gone: ");
	text_add(t, string_at(item, "text") ? string_at(item, "text") : "");
	return true;
}

static bool say_module(const struct diff_change *c, const cJSON *to, struct text *label,
		       struct text *t)
{
	const cJSON *item;

	if (!text_starts(c->path, "modules.") || !text_ends(c->path, ".runs") || !c->to)
		return false;
	item = item_of(to, "modules", "name", c->path);
	text_add(label, "module ");
	text_add(label, item ? string_at(item, "name") : c->path);
	text_add(t, cJSON_IsTrue(c->to) ? "runs here now" : "no longer runs here: ");
	if (!cJSON_IsTrue(c->to) && item && string_at(item, "message"))
		text_add(t, string_at(item, "message"));
	return true;
}

/* One change: what it is about, and what became of it. Returns whether the first is more than its
 * path.
 */
static bool say(const struct diff_change *c, const cJSON *to, struct text *label, struct text *t)
{
	if (say_capability(c, to, label, t) || say_finding(c, label, t) ||
	    say_module(c, to, label, t))
		return true;
	text_add(label, c->path);
	if (!c->from || !c->to) {
		text_add(t, c->to ? "new: " : "gone: ");
		add_value(t, c->to ? c->to : c->from);
		return false;
	}
	add_value(t, c->from);
	text_add(t, " -> ");
	add_value(t, c->to);
	return false;
}

/* ---- what a change is about, for a person ---- */

/* What the members of a report are called. Others go by their names: those of the kernel's things,
 * and words that say it.
 */
static const struct word {
	const char *section; /* NULL: in all */
	const char *member;
	const char *words; /* "": it goes without saying */
} words[] = {
	{ NULL, "abi", "ABI" },
	{ NULL, "answer", "the answer" },
	{ NULL, "basis", "how that is known" },
	{ NULL, "call", "the question" },
	{ NULL, "cdi_file", "CDI file" },
	{ NULL, "cdi_kind", "CDI kind" },
	{ NULL, "eff_cores", "efficient cores" },
	{ NULL, "errata_fixed", "fixed errata" },
	{ NULL, "got", "what came back" },
	{ "kernel", "gpus", "" },
	{ NULL, "gpu", "GPU" },
	{ NULL, "gpus", "GPUs" },
	{ NULL, "landlock_abi", "Landlock ABI" },
	{ NULL, "libc_version", "version of the C library" },
	{ NULL, "libc", "C library" },
	{ NULL, "limit", "what stays open" },
	{ NULL, "logical", "processors" },
	{ NULL, "lsm_list", "list of security modules" },
	{ NULL, "memory_gb", "memory in GiB" },
	{ NULL, "os_version", "version of the system" },
	{ NULL, "perf_cores", "fast cores" },
	{ NULL, "text", "in words" },
	{ NULL, "unknown_keys", "unknown keys" },
	{ NULL, "vram_gb", "memory in GiB" },
	{ "capabilities", "kernel", "first kernel that is better" },
	{ "modules", "code", "reason" },
	{ "modules", "kernel", "first kernel that would do" },
	{ "modules", "message", "in words" },
	{ "modules", "needs", "what it needs" },
	{ "modules", "placed", "whether it is placed" },
	{ "", "capabilities", "" },
	{ "", "findings", "" },
	{ "", "kernel", "" },
	{ "", "modules", "module" },
	{ "", "platform", "" },
};

static const char *words_of(const char *section, const char *member)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if ((!words[i].section || strcmp(words[i].section, section) == 0) &&
		    strcmp(words[i].member, member) == 0)
			return words[i].words;
	return member;
}

static void copy_part(const struct diff_change *c, unsigned number, char buf[DIFF_PATH_MAX])
{
	size_t start = c->parts[number];
	size_t end = number + 1 < c->part_count ? c->parts[number + 1] - 1U : strlen(c->path);
	struct text t = text_start(buf, DIFF_PATH_MAX);

	text_add_bytes(&t, c->path + start, end > start ? end - start : 0);
}

/* An item of a list that has no name but its number or its own text, which is told beside it. */
static bool is_item(const struct diff_change *c, const char *part)
{
	const char *from = cJSON_GetStringValue(c->from);
	const char *to = cJSON_GetStringValue(c->to);

	return part[strspn(part, "0123456789")] == '\0' || (from && strcmp(from, part) == 0) ||
	       (to && strcmp(to, part) == 0);
}

/* "ipc, remedy"; "landlock, rights, TSYNC, the answer" */
static void add_about(const struct diff_change *c, struct text *label)
{
	char section[DIFF_PATH_MAX] = "";
	char part[DIFF_PATH_MAX];

	for (unsigned i = 0; i < c->part_count; i++) {
		const char *said;
		bool is_module;

		copy_part(c, i, part);
		said = words_of(section, part);
		if (i == 0)
			memcpy(section, part, sizeof(section));
		is_module = i == 1 && strcmp(section, "modules") == 0;
		if (!*said || (i > 0 && !is_module && is_item(c, part)))
			continue;
		if (label->len)
			text_add(label, is_module ? " " : ", ");
		text_add(label, said);
	}
}

static const char *heading_of(const char *path)
{
	if (text_starts(path, "capabilities.") && text_ends(path, ".status"))
		return "Capabilities";
	if (text_starts(path, "modules."))
		return "Modules";
	if (text_starts(path, "findings."))
		return "Findings";
	if (text_starts(path, "kernel."))
		return "What the kernel answers";
	if (text_starts(path, "capabilities."))
		return "Reasons and evidence";
	return "The node";
}

/* Of a change of status, how the new one is shown. */
static void mark_of(const struct diff_change *c, enum ink *ret_ink, const char **ret_mark)
{
	bool status = text_ends(c->path, ".status") && cJSON_IsString(c->to);

	*ret_ink = status ? status_ink(status_named(c->to->valuestring)) : INK_PLAIN;
	*ret_mark = status ? status_mark(status_named(c->to->valuestring)) : "·";
}

static void say_report(struct text *t, const cJSON *report)
{
	const char *name = string_at(report, "hostname");
	const char *time = string_at(cJSON_GetObjectItemCaseSensitive(report, "report"), "time");

	text_add(t, name ? name : "a node");
	text_add(t, time ? " of " : "");
	text_add(t, time ? time : "");
}

static const char *trials_state(const cJSON *report)
{
	const cJSON *about = cJSON_GetObjectItemCaseSensitive(report, "report");
	const char *state = string_at(cJSON_GetObjectItemCaseSensitive(about, "trials"), "state");

	return state ? state : "";
}

/* One of the trials that all came or went: that they did is a line of its own. */
static bool is_one_of_all(const struct diff_change *c, const cJSON *from, const cJSON *to)
{
	const cJSON *only = c->from ? c->from : c->to;

	return (!c->from || !c->to) && string_at(only, "trial") &&
	       strcmp(trials_state(from), trials_state(to)) != 0;
}

void diff_page(const struct diff *diff, const cJSON *from, const cJSON *to, bool colour, FILE *out)
{
	const struct layout l = { out, colour };
	const char *heading = "";
	char line[LINE_MAX_LEN];
	struct text t = TEXT_BUF(line);

	say_report(&t, from);
	text_add(&t, " -> ");
	say_report(&t, to);
	text_add(&t, diff->count == 0 ? ": nothing changed" : "");
	layout_text(&l, INK_BOLD, 0, line);
	for (size_t i = 0; i < diff->count; i++) {
		const struct diff_change *c = &diff->of[i];
		char label[DIFF_PATH_MAX];
		struct text name = TEXT_BUF(label);
		const char *mark;
		enum ink ink;

		if (is_one_of_all(c, from, to))
			continue;
		if (strcmp(heading, heading_of(c->path)) != 0) {
			heading = heading_of(c->path);
			layout_heading(&l, heading);
		}
		t = TEXT_BUF(line);
		if (!say(c, to, &name, &t)) {
			name = TEXT_BUF(label);
			add_about(c, &name);
		}
		mark_of(c, &ink, &mark);
		layout_row(&l, ink, mark, label, NAME_WIDTH, line);
	}
}

static void about_json(cJSON *root, const char *key, const cJSON *report)
{
	cJSON *item = json_object(root, key);

	json_text_or_null(item, "hostname", string_at(report, "hostname"));
	json_text_or_null(item, "time",
			  string_at(cJSON_GetObjectItemCaseSensitive(report, "report"), "time"));
}

int diff_json(const struct diff *diff, const cJSON *from, const cJSON *to, FILE *out)
{
	cJSON *root = cJSON_CreateObject();
	cJSON *list;
	char *text;

	json_number(root, "diff", 1);
	json_bool(root, "same", diff->count == 0);
	about_json(root, "from", from);
	about_json(root, "to", to);
	list = json_array(root, "changes");
	for (size_t i = 0; i < diff->count; i++) {
		const struct diff_change *c = &diff->of[i];
		cJSON *item = json_add_object(list);
		char label[DIFF_PATH_MAX];
		char line[LINE_MAX_LEN];
		struct text name = TEXT_BUF(label);
		struct text t = TEXT_BUF(line);

		say(c, to, &name, &t);
		json_text(item, "path", c->path);
		json_put(item, "from",
			 c->from ? cJSON_Duplicate(c->from, true) : cJSON_CreateNull());
		json_put(item, "to", c->to ? cJSON_Duplicate(c->to, true) : cJSON_CreateNull());
		json_text(item, "about", label);
		json_text(item, "text", line);
	}
	text = json_failed() ? NULL : cJSON_PrintUnformatted(root);
	cJSON_Delete(root);
	if (!text)
		return -ENOMEM;
	fputs(text, out);
	fputs("\n", out);
	free(text);
	return 0;
}
