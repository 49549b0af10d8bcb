#include "report/module_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/command.h"

int module_files_add(struct module_files *files, const char *path, bool release, struct fault *why)
{
	struct module_file *grown;

	if (!*path)
		return command_refuse(why, release ? "--modules" : "--module", " needs a file name",
				      "");
	if (files->count == MODULE_FILES_MAX)
		return command_refuse(why, "more than 4096 module files", "", "");
	grown = reallocarray(files->of, files->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	files->of = grown;
	files->of[files->count++] = (struct module_file){ path, release };
	return 0;
}

int module_files_load(const struct module_files *files, struct modules *ret)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < files->count; i++) {
		const struct module_file *file = &files->of[i];

		r = file->release ? modules_add_release(ret, file->path)
				  : modules_add_manifest(ret, file->path);
	}
	return r;
}

size_t module_files_complain(const struct modules *modules)
{
	for (size_t i = 0; i < modules->count; i++) {
		const struct module_entry *entry = &modules->entries[i];
		struct fault line;

		if (!entry->refused)
			continue;
		fault_join(&line, entry->file, ": ", entry->error.text, NULL);
		fprintf(stderr, "oarbank-probe: %s\n", line.text);
	}
	return modules->refused;
}

void module_files_free(struct module_files *files)
{
	free(files->of);
	*files = (struct module_files){ 0 };
}
