/* Write what the probes ask this machine, and what it says, into a directory: a recorded machine.
 *
 * usage: record DIRECTORY
 *
 * Look through what it wrote before it goes anywhere: it has this machine's name, addresses and
 * processors.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "probe/probe.h"
#include "tests/record/recorder.h"

int main(int argc, char **argv)
{
	const struct gather_options all = { .want = PROBE_ALL, .home = "/", .timeout_ms = 20000 };
	struct kernel k;
	struct facts *facts;
	struct fault why;
	int r;

	if (argc != 2 || argv[1][0] == '-') {
		fprintf(stderr, "usage: record DIRECTORY\n");
		return 64;
	}
	mkdir(argv[1], 0755);
	r = recorder_open(argv[1], &kernel_live, &k);
	if (r < 0) {
		fprintf(stderr, "record: %s: %s\n", argv[1], strerror(-r));
		return 1;
	}
	r = facts_gather(&k, &all, &facts, &why);
	if (r < 0) {
		fprintf(stderr, "record: %s\n", why.text);
		return 1;
	}
	facts_free(facts);
	r = recorder_close();
	if (r < 0)
		fprintf(stderr, "record: %s: %s\n", argv[1], strerror(-r));
	return r < 0;
}
