/* The face of probe/: gather facts, derive capabilities and findings. */
#ifndef PROBE_PROBE_H
#define PROBE_PROBE_H

#include "kabi/fact.h"
#include "probe/capability.h"
#include "probe/facts.h"
#include "probe/finding.h"
#include "probe/gather.h"
#include "probe/trial/run.h"
#include "probe/trial/trial.h"
#include "probe/uevent.h"

#endif
