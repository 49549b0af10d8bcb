/* The launcher as other folders see it: read a policy, plan for it on this kernel or another one,
 * and confine a process with the code that protects users.
 */
#ifndef LAUNCH_LAUNCH_H
#define LAUNCH_LAUNCH_H

#include "launch/filter.h"
#include "launch/landlock.h"
#include "launch/plan.h"
#include "launch/policy.h"
#include "launch/steps.h"

#endif
