import { applyGithub, driftGithub, planGithub } from '../plan-github.ts';
import { severalPlansGithub } from '../several/plans.ts';
import type { ReportFormat } from './format.ts';

export const format: ReportFormat = {
  plan: (document, { workspaceFlag }) => planGithub(document, { workspaceFlag }),
  drift: (document) => driftGithub(document),
  apply: (report, { workspaceFlag }) => applyGithub(report, { workspaceFlag }),
  several: (plans) => severalPlansGithub(plans),
};
