/* The rows of all files, and what is expected of each on this kernel. */
#include "tests/attack/attack.h"

#include <stdio.h>
#include <unistd.h>

static const struct rows *const sets[] = {
	&socket_rows,	&connect_rows, &signal_rows,	  &process_rows, &ipc_rows,
	&terminal_rows, &inherit_rows, &kernel_file_rows, &kernel_rows,	 &exec_rows,
	&file_rows,	&road_rows,    &metadata_rows,	  &root_rows,	 &allow_rows,
};

/* The set that row number `*i` of all is in; `*i` becomes its number there. */
static const struct rows *set_of(size_t *i)
{
	for (size_t set = 0; set < sizeof(sets) / sizeof(sets[0]); set++) {
		if (*i < sets[set]->count)
			return sets[set];
		*i -= sets[set]->count;
	}
	return NULL;
}

const struct row *row_at(size_t i)
{
	const struct rows *set = set_of(&i);

	return set ? &set->rows[i] : NULL;
}

static bool is_below(const struct stage *s, const struct row *row)
{
	return s->abi < row->since_abi;
}

int row_confined(const struct stage *s, const struct row *row)
{
	if (!is_below(s, row))
		return row->confined;
	return row->below ? row->below : row->control;
}

const char *row_name(const struct stage *s, const struct row *row)
{
	static char name[96];
	bool known = row->known || (is_below(s, row) && !row->below);

	snprintf(name, sizeof(name), "%s_%s",
		 known		      ? "known"
		 : row->confined != 0 ? "deny"
				      : "allow",
		 row->name);
	return name;
}

bool row_is_apart(const struct row *row)
{
	return row->before || row->terminal;
}

bool row_is_mine(const struct row *row)
{
	return row->who != (geteuid() == 0 ? USER_ONLY : ROOT_ONLY);
}

/* Of several profiles the one that tells most. */
static unsigned one_of(const struct row *row, unsigned in)
{
	unsigned first = row->confined ? IN(GRANTED) : IN(PLAIN);
	unsigned then = row->confined ? IN(PLAIN) : IN(GRANTED);

	if (in & first)
		return first;
	return in & then ? then : in & -in;
}

unsigned row_profiles(const struct stage *s, const struct row *row)
{
	unsigned in = row->in ? row->in : row_is_apart(row) ? IN(PLAIN) : IN_ALL;

	for (unsigned profile = 0; profile < PROFILE_COUNT; profile++)
		if (!profile_launches(s, profile))
			in &= ~IN(profile);
	return s->quick ? one_of(row, in) : in;
}

bool row_is_for(const struct stage *s, const struct row *row, enum profile profile)
{
	if (!row_is_mine(row))
		return false;
	return profile == PROFILE_COUNT || row_profiles(s, row) & IN(profile);
}

bool row_is_in_batch(const struct stage *s, const struct row *row, enum profile profile,
		     bool terminal)
{
	return (terminal ? row->terminal : !row_is_apart(row)) && row_is_for(s, row, profile);
}

bool row_leaves_process(size_t i, int answer)
{
	const struct rows *set = set_of(&i);
	bool failed = answer < 0 && answer != BROKEN;

	return !set->rows[i].own && (set->together || failed);
}
