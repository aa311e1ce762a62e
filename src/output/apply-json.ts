import { z } from 'zod';
import type { ApplyReport, ResourceResult } from '../engine/apply/apply-report.ts';
import type { PlannedResource } from '../engine/plan/plan-document.ts';
import { planDocument, plannedResource } from '../engine/plan/plan-schema.ts';
import { nextStep } from '../problems/next-step.ts';
import type { Immutable } from '../values/json.ts';
import { haltOf } from './action-words.ts';

const appliedResource = plannedResource.extend({
  result: z
    .enum(['done', 'failed', 'skipped'])
    .optional()
    .describe('The result; absent for manual steps and for unchanged resources.'),
  error: z.string().optional().describe('Why the write failed.'),
  hint: z.string().optional().describe('How to fix it.'),
  next: z.array(nextStep).optional().describe('The next steps.'),
  because: z.string().optional().describe('Why the resource was skipped.'),
});

export const applyDocument = planDocument
  .omit({ digest: true })
  .extend({
    resources: z.array(appliedResource).describe('The resources, sorted by address.'),
    interrupted: z.enum(['SIGINT', 'SIGTERM']).optional().describe('The signal that interrupted the apply.'),
    halted: z
      .string()
      .optional()
      .describe('Why the apply stopped early, for example after several creates without a response.'),
  })
  .describe('A plan with its results');

export type ApplyDocument = Immutable<z.infer<typeof applyDocument>>;
type AppliedResource = Immutable<z.infer<typeof appliedResource>>;

/** Returns the plan with the results, the ids of created records, and the warnings from the responses. */
export function applyJson(report: ApplyReport): ApplyDocument {
  const { plan, results, warnings, interrupted } = report;
  const halted = haltOf(report);
  const { digest: _, ...rest } = plan;
  return {
    ...rest,
    resources: plan.resources.map((resource) => withResult(resource, results.get(resource.address))),
    warnings,
    ...(interrupted === undefined ? {} : { interrupted }),
    ...(halted === undefined ? {} : { halted }),
  };
}

function withResult(resource: PlannedResource, result: ResourceResult | undefined): AppliedResource {
  if (result?.status !== 'done') return { ...resource, ...outcomeJson(result) };
  // After the write, the plan's value of this field is outdated.
  const { not_applied: _, ...rest } = resource;
  const { id, notApplied } = result;
  const remaining = notApplied === undefined ? {} : { not_applied: [...notApplied] };
  return { ...rest, id: id ?? resource.id, ...outcomeJson(result), ...remaining };
}

/** Returns the result of a resource, or an empty object if no write was attempted. */
export function outcomeJson(
  result: ResourceResult | undefined,
): Pick<AppliedResource, 'result' | 'error' | 'hint' | 'next' | 'because'> {
  switch (result?.status) {
    case 'failed': {
      const { status, error, hint, next } = result;
      return {
        result: status,
        error,
        ...(hint !== undefined && { hint }),
        ...(next !== undefined && { next }),
      };
    }
    case 'skipped':
      return { result: result.status, because: result.because };
    default:
      return result === undefined ? {} : { result: result.status };
  }
}
