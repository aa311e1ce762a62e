import { approvalDigest, withDigest } from '../../engine/plan/plan-digest.ts';
import { LastLoad } from '../../operator/last-load.ts';
import { loadVersion } from '../../operator/load-version.ts';
import { StateLocked } from '../../operator/messages.ts';
import { planRun } from '../../operator/plan-run.ts';
import { plural } from '../../output/plural.ts';
import { denials } from '../../policies/waivers.ts';
import { positionText } from '../../problems/diagnostic.ts';
import { UserError } from '../../problems/user-error.ts';
import { changesIn } from '../../runs/planning.ts';
import type { RunSignals } from '../../runs/run-context.ts';
import { type Json, mapStrings } from '../../values/json.ts';
import { Redactor } from '../../values/redactor.ts';
import { ruleOf } from '../fleet-file.ts';
import type { PullPlan } from '../rows/pull-rows.ts';
import type { MemberRuns } from '../run-member.ts';
import { withoutValues } from '../run-outcome.ts';
import { type AffectedWorkspace, policiesWith } from './affected.ts';

interface PlanAtHeadOptions extends Pick<MemberRuns, 'sources' | 'context' | 'shared' | 'rules'> {
  readonly source: string;
  /** The target branch of the request. */
  readonly base: string;
  readonly signals: RunSignals;
}

/** The plan of a workspace, or the reason why there is none. */
type PlanResult = Omit<PullPlan, 'address'>;

/** The maximum number of resources that a note lists. */
const MAX_LISTED = 20;

/** Returns the result of a valid workspace that is not planned before the merge; undefined if it is planned. */
export function unplannedResult(
  { trusted, workspace = '', resources }: AffectedWorkspace,
  branch: string,
): Pick<PlanResult, 'result' | 'notes'> | undefined {
  if (trusted === 'invalid') {
    const note = `The project on ${branch} is not valid, so its settings cannot be used. It is planned after the merge.`;
    return { result: 'validated', notes: [note] };
  }
  if (trusted !== undefined && Object.hasOwn(trusted.project.workspaces, workspace)) return undefined;
  const note = `${branch} does not have this workspace, so its settings are not trusted. It is planned after the merge.`;
  const more = resources.length > MAX_LISTED ? `, and ${resources.length - MAX_LISTED} more` : '';
  const listed = `${plural(resources.length, 'resource')}: ${resources.slice(0, MAX_LISTED).join(', ')}${more}.`;
  return { result: 'new', notes: [note, listed] };
}

/**
 * Plans a workspace at the newest commit of a request. The settings for secrets, state and platform come from the target branch, whose
 * policies also apply. Takes no lock and writes nothing.
 * @throws UserError or PlatformError if the workspace cannot be planned now.
 */
export async function planAtHead(options: PlanAtHeadOptions, affected: AffectedWorkspace): Promise<PlanResult> {
  const { sources, source, base, signals, context, shared, rules } = options;
  const { address, project, workspace = '', settings, trusted, isBehind } = affected;
  if (trusted === undefined || trusted === 'invalid') throw new Error(`${address} has no trusted settings`);
  const local = sources.local(source, project.project);
  const { folder, commit } = await sources.checkout({ ...project, source }, signals.requests);
  const redactor = new Redactor();
  const last = new LastLoad();
  const result = await loadVersion(
    {
      ...context,
      shared,
      selection: { member: address },
      projectFolder: folder,
      workspace,
      redactor,
      interrupts: signals,
      policies: policiesWith(context.policies?.fleet, trusted),
    },
    { version: { folder, commit }, local, last, trusted },
  );
  if ('invalid' in result) {
    const { diagnostics, error } = result.invalid;
    if (error !== undefined && !(error instanceof UserError)) throw error;
    const places = diagnostics
      .filter(({ severity }) => severity === 'error')
      .map((each) => redactor.redact(`${positionText(each)}  ${each.message}`));
    const message = redactor.redact(error?.message ?? 'the manifests are not valid');
    return { digest: undefined, plan: undefined, result: 'invalid', notes: [], problem: { message, places } };
  }
  const { opened } = result.loaded;
  const state = await opened.state();
  if (opened.holder !== undefined) throw new StateLocked(opened.holder, opened.selection);
  await using client = opened.connect({});
  const { onDrift, mode } = ruleOf(rules, address);
  const keepsDrift = onDrift !== undefined && mode !== 'report';
  const { plan } = await planRun(result.loaded, { state, client, options: {}, keepsDrift });
  const { document } = plan;
  const notes = [
    ...(settings.length === 0 ? [] : [settingsNote(settings, base)]),
    ...(isBehind ? [behindNote(base)] : []),
  ];
  const isDenied = denials(document.violations).length > 0;
  const visiblePlan = opened.workspace.state.seal === undefined ? document : withoutValues(document);
  return {
    result: isDenied ? 'denied' : changesIn(document) > 0 ? 'changes' : 'unchanged',
    digest: isDenied || settings.length > 0 ? undefined : approvalDigest(document),
    plan: mapStrings(JSON.parse(JSON.stringify(withDigest(visiblePlan))) as Json, (text) => redactor.redact(text)),
    notes,
  };
}

function settingsNote(settings: readonly string[], branch: string): string {
  const names = settings.join(', ');
  return `This request changes ${names}. The plan uses the settings of ${branch}, so the plan after the merge needs approval.`;
}

function behindNote(branch: string): string {
  return `${branch} has newer changes to this project, which this plan does not contain. Update the branch of the request.`;
}
