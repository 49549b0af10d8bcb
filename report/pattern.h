/* What a string in a manifest must look like: one rule per kind of string, from wire.md 6.1. */
#ifndef REPORT_PATTERN_H
#define REPORT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

struct rule {
	bool (*fits)(const char *s); /* the whole string */
	size_t max;		     /* bytes */
	const char *says;	     /* goes on after "'value' is not " */
};

extern const struct rule rule_any;	      /* a string */
extern const struct rule rule_word;	      /* a network mode, a GPU word: open sets */
extern const struct rule rule_name;	      /* a stage, a service, a pool, a container set */
extern const struct rule rule_id;	      /* a host tool, a folder */
extern const struct rule rule_capability;     /* of a stage, a probe or a service */
extern const struct rule rule_module_id;      /* reverse DNS */
extern const struct rule rule_module_name;    /* the last part of the id, and a directory's name */
extern const struct rule rule_module_version; /* of the module, not compared */
extern const struct rule rule_platform;	      /* linux-amd64; an open set */
extern const struct rule rule_oci_platform;   /* linux/amd64; an open set */
extern const struct rule rule_host;	      /* host[:port], never an address */
extern const struct rule rule_image;	      /* pinned by digest */
extern const struct rule rule_registry;
extern const struct rule rule_repository;
extern const struct rule rule_image_index; /* a tagged reference */
extern const struct rule rule_path;	   /* a PortablePath */
extern const struct rule rule_tool_version;
extern const struct rule rule_gpu_api;
extern const struct rule rule_env_name;	 /* a variable the agent does not set itself */
extern const struct rule rule_env_value; /* 4096 bytes */

/* Closed sets. */
extern const struct rule rule_arch;
extern const struct rule rule_trust;
extern const struct rule rule_access;
extern const struct rule rule_lifecycle;
extern const struct rule rule_gpu_use;

#endif
