#include "report/audit/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kabi/text.h"

/* ---- keys: strings with their NUL bytes, one after the other ---- */

static void put(struct text *t, const char *s)
{
	text_add_bytes(t, s, strlen(s) + 1);
}

static void put_number(struct text *t, unsigned number)
{
	text_add_int(t, number);
	text_add_bytes(t, "", 1);
}

/* FNV-1a, eight bytes at a time. */
static uint64_t hash_of(const char *bytes, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (; len >= 8; bytes += 8, len -= 8) {
		uint64_t word;

		memcpy(&word, bytes, sizeof(word));
		hash = (hash ^ word) * 0x100000001b3ULL;
		hash ^= hash >> 29;
	}
	while (len-- > 0)
		hash = (hash ^ (unsigned char)*bytes++) * 0x100000001b3ULL;
	return hash;
}

int audit_key_make(const struct audit_facts *f, char *buf, size_t size, struct audit_key *ret)
{
	struct text t = text_start(buf, size);

	put(&t, f->os);
	put(&t, f->arch);
	put(&t, f->os_version);
	put(&t, f->kernel);
	put(&t, f->libc);
	put(&t, f->libc_version);
	put(&t, f->landlock_state);
	put(&t, f->seccomp);
	put_number(&t, f->obstacles);
	put_number(&t, f->abi);
	put_number(&t, f->backend);
	put_number(&t, f->assumed);
	put_number(&t, f->group_count);
	put_number(&t, f->capability_count);
	put_number(&t, f->finding_count);
	for (unsigned i = 0; i < f->group_count; i++)
		put(&t, f->groups[i]);
	for (unsigned i = 0; i < f->capability_count; i++) {
		const struct audit_capability *c = &f->capabilities[i];

		put(&t, c->name);
		put(&t, c->status == STATUS_ENFORCED ? "" : c->why);
		put(&t, c->status == STATUS_ENFORCED ? "" : c->remedy);
		put(&t, c->status == STATUS_ENFORCED ? "" : c->kernel);
		put_number(&t, c->status);
	}
	for (unsigned i = 0; i < f->finding_count; i++) {
		put(&t, f->findings[i].id);
		put(&t, f->findings[i].remedy);
		put_number(&t, f->findings[i].warning);
	}
	if (t.cut)
		return -ENOSPC;
	*ret = (struct audit_key){ t.len, hash_of(buf, t.len), buf };
	return 0;
}

/* The next string of a key. */
static const char *take(const char **at)
{
	const char *s = *at;

	*at += strlen(s) + 1;
	return s;
}

static unsigned take_number(const char **at)
{
	int64_t value = 0;

	text_int(take(at), 0, UINT32_MAX, &value);
	return (unsigned)value;
}

/* 0 or -ENOMEM. */
static int profile_decode(const struct audit_key *key, struct audit_profile *ret)
{
	const char *at = key->bytes;

	*ret = (struct audit_profile){
		.os = take(&at),
		.arch = take(&at),
		.os_version = take(&at),
		.kernel = take(&at),
		.libc = take(&at),
		.libc_version = take(&at),
		.landlock_state = take(&at),
		.seccomp = take(&at),
	};
	ret->obstacles = take_number(&at);
	ret->abi = take_number(&at);
	ret->backend = take_number(&at);
	ret->assumed = take_number(&at);
	ret->group_count = take_number(&at);
	ret->capability_count = take_number(&at);
	ret->finding_count = take_number(&at);
	for (unsigned i = 0; i < ret->group_count; i++)
		ret->groups[i] = take(&at);
	ret->capabilities = calloc(ret->capability_count + 1, sizeof(*ret->capabilities));
	ret->findings = calloc(ret->finding_count + 1, sizeof(*ret->findings));
	if (!ret->capabilities || !ret->findings)
		return -ENOMEM;
	for (unsigned i = 0; i < ret->capability_count; i++) {
		struct audit_status *c = &ret->capabilities[i];

		c->name = take(&at);
		c->why = take(&at);
		c->remedy = take(&at);
		c->kernel = take(&at);
		c->status = (enum status)take_number(&at);
	}
	for (unsigned i = 0; i < ret->finding_count; i++) {
		struct audit_remark *f = &ret->findings[i];

		f->id = take(&at);
		f->remedy = take(&at);
		f->warning = take_number(&at);
	}
	return 0;
}

/* ---- memory for names, which never move ---- */

struct block {
	struct block *before;
	size_t used;
	char bytes[65536 - 2 * sizeof(size_t)];
};

static const char *keep_name(struct audit_table *table, const char *name)
{
	size_t size = strlen(name) + 1;
	struct block *block = table->names;
	char *copy;

	if (!block || sizeof(block->bytes) - block->used < size) {
		block = malloc(sizeof(*block));
		if (!block)
			return NULL;
		block->before = table->names;
		block->used = 0;
		table->names = block;
	}
	copy = memcpy(block->bytes + block->used, name, size);
	block->used += size;
	return copy;
}

/* ---- the table ---- */

/* Make room for one more than *count of `size` bytes each. */
static int grow(void **array, uint32_t count, uint32_t *room, size_t size)
{
	uint32_t wanted = *room ? *room * 2 : 64;
	void *grown;

	if (count < *room)
		return 0;
	if (wanted < *room)
		return -ENOMEM;
	grown = reallocarray(*array, wanted, size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*room = wanted;
	return 0;
}

static bool same_key(const struct audit_key *a, const struct audit_key *b)
{
	return a->hash == b->hash && a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* The slot of that key, or the free one where it belongs. */
static uint32_t *slot_of(const struct audit_table *table, const struct audit_key *key)
{
	for (uint32_t i = (uint32_t)key->hash;; i++) {
		uint32_t *slot = &table->slots[i & (table->slot_count - 1)];

		if (*slot == 0 || same_key(&table->keys[*slot - 1], key))
			return slot;
	}
}

/* At least half of the slots are free. */
static int grow_slots(struct audit_table *table)
{
	uint32_t count = table->slot_count ? table->slot_count * 2 : 256;

	if (table->key_count + 1 <= table->slot_count / 2)
		return 0;
	if (count < table->slot_count)
		return -ENOMEM;
	free(table->slots);
	table->slots = calloc(count, sizeof(*table->slots));
	table->slot_count = table->slots ? count : 0;
	if (!table->slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->key_count; i++)
		*slot_of(table, &table->keys[i]) = i + 1;
	return 0;
}

/* The profile of that key, made when it is new. */
static int profile_number(struct audit_table *table, const struct audit_key *key, uint32_t *ret)
{
	uint32_t *slot;
	char *copy;

	if (grow_slots(table) < 0 || grow((void **)&table->keys, table->key_count, &table->key_room,
					  sizeof(*table->keys)) < 0)
		return -ENOMEM;
	slot = slot_of(table, key);
	if (*slot == 0) {
		copy = malloc(key->len);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, key->bytes, key->len);
		table->keys[table->key_count] = (struct audit_key){ key->len, key->hash, copy };
		*slot = ++table->key_count;
	}
	*ret = *slot - 1;
	return 0;
}

int audit_table_add(struct audit_table *table, const struct audit_facts *facts,
		    const struct audit_key *key)
{
	struct audit_node *node;
	uint32_t profile;
	const char *name;

	if (profile_number(table, key, &profile) < 0 ||
	    grow((void **)&table->nodes, table->node_count, &table->node_room,
		 sizeof(*table->nodes)) < 0)
		return -ENOMEM;
	name = keep_name(table, facts->hostname[0] ? facts->hostname : "(no name)");
	if (!name)
		return -ENOMEM;
	node = &table->nodes[table->node_count++];
	*node = (struct audit_node){ .name = name, .profile = profile };
	text_copy(node->time, sizeof(node->time), facts->time);
	return 0;
}

/* Reports are written in one form of ISO 8601, which sorts as text. Threads add equal ones in any
 * order: the keys decide.
 */
static int compare_nodes(const void *a, const void *b, void *arg)
{
	const struct audit_table *table = arg;
	const struct audit_node *x = a;
	const struct audit_node *y = b;
	const struct audit_key *k = &table->keys[x->profile];
	const struct audit_key *l = &table->keys[y->profile];
	int r = strcmp(x->name, y->name);

	if (r == 0)
		r = strcmp(x->time, y->time);
	if (r == 0 && k != l)
		r = k->len != l->len ? (k->len < l->len ? -1 : 1)
				     : memcmp(k->bytes, l->bytes, k->len);
	return r;
}

static void keep_latest(struct audit_table *table)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < table->node_count; i++) {
		bool last = i + 1 == table->node_count ||
			    strcmp(table->nodes[i].name, table->nodes[i + 1].name) != 0;

		if (last)
			table->nodes[kept++] = table->nodes[i];
	}
	table->node_count = kept;
}

/* The profile of each node, numbered in the order of the nodes. `numbers` has one for each key. */
static int make_profiles(struct audit_table *table, uint32_t *numbers)
{
	for (uint32_t i = 0; i < table->node_count; i++) {
		struct audit_node *node = &table->nodes[i];
		uint32_t *number = &numbers[node->profile];

		if (*number == 0) {
			*number = ++table->profile_count;
			if (profile_decode(&table->keys[node->profile],
					   &table->profiles[*number - 1]) < 0)
				return -ENOMEM;
		}
		node->profile = *number - 1;
		table->profiles[node->profile].nodes++;
	}
	return 0;
}

int audit_table_finish(struct audit_table *table, bool latest, uint32_t *ret_dropped)
{
	uint32_t all = table->node_count;
	uint32_t *numbers;
	int r;

	if (all > 0)
		qsort_r(table->nodes, all, sizeof(*table->nodes), compare_nodes, table);
	if (latest)
		keep_latest(table);
	numbers = calloc(table->key_count + 1, sizeof(*numbers));
	table->profiles = calloc(table->key_count + 1, sizeof(*table->profiles));
	r = numbers && table->profiles ? make_profiles(table, numbers) : -ENOMEM;
	free(numbers);
	if (r == 0)
		*ret_dropped = all - table->node_count;
	return r;
}

void audit_table_free(struct audit_table *table)
{
	struct block *block = table->names;

	for (uint32_t i = 0; i < table->key_count; i++)
		free(table->keys[i].bytes);
	for (uint32_t i = 0; i < table->profile_count; i++) {
		free(table->profiles[i].capabilities);
		free(table->profiles[i].findings);
	}
	while (block) {
		struct block *before = block->before;

		free(block);
		block = before;
	}
	free(table->nodes);
	free(table->keys);
	free(table->profiles);
	free(table->slots);
	*table = (struct audit_table){ 0 };
}

const struct audit_status *audit_profile_find(const struct audit_profile *profile, const char *name)
{
	for (unsigned i = 0; i < profile->capability_count; i++)
		if (strcmp(profile->capabilities[i].name, name) == 0)
			return &profile->capabilities[i];
	return NULL;
}
