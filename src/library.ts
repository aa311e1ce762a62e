/*
 * The public API of the package. Other modules may change at any time.
 */

export type { ApplyEvent, ResourceResult } from './engine/apply/apply-report.ts';
export type { ReadProgress } from './engine/observe/read-records.ts';
export type { Action } from './engine/plan/plan-actions.ts';
export type {
  PlanDocument,
  PlannedChange,
  PlannedResource,
  PlanWarning,
} from './engine/plan/plan-document.ts';
export type { CallOptions, LoadOptions, LogEntry, Project } from './library/calls.ts';
export { loadProject } from './library/calls.ts';
export type {
  Applied,
  ApplyOptions,
  Drift,
  ImpactOptions,
  Planned,
  PlanOptions,
  ReadOptions,
} from './library/runs.ts';
export { apply, drift, impact, plan, readPlan } from './library/runs.ts';
export { type EditorOptions, serveEditor } from './library/serve-editor.ts';
export type { ApplyDocument } from './output/apply-json.ts';
export { PlatformError } from './platform/platform-error.ts';
export type { Diagnostic } from './problems/diagnostic.ts';
export type { NextStep } from './problems/next-step.ts';
export { UserError } from './problems/user-error.ts';
export { InvalidManifests, InvalidProject } from './project/invalid-project.ts';
export type { ImpactDocument } from './runs/impact/impact-document.ts';
export { VERSION } from './version.ts';
