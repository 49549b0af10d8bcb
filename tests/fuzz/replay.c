/* Run a fuzz target over every file of its corpus, as an ordinary test. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *data = malloc(1 << 22);
	size_t size;

	if (!f || !data)
		return -1;
	size = fread(data, 1, 1 << 22, f);
	fclose(f);
	/* An exact copy on the heap: the sanitizer then sees the first byte read past the end. */
	uint8_t *exact = malloc(size ? size : 1);
	if (!exact)
		return -1;
	memcpy(exact, data, size);
	free(data);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
	return 0;
}

int main(int argc, char **argv)
{
	struct dirent **names;
	int done = 0;
	int n;

	if (argc != 2) {
		fprintf(stderr, "usage: %s CORPUS-DIRECTORY\n", argv[0]);
		return 64;
	}
	n = scandir(argv[1], &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		char path[4096];

		if (names[i]->d_name[0] != '.') {
			snprintf(path, sizeof(path), "%s/%s", argv[1], names[i]->d_name);
			if (run_file(path) < 0) {
				printf("not ok - %s: cannot be read\n", path);
				return 1;
			}
			done++;
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	if (done == 0) {
		printf("not ok - no corpus in %s\n", argv[1]);
		return 1;
	}
	printf("ok - %d inputs of %s\n", done, argv[1]);
	return 0;
}
