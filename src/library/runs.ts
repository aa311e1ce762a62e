import type { ApplyEvent } from '../engine/apply/apply-report.ts';
import { driftOf, hasDrift } from '../engine/decide/drift-view.ts';
import type { PlanResult } from '../engine/engine.ts';
import type { ReadProgress } from '../engine/observe/read-records.ts';
import { withDigest } from '../engine/plan/plan-digest.ts';
import type { PlanDocument } from '../engine/plan/plan-document.ts';
import { parseSavedPlan } from '../engine/plan/saved-plan.ts';
import { type ApplyDocument, applyJson } from '../output/apply-json.ts';
import { applyPlan, planInHistory, refuseTrippedGuards } from '../runs/apply-plan.ts';
import type { ImpactDocument } from '../runs/impact/impact-document.ts';
import { type ImpactSelection, measureImpact } from '../runs/impact/measure-impact.ts';
import { planWithViolations, refuseDenied, revalidatedPlan } from '../runs/judged-plan.ts';
import { withSession } from '../runs/open-workspace.ts';
import { changesIn, type Planning, planWorkspace, readStateWithoutLock, withPlanInputs } from '../runs/planning.ts';
import type {
  GuardOptions,
  LockOptions,
  PlanningOptions,
  PlatformOptions,
  SelectionOptions,
} from '../runs/run-context.ts';
import { versionedRecord } from '../runs/versioned-record.ts';
import { VERSION } from '../version.ts';
import { type CallOptions, type Project, runInProject } from './calls.ts';

export interface ReadOptions extends CallOptions, SelectionOptions, PlatformOptions {
  onProgress?(progress: ReadProgress): void;
}

export interface PlanOptions extends ReadOptions, Partial<Omit<PlanningOptions, 'routes' | 'publications'>> {}

export interface ApplyOptions extends CallOptions, GuardOptions, PlatformOptions, Partial<LockOptions> {
  /** What to do when a write fails: skip only the resources that depend on it, or stop writing. Defaults to `continue`. */
  readonly onError?: 'continue' | 'stop';
  onProgress?(progress: ReadProgress): void;
  onEvent?(event: ApplyEvent): void;
}

/** A plan that can be applied. */
export interface Planned {
  readonly project: Project;
  /** The plan without secrets, as `voxform plan --output json` prints it. */
  readonly document: PlanDocument;
  /** The number of resources that an apply would write. Excludes manual steps, and blocked and unknown resources. */
  readonly changes: number;
}

export interface Applied {
  /** The plan with the result of each resource, as `voxform apply --output json` prints it. */
  readonly document: ApplyDocument;
  /** True if every planned write succeeded. */
  readonly complete: boolean;
  /** True if the signal ended the apply early. */
  readonly interrupted: boolean;
}

export interface Drift {
  /** The plan that would restore the manifests. */
  readonly document: PlanDocument;
  readonly drifted: boolean;
}

/**
 * Creates a plan. Reads the platform, acquires no lock and writes nothing.
 * @throws UserError, InvalidProject, InvalidManifests, PlatformError
 */
export async function plan(project: Project, options: PlanOptions = {}): Promise<Planned> {
  const document = withDigest((await makePlan(project, options, planWithViolations)).plan.document);
  return { project, document, changes: changesIn(document) };
}

/**
 * Parses a saved plan: the output of `voxform plan --out`, or a `document` of `plan` as JSON.
 * @throws UserError if the text is not a plan, was edited, or has another format or a newer version.
 */
export function readPlan(project: Project, text: string): Planned {
  const document = parseSavedPlan(text, { file: 'the plan', version: VERSION });
  return { project, document, changes: changesIn(document) };
}

/**
 * Applies exactly this plan without a prompt. Refuses the plan before the first write if the state, a secret or a record to change has
 * changed since the plan was made, or if a guard or a policy stops it. Failed resources are part of the result and do not throw.
 * @throws UserError, InvalidProject, PlatformError
 */
export async function apply(
  { project, document: given }: Planned,
  { lockTimeout = 0, onError = 'continue', ...options }: ApplyOptions = {},
): Promise<Applied> {
  // Parsing the document again detects changes that the program made to it.
  const { document: saved } = readPlan(project, JSON.stringify(given));
  return runInProject(project, options, ({ opened, beginWriting }) => {
    refuseTrippedGuards(saved, options);
    const sessionOptions = { operation: 'apply', options: { ...options, lockTimeout }, fresh: saved.state };
    return withSession(opened, sessionOptions, async ({ session, client }) => {
      const { onProgress } = options;
      const planning = { opened, state: session.state, client, options, onProgress };
      const revalidated = await revalidatedPlan(planning, saved);
      session.note(planInHistory(revalidated.plan.document));
      refuseDenied(revalidated.plan.document);
      beginWriting();
      const onEvent = (event: ApplyEvent) => options.onEvent?.(event);
      const report = await applyPlan({ opened, session, planned: revalidated, onError, onEvent });
      return {
        document: applyJson(report),
        complete: [...report.results.values()].every(({ status }) => status === 'done'),
        interrupted: report.interrupted !== undefined,
      };
    });
  });
}

/**
 * Finds changes on the platform since the last apply. Writes nothing.
 * @throws UserError, InvalidProject, InvalidManifests, PlatformError
 */
export async function drift(project: Project, options: ReadOptions = {}): Promise<Drift> {
  const { plan } = await makePlan(project, { ...options, evenIfAll: true }, planWorkspace);
  const document = driftOf(plan);
  return { document, drifted: hasDrift(document) };
}

function makePlan(
  project: Project,
  options: PlanOptions,
  make: (planning: Planning) => Promise<PlanResult>,
): Promise<PlanResult> {
  return runInProject(project, options, ({ opened }) =>
    withPlanInputs(opened, options, (prepared) => {
      const { onProgress } = options;
      return make({ ...prepared, opened, options: { refresh: true, ...options }, onProgress });
    }),
  );
}

export interface ImpactOptions extends CallOptions, PlatformOptions, ImpactSelection {
  /** Called with the number of calls read so far. */
  onProgress?(calls: number): void;
}

/**
 * Compares the calls of an agent by published version. Returns the document that `voxform impact --output json` prints. Reads all calls
 * once, and writes nothing.
 * @throws UserError, InvalidProject, PlatformError
 */
export function impact(project: Project, address: string, options: ImpactOptions = {}): Promise<ImpactDocument> {
  return runInProject(project, options, async ({ opened }) => {
    const { id, versions } = versionedRecord(address, await readStateWithoutLock(opened));
    const { workspace } = opened;
    const { since, direction, channel, compare, onProgress } = options;
    const selection = { address, id, versions, workspace, onProgress, since, direction, channel, compare };
    return (await opened.withClient(options, (client) => measureImpact({ ...selection, client }))).document;
  });
}
