/* A module that tells by its exit code whether it is confined: 42 when nothing that its policy
 * leaves out succeeds, else more than 100. What a filter around it refuses succeeds no more, so
 * that it never accuses wrongly.
 *
 * usage: module FILE [stay]
 *        FILE is one that the policy does not grant; with "stay" it does not end by itself
 */
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	CONFINED = 42,
	FILE_OPENED = 101,
	SOCKET_MADE = 102,
	MAY_GAIN = 103,
};

int main(int argc, char **argv)
{
	if (argc > 1 && open(argv[1], O_RDONLY) >= 0)
		_exit(FILE_OPENED);
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0)
		_exit(SOCKET_MADE);
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0)
		_exit(MAY_GAIN);
	while (argc > 2)
		pause();
	_exit(CONFINED);
}
