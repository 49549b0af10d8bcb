/* The face of probe/: gather facts, derive capabilities and findings. */
#ifndef PROBE_PROBE_H
#define PROBE_PROBE_H

#include "probe/capability.h"
#include "probe/fact.h"
#include "probe/facts.h"
#include "probe/finding.h"
#include "probe/gather.h"

#endif
