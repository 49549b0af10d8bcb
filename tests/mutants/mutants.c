/* Take each measure of the launcher away, one at a time, and see which capabilities the trials no
 * longer call enforced.
 *
 * usage: mutants EXPECTED [--update]
 *
 * EXPECTED has a line for each mutant: its name, a tab, the capabilities it takes away, and perhaps
 * a tab and the reason why trials may not be able to tell, and a tab and the mutant that hides it,
 * with which it must be told. As root on a kernel with Landlock ABI 7 or later each mutant must
 * take what its line says, or nothing if there is a reason; elsewhere it may take less, never more.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kabi/text.h"
#include "probe/probe.h"
#include "tests/mutants/mutant.h"

#define LINES_MAX 1400
#define STRICT_ABI 7

static struct mutant mutants[MUTANTS_MAX];
static size_t mutant_count;
static char *lines[LINES_MAX];
static size_t line_count;

/* ---- what is expected ---- */

static int read_expected(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[512];

	if (!f)
		return -errno;
	while (line_count < LINES_MAX && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		lines[line_count] = strdup(line);
		if (!lines[line_count++])
			break;
	}
	fclose(f);
	return 0;
}

struct expected {
	char capabilities[256];
	char reason[256];   /* "": it must be noticed */
	const char *hidden; /* by this other mutant; NULL: by none */
};

static bool expected_of(const char *name, struct expected *ret)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < line_count; i++) {
		const char *rest = lines[i] + len + 1;
		size_t end;

		if (strncmp(lines[i], name, len) != 0 || lines[i][len] != '\t')
			continue;
		end = strcspn(rest, "\t");
		snprintf(ret->capabilities, sizeof(ret->capabilities), "%.*s", (int)end, rest);
		rest += end + (rest[end] == '\t');
		end = strcspn(rest, "\t");
		snprintf(ret->reason, sizeof(ret->reason), "%.*s", (int)end, rest);
		ret->hidden = rest[end] ? rest + end + 1 : NULL;
		return true;
	}
	return false;
}

static bool names(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; (at = strstr(at, name)); at += len)
		if ((at == list || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
			return true;
	return false;
}

/* ---- one run ---- */

static const struct facts *base;
static struct capabilities before;

/* Leaves the facts in *ret. Returns a bit for every capability that is worse than it was. */
static uint32_t run(const struct mutant *m, const struct mutant *second, struct facts *ret)
{
	const struct trials_options options = { .timeout_ms = 3000 };
	static struct capabilities after;
	uint32_t lost = 0;

	*ret = *base;
	trials_run(mutant_kernel(m, second), &options, ret);
	capabilities_derive(ret, &after);
	for (int c = 0; c < CAPABILITY_COUNT; c++)
		if (after.of[c].status < before.of[c].status)
			lost |= 1U << c;
	return lost;
}

static void name_lost(uint32_t lost, char *buf, size_t size)
{
	struct text t = text_start(buf, size);

	for (int c = 0; c < CAPABILITY_COUNT; c++) {
		if (!(lost & 1U << c))
			continue;
		text_add(&t, t.len ? " " : "");
		text_add(&t, capability_rows[c].name);
	}
}

/* The trials that noticed: one, and how many more; not counting what came out the same in `but`. */
static void name_trials(const struct facts *facts, const struct facts *but, char *buf, size_t size)
{
	uint32_t abi = (uint32_t)facts->landlock.abi.value;
	struct text t = text_start(buf, size);
	int more = -1;

	for (size_t i = 0; i < trial_count(); i++) {
		enum trial_verdict verdict = trial_judge(trial_at(i), &facts->trials.of[i], abi);

		if (verdict != TRIAL_BROKEN && verdict != TRIAL_LOST)
			continue;
		if (but && but->trials.of[i].confined.value == facts->trials.of[i].confined.value)
			continue;
		if (++more == 0)
			text_add(&t, trial_at(i)->id);
	}
	for (int g = 0; more < 0 && !but && g < TRIAL_GROUP_COUNT && !t.len; g++)
		text_add(&t, facts->trials.refused[g]);
	if (more <= 0)
		return;
	text_add(&t, " and ");
	text_add_int(&t, more);
	text_add(&t, more == 1 ? " other" : " others");
}

/* ---- the table ---- */

static const struct mutant capabilities_kept = { .kind = MUTANT_CAPABILITIES };

static int failures;
static int uncaught;

static bool is_good(const char *lost, const struct expected *expected, bool strict)
{
	char each[512];
	char *cursor = each;
	const char *word;

	if (!*lost)
		return expected->reason[0] || !strict;
	if (strict)
		return strcmp(expected->capabilities, lost) == 0;
	snprintf(each, sizeof(each), "%s", lost);
	while ((word = text_word(&cursor)))
		if (!names(expected->capabilities, word))
			return false;
	return true;
}

static void report(const struct mutant *m, const char *lost, const char *by, bool strict)
{
	struct expected expected = { .hidden = NULL };
	bool known = expected_of(m->name, &expected);
	bool good = known && is_good(lost, &expected, strict);

	uncaught += !*lost;
	failures += !good;
	printf("%s - %s -> %s%s%s%s\n", good ? "ok" : "not ok", m->name, *lost ? lost : "nothing",
	       *by ? " (by " : "", by, *by ? ")" : "");
	if (!good)
		printf("#   expected: %s\n", known ? expected.capabilities : "a line in the table");
	else if (!*lost && expected.reason[0])
		printf("#   %s\n", expected.reason);
}

static void write_line(const struct mutant *m, const char *lost, FILE *out)
{
	struct expected old = { .hidden = NULL };

	expected_of(m->name, &old);
	fprintf(out, "%s\t%s", m->name, *lost ? lost : old.capabilities);
	if (old.reason[0] || !*lost)
		fprintf(out, "\t%s", old.reason[0] ? old.reason : "?");
	if (old.hidden)
		fprintf(out, "\t%s", old.hidden);
	fputc('\n', out);
}

/* The trials that notice both and not the other alone, in `by`. */
static void try_both(const struct mutant *m, const struct mutant *other, struct facts *facts,
		     char *by, size_t size)
{
	static struct facts alone;

	run(other, NULL, &alone);
	run(m, other, facts);
	name_trials(facts, &alone, by, size);
}

static const struct mutant *find_mutant(const char *name)
{
	for (size_t i = 0; i < mutant_count; i++)
		if (strcmp(mutants[i].name, name) == 0)
			return &mutants[i];
	return NULL;
}

/* What hides it: the mutant that its line names, or the capabilities, dropped before the filter is
 * loaded.
 */
static void look_behind(const struct mutant *m, struct facts *facts, bool strict)
{
	struct expected expected = { .hidden = NULL };
	const struct mutant *other = NULL;
	char by[128];

	expected_of(m->name, &expected);
	if (expected.hidden)
		other = find_mutant(expected.hidden);
	else if (m->kind == MUTANT_FILTER)
		other = &capabilities_kept;
	if (!other && !expected.hidden)
		return;
	*by = '\0';
	if (other)
		try_both(m, other, facts, by, sizeof(by));
	if (*by)
		printf("#   with %s as well: noticed by %s\n",
		       expected.hidden ? expected.hidden : "capabilities kept", by);
	else if (expected.hidden && strict) {
		failures++;
		printf("not ok - %s with %s -> nothing\n", m->name, expected.hidden);
	}
}

static void try_mutant(const struct mutant *m, struct facts *facts, bool strict, FILE *update)
{
	char lost[512];
	char by[128];

	name_lost(run(m, NULL, facts), lost, sizeof(lost));
	name_trials(facts, NULL, by, sizeof(by));
	if (update)
		write_line(m, lost, update);
	else
		report(m, lost, by, strict);
	if (!*lost)
		look_behind(m, facts, strict);
}

int main(int argc, char **argv)
{
	const struct gather_options gather = { .want = PROBE_ALL };
	const struct trials_options options = { 0 };
	static struct facts facts;
	struct facts *gathered = NULL;
	struct fault why;
	FILE *update = NULL;
	bool strict;

	if (argc < 2 || (read_expected(argv[1]) < 0 && argc < 3)) {
		fprintf(stderr, "usage: mutants EXPECTED [--update]\n");
		return 64;
	}
	if (facts_gather(&kernel_live, &gather, &gathered, &why) < 0) {
		fprintf(stderr, "mutants: %s\n", why.text);
		return 70;
	}
	base = gathered;
	facts = *base;
	trials_run(&kernel_live, &options, &facts);
	capabilities_derive(&facts, &before);
	if (!before.backend.present) {
		printf("ok - mutants # SKIP no sandbox backend here\n");
		return 0;
	}
	for (int c = 0; c < CAPABILITY_COUNT; c++)
		printf("# %s is %s: %s\n", capability_rows[c].name,
		       status_name(before.of[c].status), before.of[c].why);
	if (argc > 2)
		update = fopen(argv[1], "we");
	strict = geteuid() == 0 && before.backend.abi >= STRICT_ABI;
	mutant_count = mutants_list(before.backend.abi, mutants);
	for (size_t i = 0; i < mutant_count; i++)
		try_mutant(&mutants[i], &facts, strict, update);
	printf("# %zu mutants, %d not told apart, %d not as expected\n", mutant_count, uncaught,
	       failures);
	if (update && fclose(update) != 0)
		return 70;
	facts_free(gathered);
	return failures ? 1 : 0;
}
