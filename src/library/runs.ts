import type { ApplyEvent } from '../engine/apply/apply-report.ts';
import { driftOf, hasDrift } from '../engine/decide/drift-view.ts';
import type { PlanResult } from '../engine/engine.ts';
import type { ReadProgress } from '../engine/observe/read-counter.ts';
import { parseSavedPlan } from '../engine/plan/parse-saved-plan.ts';
import type { PlanDocument } from '../engine/plan/plan-document.ts';
import { sealed } from '../engine/plan/saved-plan.ts';
import { revalidatePlan } from '../engine/revalidate-plan.ts';
import { type ApplyDocument, applyJson } from '../output/apply-json.ts';
import { applyPlan, planInHistory, refuseTrippedGuards } from '../runs/apply-plan.ts';
import { judgedPlan, refuseDenied, savedPlanJudged } from '../runs/judged-plan.ts';
import { withSession } from '../runs/open-workspace.ts';
import { changesIn, commonInput, type Planning, planWorkspace, preparedToPlan } from '../runs/planning.ts';
import type {
  GuardOptions,
  LockOptions,
  PlanningOptions,
  PlatformOptions,
  SelectionOptions,
} from '../runs/run-context.ts';
import { VERSION } from '../version.ts';
import { calling } from './calls.ts';
import type { CallOptions, Project } from './options.ts';

export interface ReadOptions extends CallOptions, SelectionOptions, PlatformOptions {
  onProgress?(progress: ReadProgress): void;
}

export interface PlanOptions extends ReadOptions, Partial<Omit<PlanningOptions, 'routes' | 'publications'>> {}

export interface ApplyOptions extends CallOptions, GuardOptions, PlatformOptions, Partial<LockOptions> {
  /** After a failure: go on with what does not depend on it (where absent), or start nothing new. */
  readonly onError?: 'continue' | 'stop';
  onProgress?(progress: ReadProgress): void;
  onEvent?(event: ApplyEvent): void;
}

/** A plan that can be applied. */
export interface Planned {
  readonly project: Project;
  /** The plan as data, without secrets: what `voxform plan --output json` prints. */
  readonly document: PlanDocument;
  /** How many resources an apply would write. What is manual, blocked or unknown does not count. */
  readonly changes: number;
}

export interface Applied {
  /** The plan with what became of each resource: what `voxform apply --output json` prints. */
  readonly document: ApplyDocument;
  /** True where everything that was to be written is done. */
  readonly complete: boolean;
  /** True where the signal ended it early. */
  readonly interrupted: boolean;
}

export interface Drift {
  /** What an apply would restore. */
  readonly document: PlanDocument;
  readonly drifted: boolean;
}

/**
 * What an apply would do. Reads the platform; takes no lock and writes nothing.
 * @throws UserError, InvalidProject, InvalidManifests, PlatformError
 */
export async function plan(project: Project, options: PlanOptions = {}): Promise<Planned> {
  const document = sealed((await planned(project, options, judgedPlan)).plan.document);
  return { project, document, changes: changesIn(document) };
}

/**
 * A plan that was kept as JSON text, by `voxform plan --out` or by a program.
 * @throws UserError where it is none, of a newer version, or edited.
 */
export function readPlan(project: Project, text: string): Planned {
  const document = parseSavedPlan(text, { file: 'the plan', version: VERSION });
  return { project, document, changes: changesIn(document) };
}

/**
 * Carries a plan out, exactly as it is or not at all: it is refused before the first write when the state moved on, a record
 * that it would change no longer looks as it did, a secret is another one, or a guard or a policy stops it. Nobody is asked. A resource
 * that fails is in the result, not an exception.
 * @throws UserError, InvalidProject, PlatformError
 */
export async function apply(
  { project, document: given }: Planned,
  { lockTimeout = 0, onError = 'continue', ...options }: ApplyOptions = {},
): Promise<Applied> {
  // Through the check of saved plans: a document that a program changed is no longer the one that was seen.
  const { document: saved } = readPlan(project, JSON.stringify(given));
  return calling(project, options, ({ context, opened, beginWriting }) => {
    refuseTrippedGuards(saved, options);
    const wanted = { operation: 'apply', options: { ...options, lockTimeout }, fresh: saved.state };
    return withSession(opened, wanted, async ({ session, client }) => {
      const { now } = context;
      const { onProgress } = options;
      const surroundings = { opened, state: session.state, client, options, now, onProgress };
      const revalidated = await savedPlanJudged(
        await revalidatePlan({ ...commonInput(surroundings), saved, secret: await opened.secretsOf(saved) }),
        { opened, now: now() },
      );
      session.note(planInHistory(revalidated.plan.document));
      refuseDenied(revalidated.plan.document);
      beginWriting();
      const report = await applyPlan(context, {
        opened,
        session,
        planned: revalidated,
        onError,
        onEvent: (event) => options.onEvent?.(event),
      });
      return {
        document: applyJson(report),
        complete: [...report.results.values()].every(({ status }) => status === 'done'),
        interrupted: report.interrupted !== undefined,
      };
    });
  });
}

/**
 * What changed on the platform since the last apply. Writes nothing.
 * @throws UserError, InvalidProject, InvalidManifests, PlatformError
 */
export async function drift(project: Project, options: ReadOptions = {}): Promise<Drift> {
  const { plan } = await planned(project, { ...options, evenIfAll: true }, planWorkspace);
  const document = driftOf(plan);
  return { document, drifted: hasDrift(document) };
}

function planned(
  project: Project,
  options: PlanOptions,
  make: (planning: Planning) => Promise<PlanResult>,
): Promise<PlanResult> {
  return calling(project, options, ({ context: { log, now }, opened }) =>
    preparedToPlan({ log, now }, { opened, options }, (prepared) => {
      const { onProgress } = options;
      return make({ ...prepared, opened, options: { refresh: true, ...options }, now, onProgress });
    }),
  );
}
