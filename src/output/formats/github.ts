import { applyGithub, driftGithub, planGithub } from '../plan-github.ts';
import { severalPlansGithub } from '../several/plans.ts';
import type { ReportFormat } from './format.ts';

export const format: ReportFormat = {
  plan: (document) => planGithub(document),
  drift: (document) => driftGithub(document),
  apply: (report) => applyGithub(report),
  several: (plans) => severalPlansGithub(plans),
};
