#include "report/audit/audit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kabi/text.h"
#include "report/audit/source.h"
#include "report/exit.h"
#include "report/module_files.h"

#define WORKERS_MAX 8
#define KEY_MAX (64U * 1024)

enum form {
	FORM_PAGE,
	FORM_JSON,
	FORM_CSV,
	FORM_HELP,
};

struct audit_options {
	enum form form;
	bool latest;
	const char *html;
	struct module_files files;
	char **words; /* in argv */
	int word_count;
};

/* ---- the command line ---- */

static int set_form(void *state, enum form form, struct fault *why)
{
	struct audit_options *o = state;

	if (o->form != FORM_PAGE && o->form != form)
		return command_refuse(why, "--csv does not go with --json", "", "");
	o->form = form;
	return 0;
}

static int take_json(void *state, const char *arg, struct fault *why)
{
	(void)arg;
	return set_form(state, FORM_JSON, why);
}

static int take_csv(void *state, const char *arg, struct fault *why)
{
	(void)arg;
	return set_form(state, FORM_CSV, why);
}

static int take_html(void *state, const char *arg, struct fault *why)
{
	if (!*arg)
		return command_refuse(why, "--html needs a file name", "", "");
	((struct audit_options *)state)->html = arg;
	return 0;
}

static int take_latest(void *state, const char *arg, struct fault *why)
{
	(void)arg;
	(void)why;
	((struct audit_options *)state)->latest = true;
	return 0;
}

static int take_module(void *state, const char *arg, struct fault *why)
{
	return module_files_add(&((struct audit_options *)state)->files, arg, false, why);
}

static int take_modules(void *state, const char *arg, struct fault *why)
{
	return module_files_add(&((struct audit_options *)state)->files, arg, true, why);
}

static int take_help(void *state, const char *arg, struct fault *why)
{
	(void)arg;
	(void)why;
	((struct audit_options *)state)->form = FORM_HELP;
	return 0;
}

static int take_word(void *state, const char *word, struct fault *why)
{
	struct audit_options *o = state;

	(void)why;
	o->words[o->word_count++] = (char *)(uintptr_t)word;
	return 0;
}

static const struct command_option rows[] = {
	{ "--json", NULL, take_json, "print everything as one JSON object", NULL },
	{ "--csv", NULL, take_csv, "print nodes x capabilities as CSV", NULL },
	{ "--html", "FILE", take_html, "also write one self-contained page with a matrix to filter",
	  NULL },
	{ "--module", "FILE", take_module,
	  "say on which nodes the module of this manifest runs, and what would change it", NULL },
	{ "--modules", "FILE", take_modules,
	  "the same for every module of a release's modules.json", NULL },
	{ "--latest", NULL, take_latest, "of several reports with one host name, take the last",
	  NULL },
	{ "--help", NULL, take_help, "print this", NULL },
};

const struct command audit_command = {
	.name = "audit",
	.summary = "what many nodes can promise, from their reports",
	.options = rows,
	.option_count = sizeof(rows) / sizeof(rows[0]),
	.operand = take_word,
};

static void help(FILE *out)
{
	fputs("usage: oarbank-probe audit [OPTION]... [FILE|DIR|-]...\n"
	      "\n"
	      "Tell what a fleet enforces, from reports that 'oarbank-probe --json' wrote:\n"
	      "files, directories of .json, .jsonl and .ndjson files, or - for standard input,\n"
	      "which is also what is read without an argument. Each report begins on a line\n"
	      "of its own.\n"
	      "\n",
	      out);
	command_help(&audit_command, out);
	fputs("\n"
	      "Exit: 0 done, 1 a report or a manifest was damaged and skipped, or there was no\n"
	      "report at all, 64 usage, 70 the audit could not be made or written.\n"
	      "\n"
	      "Example: oarbank-probe audit --html fleet.html --modules modules.json reports/\n",
	      out);
}

/* ---- reading, in as many threads as there are processors ---- */

struct run {
	struct audit *audit;
	struct audit_source source;
	pthread_mutex_t read_lock;
	pthread_mutex_t table_lock;
	bool no_memory;
	bool progress; /* standard error is a terminal */
	double shown;  /* when it was last told, in seconds */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* With table_lock. */
static void show_progress(struct run *run)
{
	double t;

	if (!run->progress || run->audit->table.node_count % 256 != 0)
		return;
	t = now();
	if (t - run->shown < 0.2)
		return;
	run->shown = t;
	fprintf(stderr, "\r%u reports, %u damaged\033[K", run->audit->table.node_count,
		run->audit->damaged);
}

/* With table_lock. `line`: where the report begins, 0 when nothing of it could be read. */
static void note_damaged(struct run *run, const char *name, unsigned long line,
			 const struct fault *why)
{
	struct audit *audit = run->audit;
	char place[32] = "";
	struct fault text;

	if (line > 1) {
		struct text t = TEXT_BUF(place);

		text_add(&t, ", report at line ");
		text_add_int(&t, (int64_t)line);
	}
	fault_join(&text, name, place, ": ", why->text, NULL);
	fprintf(stderr, "%soarbank-probe: %s: skipped\n", run->progress ? "\r\033[K" : "",
		text.text);
	if (audit->damaged < AUDIT_DAMAGED_KEPT) {
		audit->damaged_texts[audit->damaged] = strdup(text.text);
		run->no_memory |= !audit->damaged_texts[audit->damaged];
	}
	audit->damaged++;
}

struct worker {
	struct run *run;
	pthread_t thread;
	struct audit_batch batch;
	struct audit_facts facts;
	char key[KEY_MAX];
};

/* The text of a batch that begins at `line` and is followed by a NUL for now. */
static void read_one(struct worker *w, const char *text, size_t len, unsigned long line)
{
	struct run *run = w->run;
	struct audit_key key;
	struct fault why;
	int r = -EFBIG;

	if (len > AUDIT_REPORT_MAX)
		fault_join(&why, "more than 16 MiB", NULL);
	else
		r = audit_read(text, len, &w->facts, &why);
	if (r == 0 && audit_key_make(&w->facts, w->key, sizeof(w->key), &key) < 0) {
		fault_join(&why, "more text than an audit can hold", NULL);
		r = -EINVAL;
	}
	pthread_mutex_lock(&run->table_lock);
	if (r < 0)
		note_damaged(run, w->batch.name, line, &why);
	else if (audit_table_add(&run->audit->table, &w->facts, &key) < 0)
		run->no_memory = true;
	show_progress(run);
	pthread_mutex_unlock(&run->table_lock);
}

/* The length without the white space at its end. */
static size_t trimmed(const char *text, size_t len)
{
	while (len > 0 && text[len - 1] && strchr(" \t\r\n", text[len - 1]))
		len--;
	return len;
}

static void read_batch(struct worker *w)
{
	char *text = w->batch.buf;
	size_t left = w->batch.len;
	unsigned long line = w->batch.line;

	while (left > 0) {
		size_t all = audit_report_length(text, left);
		size_t len = trimmed(text, all);
		char saved = text[len];

		text[len] = '\0';
		if (len > 0)
			read_one(w, text, len, line);
		text[len] = saved;
		for (const char *c = text; (c = memchr(c, '\n', (size_t)(text + all - c))); c++)
			line++;
		text += all;
		left -= all;
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct run *run = w->run;
	struct fault why;
	int r;

	do {
		pthread_mutex_lock(&run->read_lock);
		r = audit_source_next(&run->source, &w->batch, &why);
		pthread_mutex_unlock(&run->read_lock);
		if (r > 0) {
			read_batch(w);
		} else if (r < 0) {
			pthread_mutex_lock(&run->table_lock);
			run->no_memory |= r == -ENOMEM;
			note_damaged(run, w->batch.name, w->batch.line, &why);
			pthread_mutex_unlock(&run->table_lock);
		}
	} while (r != 0 && r != -ENOMEM && !run->no_memory);
	return NULL;
}

static int worker_count(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return n < 1 ? 1 : n > WORKERS_MAX ? WORKERS_MAX : n;
}

/* A thread that cannot be had is done without. */
static int read_all(struct run *run)
{
	int wanted = worker_count();
	struct worker *workers = calloc((size_t)wanted, sizeof(*workers));
	int started = 1;

	if (!workers)
		return -ENOMEM;
	for (int i = 0; i < wanted; i++)
		workers[i].run = run;
	while (started < wanted &&
	       pthread_create(&workers[started].thread, NULL, work, &workers[started]) == 0)
		started++;
	work(&workers[0]);
	for (int i = 1; i < started; i++)
		pthread_join(workers[i].thread, NULL);
	for (int i = 0; i < wanted; i++)
		audit_batch_free(&workers[i].batch);
	free(workers);
	if (run->progress)
		fputs("\r\033[K", stderr);
	return run->no_memory ? -ENOMEM : 0;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int gather(const struct audit_options *options, struct audit *audit)
{
	struct run run = { .audit = audit,
			   .read_lock = PTHREAD_MUTEX_INITIALIZER,
			   .table_lock = PTHREAD_MUTEX_INITIALIZER,
			   .progress = isatty(STDERR_FILENO) };
	char dash[] = "-";
	char *const standard_input[] = { dash };
	size_t kept;
	int r;

	if (options->word_count > 0)
		audit_source_start(&run.source, options->words, options->word_count);
	else
		audit_source_start(&run.source, standard_input, 1);
	r = read_all(&run);
	audit->files = run.source.files;
	audit_source_end(&run.source);
	if (r < 0)
		return r;
	kept = audit->damaged < AUDIT_DAMAGED_KEPT ? audit->damaged : AUDIT_DAMAGED_KEPT;
	qsort(audit->damaged_texts, kept, sizeof(audit->damaged_texts[0]), compare_texts);
	return audit_table_finish(&audit->table, options->latest, &audit->superseded);
}

/* ---- writing ---- */

static int write_html(const struct audit *audit, const char *path)
{
	FILE *out = fopen(path, "we");
	struct fault why;
	int r;

	if (!out) {
		fault_errno(&why, "create", path, errno);
		return fail(EXIT_OURS, why.text);
	}
	r = audit_html(audit, out);
	if (ferror(out))
		r = -EIO;
	if (fclose(out) != 0 && r == 0)
		r = -errno;
	if (r == 0)
		return 0;
	fault_errno(&why, "write", path, -r);
	return fail(EXIT_OURS, why.text);
}

static int write_forms(const struct audit_options *options, const struct audit *audit)
{
	int r = 0;

	if (options->html) {
		r = write_html(audit, options->html);
		if (r)
			return r;
	}
	switch (options->form) {
	case FORM_PAGE:
		audit_page(audit, exit_wants_colour(), stdout);
		break;
	case FORM_JSON:
		r = audit_json(audit, stdout);
		break;
	case FORM_CSV:
		audit_csv(audit, stdout);
		break;
	case FORM_HELP:
		help(stdout);
		break;
	}
	if (r < 0)
		return fail(EXIT_OURS, "make the audit: ENOMEM");
	return exit_flushed();
}

static int run_audit(const struct audit_options *options, struct audit *audit)
{
	int code;

	if (module_files_load(&options->files, &audit->modules) < 0 || gather(options, audit) < 0 ||
	    audit_judge(audit) < 0)
		return fail(EXIT_OURS, "make the audit: ENOMEM");
	code = write_forms(options, audit);
	if (code)
		return code;
	if (audit->table.node_count == 0)
		fail(EXIT_NO, "there was no report to read");
	if (module_files_complain(&audit->modules) > 0 || audit->damaged > 0 ||
	    audit->table.node_count == 0)
		return EXIT_NO;
	return 0;
}

int audit_main(int argc, char **argv)
{
	struct audit_options options = { .words = calloc((size_t)argc, sizeof(char *)) };
	struct audit *audit = calloc(1, sizeof(*audit));
	struct fault why;
	int code = EXIT_OURS;
	int r = options.words && audit ? command_parse(&audit_command, argc, argv, &options, &why)
				       : -ENOMEM;

	if (r == -ENOMEM)
		fail(EXIT_OURS, "read the command line: ENOMEM");
	else if (r < 0)
		code = exit_usage("audit ", &why);
	else if (options.form == FORM_HELP)
		code = write_forms(&options, audit);
	else
		code = run_audit(&options, audit);
	module_files_free(&options.files);
	free(options.words);
	if (audit)
		audit_free(audit);
	free(audit);
	return code;
}
