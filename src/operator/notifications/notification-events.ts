import { writes } from '../../engine/plan/plan-actions.ts';
import { type PlannedResource, summaryOf } from '../../engine/plan/plan-document.ts';
import { fillPlaceholders, type NotifyEvent, type Placeholder } from '../../project/notify-schema.ts';
import { type Json, type JsonObject, mapParts } from '../../values/json.ts';
import {
  appliedMessage,
  driftMessage,
  failureMessage,
  holdMessage,
  invalidLines,
  messageOf,
  missingMessage,
  pendingWords,
  saidWithSteps,
  troubleOf,
} from '../messages.ts';
import { correctedIn, doneAddresses, doneIn, type RunReport } from '../run-report.ts';
import { RepeatFilter, type SaidBefore } from '../watch-log.ts';
import { withoutMentions } from './without-mentions.ts';

interface NotificationEvent {
  readonly event: NotifyEvent;
  readonly values: Readonly<Record<Placeholder, Json>>;
  /** Present for drift: all of it that was notified by then. */
  readonly told?: NotifiedDrift;
}

/** By address, the digest of the drift that was notified. */
export type NotifiedDrift = Readonly<Record<string, string>>;

interface NotificationEventsOptions {
  /** True: a correction is reported as the end of the drift, without a message of its own. */
  readonly drift: boolean;
  /** False: a change that overwrites drift is reported as drift, because the receiver gets no changes. */
  readonly changes?: boolean;
  /** The drift of a workspace that an earlier watch reported. */
  readonly told?: ((workspaceId: string) => NotifiedDrift) | undefined;
  /** What others before it reported. */
  readonly remembered?: RememberedEvents | undefined;
}

/** What was reported and still stands, as plain data. */
export interface RememberedEvents {
  readonly said: SaidBefore;
  readonly drifted?: NotifiedDrift | undefined;
}

/** Turns run reports into notification events; an unchanged condition gives one event. */
export class NotificationEvents {
  readonly #said: RepeatFilter;
  readonly #hearsDrift: boolean;
  readonly #hearsChanges: boolean;
  readonly #told: (workspaceId: string) => NotifiedDrift;
  #drifted: ReadonlyMap<string, string> | undefined;

  constructor({ drift, changes = true, told = () => ({}), remembered }: NotificationEventsOptions) {
    this.#said = new RepeatFilter(remembered?.said);
    this.#drifted = remembered?.drifted && new Map(Object.entries(remembered.drifted));
    this.#hearsDrift = drift;
    this.#hearsChanges = changes;
    this.#told = told;
  }

  get remembered(): RememberedEvents {
    return { said: this.#said.said, ...(this.#drifted && { drifted: Object.fromEntries(this.#drifted) }) };
  }

  in(report: RunReport): readonly NotificationEvent[] {
    const drift = this.#drift(report);
    const found: [NotifyEvent, readonly string[], readonly string[]][] = [
      ['changes', ...this.#changes(report, new Set(this.#hearsDrift ? drift[1] : []))],
      ['failure', ...this.#failures(report)],
      ['drift', ...drift],
    ];
    return found.flatMap(([event, lines, addresses]) => {
      if (lines.length === 0) return [];
      const values = valuesOf(report, { event, lines, addresses });
      return [{ event, values, ...(event === 'drift' && { told: Object.fromEntries(this.#drifted ?? []) }) }];
    });
  }

  /** @param told addresses whose drift this report tells: what both sides moved is told with it. */
  #changes(
    report: RunReport,
    told: ReadonlySet<string>,
  ): [lines: readonly string[], addresses: readonly string[]] {
    const { applied, plan, hold, reach } = report;
    const planned = (plan?.resources ?? []).filter(
      (resource) => writes.has(resource.action) && !(this.#hearsDrift && isCorrection(resource, report)),
    );
    const done = doneAddresses({ applied });
    // The other reasons pass by themselves, or are failures.
    const isWaiting = hold?.why === 'report' || hold?.why === 'window' || hold?.why === 'approval';
    const waiting = isWaiting ? planned : [];
    const { added } = this.#said.news('changes', waiting.map(keyOf));
    const open = waiting.filter((each) => !(told.has(each.address) && hasDrifted(each)));
    const isNews = open.some((each) => added.includes(keyOf(each)));
    const resources = planned.filter(({ address }) => done.has(address));
    if (resources.length > 0) {
      const lines = resources.map((each) => appliedMessage(each, reach));
      return [lines, resources.map(({ address }) => address)];
    }
    if (!isNews || hold === undefined) return [[], []];
    const words = pendingWords({ plan: plan && { ...plan, resources: open, summary: summaryOf(open) } });
    return [
      [hold.why === 'report' ? words : holdMessage(hold, words, reach)],
      open.map(({ address }) => address),
    ];
  }

  #failures(report: RunReport): [string[], string[]] {
    const { result, busy, error, invalid, fetchProblem, applied, hold, plan, reach } = report;
    const failed = applied.filter((each) => each.result.status === 'failed');
    const hasFailed =
      error !== undefined && result !== 'interrupted' && (result !== 'busy' || busy?.isLong === true);
    const lines = [
      ...(fetchProblem === undefined ? [] : [`cannot fetch the source: ${messageOf(fetchProblem, reach)}`]),
      ...(invalid === undefined ? [] : invalidLines(invalid)),
      ...(hold?.why === 'guard' || hold?.why === 'policy' ? [holdMessage(hold, '', reach)] : []),
      ...failed.map((each) => failureMessage(each, reach)),
    ];
    // A run that was cut short does not show that what failed before is mended.
    const isOver = lines.length === 0 && !hasFailed && plan === undefined;
    const keys = hasFailed ? [...lines, troubleOf(error)] : lines;
    const isNews = !isOver && this.#said.news('failure', keys).added.length > 0;
    if (hasFailed) lines.unshift(messageOf(error, reach));
    return isNews ? [lines, failed.map(({ address }) => address)] : [[], []];
  }

  #drift(report: RunReport): [string[], string[]] {
    const { drift, missing, plan, workspace } = report;
    if (plan === undefined) return [[], []];
    const before = this.#drifted ?? new Map(Object.entries(this.#told(workspace?.id ?? '')));
    const done = correctedIn(report);
    const written = new Map(plan.resources.map((resource) => [resource.address, resource]));
    const found = [
      ...drift.map((each) => ({ address: each.address, digest: each.digest, line: driftMessage(each) })),
      ...missing.map((each) => ({
        address: each.address,
        digest: `${MISSING}${each.id}`,
        line: missingMessage(each),
      })),
    ];
    this.#drifted = new Map(
      found.flatMap(({ address, digest }) => (done.has(address) ? [] : [[address, digest]])),
    );
    const now = new Set(found.map(({ address }) => address));
    const told = found.flatMap(({ address, digest, line }) => {
      const resource = written.get(address);
      if (done.has(address) && resource !== undefined) {
        const isOnlyThat = isCorrection(resource, report);
        if (!isOnlyThat && this.#hearsChanges) return [];
        const outcome = isOnlyThat ? 'corrected' : 'overwritten by a change of the manifest';
        return [[saidWithSteps(`${line} (${outcome})`, resource, report.reach), address] as const];
      }
      if (before.get(address) === digest) return [];
      const isBoth = resource?.changes.some(({ cause }) => cause === 'both');
      return [[isBoth ? `${line} (the manifest changed too)` : line, address] as const];
    });
    const ended = [...before].flatMap(([address, digest]) => {
      const line = digest.startsWith(MISSING) ? 'no longer missing' : 'no longer drifted';
      return now.has(address) ? [] : [[`${address}: ${line}`, address] as const];
    });
    const all = [...told, ...ended];
    return [all.map(([line]) => line), all.map(([, address]) => address)];
  }
}

/** Prefix of the digest of a missing record. */
const MISSING = 'missing ';

function keyOf({ address, action, changes }: PlannedResource): string {
  return JSON.stringify([address, action, changes]);
}

/** True where somebody moved all that is to be written. */
function hasDrifted({ changes }: PlannedResource): boolean {
  return changes.length > 0 && changes.every(({ cause }) => cause !== 'manifest');
}

/** True where all that is written of a record restores what somebody moved. */
function isCorrection({ address, changes }: PlannedResource, { drift }: RunReport): boolean {
  return (
    changes.length > 0 &&
    changes.every(({ cause }) => cause === 'drift') &&
    drift.some((each) => each.address === address)
  );
}

interface Told {
  readonly event: NotifyEvent;
  readonly lines: readonly string[];
  readonly addresses: readonly string[];
}

/** Lines of a text; a chat shows no more at a glance. */
const MOST_LINES = 20;

function valuesOf(report: RunReport, { event, lines, addresses }: Told): NotificationEvent['values'] {
  const { workspace, mode, result, number, startedAt, commit, applied, drift, error, reach } = report;
  const more = lines.length > MOST_LINES ? [`and ${lines.length - MOST_LINES} more`] : [];
  const name = workspace?.name ?? null;
  return {
    event,
    text: [
      `voxform${name === null ? '' : ` ${name}`}: ${event}`,
      ...lines.slice(0, MOST_LINES),
      ...more,
    ].join('\n'),
    workspace: name,
    workspace_id: workspace?.id ?? null,
    mode,
    result,
    run: number,
    time: startedAt.toISOString(),
    commit: commit ?? null,
    changed: doneIn({ applied }),
    failed: applied.filter((each) => each.result.status === 'failed').length,
    drifted: drift.length,
    resources: [...addresses],
    error: event === 'failure' ? (error === undefined ? (lines[0] ?? null) : messageOf(error, reach)) : null,
  };
}

/**
 * What is sent: the template with its placeholders filled in, or everything there is to say. The sentences in it mention nobody; the other
 * values are for programs, and sent as they are where no template shows them to people.
 * @param redact strikes out secrets, before anything else changes the text.
 */
export function bodyOf(
  { values }: NotificationEvent,
  template: JsonObject | undefined,
  redact: (text: string) => string,
): Json {
  const safe = (value: Json): Json => (typeof value === 'string' ? withoutMentions(redact(value)) : value);
  if (template === undefined) return { ...values, text: safe(values.text) };
  const shown = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, safe(value)]));
  return filled(template, shown as NotificationEvent['values']);
}

/** A text that is one placeholder and nothing else becomes its value; inside other text a value is written as text. */
function filled(template: Json, values: NotificationEvent['values']): Json {
  if (typeof template === 'string') {
    const [, only] = /^\{\{\s*([a-z_]+)\s*\}\}$/.exec(template) ?? [];
    if (only !== undefined && Object.hasOwn(values, only)) return values[only as Placeholder];
    return fillPlaceholders(template, (name) => asText(values[name]));
  }
  return mapParts<Json, Json>(template, (part) => filled(part, values));
}

function asText(value: Json): string {
  if (Array.isArray(value)) return value.map(asText).join(', ');
  return value === null ? '' : String(value);
}
