/* An agent that starts POLICY's module and says how it ended: what the installed library is tried
 * with. usage: agent POLICY PROGRAM
 */
#include <oarbank-launch.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct oarbank_launch_outcome outcome = { .size = sizeof(outcome) };
	struct oarbank_launch_options options;
	struct oarbank_module *module;
	char why[400] = "";
	int state;

	if (argc != 3)
		return 64;
	oarbank_launch_options_init(&options);
	options.policy = argv[1];
	options.argv = argv + 2;
	if (oarbank_launch_start(&options, &module, why, sizeof(why)) < 0) {
		fprintf(stderr, "%s\n", why);
		return 70;
	}
	do
		state = oarbank_launch_wait(module, 10000);
	while (state >= 0 && state != OARBANK_STATE_ENDED);
	if (oarbank_launch_outcome(module, &outcome) == 0)
		printf("%s, %s %s\n", outcome.reason, outcome.verified ? "verified" : "unverified",
		       outcome.detail);
	oarbank_launch_free(module);
	return 0;
}
