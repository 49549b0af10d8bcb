#include "tests/fake/tree.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kabi/recorded.h"

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	abort();
}

static void make_parents(char *path, size_t from)
{
	for (char *slash = path + from; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
}

static void write_file(const char *root, const struct tree_file *file)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", root, file->path);
	make_parents(path, strlen(root));
	f = fopen(path, "w");
	must(f && fputs(file->text, f) >= 0 && fclose(f) == 0, path);
}

void tree_make(struct tree *t, const struct tree_file *files, const char *rows)
{
	struct fault why = { 0 };

	snprintf(t->root, sizeof(t->root), "/tmp/oarbank-tree-XXXXXX");
	must(mkdtemp(t->root) != NULL, "mkdtemp");
	for (; files && files->path; files++)
		write_file(t->root, files);
	if (recorded_from_rows(rows, t->root, &t->kernel, &why) < 0) {
		fprintf(stderr, "tree: %s\n", why.text);
		abort();
	}
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	return remove(path);
}

void tree_remove(struct tree *t)
{
	recorded_close(&t->kernel);
	nftw(t->root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
