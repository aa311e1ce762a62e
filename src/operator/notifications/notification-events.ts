import { writes } from '../../engine/plan/plan-actions.ts';
import { type PlannedResource, summaryOf } from '../../engine/plan/plan-document.ts';
import { fillPlaceholders, type NotifyEvent, notifyEvents, type Placeholder } from '../../project/notify-schema.ts';
import { type Json, type JsonObject, mapParts } from '../../values/json.ts';
import {
  appliedMessage,
  driftMessage,
  errorKey,
  failureMessage,
  holdMessage,
  invalidLines,
  messageOf,
  missingMessage,
  pendingWords,
  withManualSteps,
} from '../messages.ts';
import { correctedAddresses, countDone, doneAddresses, type RunReport } from '../run-report.ts';
import { RepeatFilter, type ReportedConditions } from '../watch-log.ts';

interface NotificationEvent {
  readonly event: NotifyEvent;
  readonly values: Readonly<Record<Placeholder, Json>>;
  /** All drift that has been reported, including by this event. Set only for drift events. */
  readonly reported?: NotifiedDrift;
}

/** The digests of reported drift by address. */
export type NotifiedDrift = Readonly<Record<string, string>>;

interface NotificationEventsOptions {
  /** Returns the drift that an earlier watch reported for a workspace. */
  readonly reported?: ((workspaceId: string) => NotifiedDrift) | undefined;
  /** The conditions that were reported earlier. */
  readonly remembered?: RememberedEvents | undefined;
}

/** Conditions that were reported and still hold, as plain data. */
export interface RememberedEvents {
  readonly said: ReportedConditions;
  readonly drifted?: NotifiedDrift | undefined;
}

interface Line {
  readonly text: string;
  readonly address: string;
}

/** The events of a run. A receiver of both changes and drift gets each difference once. */
interface FoundEvents {
  readonly failures: readonly string[];
  readonly failed: readonly string[];
  /** `isOverwritten`: a change of the manifest replaced the drift. That change is a separate event. */
  readonly drift: readonly (Line & { readonly isOverwritten: boolean })[];
  readonly reported: NotifiedDrift;
  /** Planned writes. `isCorrection`: the write only restores drift. */
  readonly planned: readonly { readonly resource: PlannedResource; readonly isCorrection: boolean }[];
  /** Keys of waiting writes that were not reported before. */
  readonly added: readonly string[];
}

/** Derives notification events from run reports. An unchanged condition is reported once. */
export class NotificationEvents {
  readonly #reported: RepeatFilter;
  readonly #readReported: (workspaceId: string) => NotifiedDrift;
  #drifted: ReadonlyMap<string, string> | undefined;

  constructor({ reported = () => ({}), remembered }: NotificationEventsOptions = {}) {
    this.#reported = new RepeatFilter(remembered?.said);
    this.#drifted = remembered?.drifted && new Map(Object.entries(remembered.drifted));
    this.#readReported = reported;
  }

  get remembered(): RememberedEvents {
    return { said: this.#reported.conditions, ...(this.#drifted && { drifted: Object.fromEntries(this.#drifted) }) };
  }

  /** Returns a function that returns the events of a run for a receiver of the given event types. */
  eventsOf(report: RunReport): (on: readonly NotifyEvent[]) => readonly NotificationEvent[] {
    const drift = this.#drift(report);
    const planned = (report.plan?.resources ?? [])
      .filter(({ action }) => writes.has(action))
      .map((resource) => ({ resource, isCorrection: isCorrection(resource, report) }));
    const waiting = isWaiting(report) ? planned : [];
    const { added } = this.#reported.update(
      'changes',
      waiting.map(({ resource }) => keyOf(resource)),
    );
    const reported = Object.fromEntries(this.#drifted ?? []);
    const found = { ...this.#failures(report), drift, reported, planned, added };
    return (on) => eventsFor(on, found, report);
  }

  #failures(report: RunReport): Pick<FoundEvents, 'failures' | 'failed'> {
    const { result, busy, error, invalid, fetchProblem, applied, hold, plan, selection } = report;
    const failed = applied.filter((each) => each.result.status === 'failed');
    const hasFailed = error !== undefined && result !== 'interrupted' && (result !== 'busy' || busy?.isLong === true);
    const lines = [
      ...(fetchProblem === undefined ? [] : [`cannot fetch the source: ${messageOf(fetchProblem, selection)}`]),
      ...(invalid === undefined ? [] : invalidLines(invalid)),
      ...(hold?.reason === 'guard' || hold?.reason === 'policy' ? [holdMessage(hold, '', selection)] : []),
      ...failed.map((each) => failureMessage(each, selection)),
    ];
    // A run that ended early does not show whether an earlier failure is over.
    const isOver = lines.length === 0 && !hasFailed && plan === undefined;
    const keys = hasFailed ? [...lines, errorKey(error)] : lines;
    const isNew = !isOver && this.#reported.update('failure', keys).added.length > 0;
    if (hasFailed) lines.unshift(messageOf(error, selection));
    return isNew ? { failures: lines, failed: failed.map(({ address }) => address) } : { failures: [], failed: [] };
  }

  #drift(report: RunReport): FoundEvents['drift'] {
    const { drift, missing, plan, workspace } = report;
    if (plan === undefined) return [];
    const before = this.#drifted ?? new Map(Object.entries(this.#readReported(workspace?.id ?? '')));
    const done = correctedAddresses(report);
    const written = new Map(plan.resources.map((resource) => [resource.address, resource]));
    const found = [
      ...drift.map((each) => ({ address: each.address, digest: each.digest, line: driftMessage(each) })),
      ...missing.map((each) => ({
        address: each.address,
        digest: `${MISSING}${each.id}`,
        line: missingMessage(each),
      })),
    ];
    this.#drifted = new Map(found.flatMap(({ address, digest }) => (done.has(address) ? [] : [[address, digest]])));
    const current = new Set(found.map(({ address }) => address));
    const open = found.flatMap(({ address, digest, line }) => {
      const resource = written.get(address);
      if (done.has(address) && resource !== undefined) {
        const isOverwritten = !isCorrection(resource, report);
        const outcome = isOverwritten ? 'overwritten by a change of the manifest' : 'corrected';
        const text = withManualSteps(`${line} (${outcome})`, resource, report.selection);
        return [{ text, address, isOverwritten }];
      }
      if (before.get(address) === digest) return [];
      const changedByBoth = resource?.changes.some(({ cause }) => cause === 'both');
      const text = changedByBoth ? `${line} (the manifest changed too)` : line;
      return [{ text, address, isOverwritten: false }];
    });
    const ended = [...before].flatMap(([address, digest]) => {
      const line = digest.startsWith(MISSING) ? 'no longer missing' : 'no longer drifted';
      return current.has(address) ? [] : [{ text: `${address}: ${line}`, address, isOverwritten: false }];
    });
    return [...open, ...ended];
  }
}

/** True if changes wait for a person or for an apply window. Other holds end automatically, or are failures. */
function isWaiting({ hold }: RunReport): boolean {
  return (
    hold?.reason === 'report' || hold?.reason === 'window' || hold?.reason === 'frozen' || hold?.reason === 'approval'
  );
}

function eventsFor(on: readonly NotifyEvent[], found: FoundEvents, report: RunReport): readonly NotificationEvent[] {
  const receivesBoth = on.includes('changes') && on.includes('drift');
  const drift = found.drift.filter(({ isOverwritten }) => !(isOverwritten && receivesBoth));
  const reported = new Set(receivesBoth ? drift.map(({ address }) => address) : []);
  const lines: Readonly<Record<NotifyEvent, { lines: readonly string[]; addresses: readonly string[] }>> = {
    changes: changesIn(found, { report, receivesBoth, reported }),
    failure: { lines: found.failures, addresses: found.failed },
    drift: { lines: drift.map(({ text }) => text), addresses: drift.map(({ address }) => address) },
  };
  return notifyEvents.flatMap((event) => {
    if (!on.includes(event) || lines[event].lines.length === 0) return [];
    const values = valuesOf(report, { event, ...lines[event] });
    return [{ event, values, ...(event === 'drift' && { reported: found.reported }) }];
  });
}

/** Returns the contents of a `changes` event. @param reported the addresses whose drift is reported to the same receiver. */
function changesIn(
  { planned, added }: FoundEvents,
  {
    report,
    receivesBoth,
    reported,
  }: { readonly report: RunReport; readonly receivesBoth: boolean; readonly reported: ReadonlySet<string> },
): { lines: readonly string[]; addresses: readonly string[] } {
  const { applied, plan, hold, selection } = report;
  const done = doneAddresses({ applied });
  const resources = planned
    .filter(({ isCorrection: isOnlyCorrection }) => !(receivesBoth && isOnlyCorrection))
    .map(({ resource }) => resource);
  const written = resources.filter(({ address }) => done.has(address));
  const addressesOf = (subset: readonly PlannedResource[]) => subset.map(({ address }) => address);
  if (written.length > 0) {
    return { lines: written.map((each) => appliedMessage(each, selection)), addresses: addressesOf(written) };
  }
  const open = resources.filter((each) => !(reported.has(each.address) && hasDrifted(each)));
  if (hold === undefined || !open.some((each) => added.includes(keyOf(each)))) return { lines: [], addresses: [] };
  const words = pendingWords({ plan: plan && { ...plan, resources: open, summary: summaryOf(open) } });
  const line = hold.reason === 'report' ? words : holdMessage(hold, words, selection);
  return { lines: [line], addresses: addressesOf(open) };
}

/** The prefix of the digest of a missing record. */
const MISSING = 'missing ';

function keyOf({ address, action, changes }: PlannedResource): string {
  return JSON.stringify([address, action, changes]);
}

/** True if every field to be written has drifted. */
function hasDrifted({ changes }: PlannedResource): boolean {
  return changes.length > 0 && changes.every(({ cause }) => cause !== 'manifest');
}

/** True if all changes of a record restore values that somebody changed. */
function isCorrection({ address, changes }: PlannedResource, { drift }: RunReport): boolean {
  return (
    changes.length > 0 &&
    changes.every(({ cause }) => cause === 'drift') &&
    drift.some((each) => each.address === address)
  );
}

interface EventText {
  readonly event: NotifyEvent;
  readonly lines: readonly string[];
  readonly addresses: readonly string[];
}

/** The maximum number of lines in a notification, which may appear in a chat. */
const MAX_LINES = 20;

function valuesOf(report: RunReport, { event, lines, addresses }: EventText): NotificationEvent['values'] {
  const { workspace, mode, result, number, startedAt, commit, applied, drift, error, selection, url } = report;
  const more = lines.length > MAX_LINES ? [`and ${lines.length - MAX_LINES} more`] : [];
  const name = workspace?.name ?? null;
  return {
    event,
    text: [
      `voxform${name === null ? '' : ` ${name}`}: ${event}`,
      ...lines.slice(0, MAX_LINES),
      ...more,
      ...(url === undefined ? [] : [url]),
    ].join('\n'),
    workspace: name,
    workspace_id: workspace?.id ?? null,
    mode,
    result,
    run: number,
    time: startedAt.toISOString(),
    commit: commit ?? null,
    changed: countDone({ applied }),
    failed: applied.filter((each) => each.result.status === 'failed').length,
    drifted: drift.length,
    resources: [...addresses],
    error: event === 'failure' ? (error === undefined ? (lines[0] ?? null) : messageOf(error, selection)) : null,
    url: url ?? null,
  };
}

/** The maximum number of characters that placeholders may add to a template. A project could otherwise exhaust the memory of a fleet. */
const MAX_FILLED_LENGTH = 1024 * 1024;

/**
 * Returns the body of a notification: the template with its placeholders filled in, or all values without a template. Returns undefined if
 * the filled template would be too large. Mentions are disabled in all strings of a template. Without a template, they are disabled only in
 * `text`, because programs read the other values.
 * @param redact redacts the text before any other change.
 */
export function bodyOf(
  { values }: NotificationEvent,
  template: JsonObject | undefined,
  redact: (text: string) => string,
): Json | undefined {
  const safe = (value: Json): Json => (typeof value === 'string' ? withoutMentions(redact(value)) : value);
  if (template === undefined) return { ...values, text: safe(values.text) };
  const texts = new Map(Object.entries(values).map(([name, value]) => [name, asText(safe(value))]));
  let length = 0;
  /** Counts the text of a value. Returns undefined once all texts together are too long. */
  const textOf = (name: Placeholder): string | undefined => {
    const text = texts.get(name) ?? '';
    length += text.length;
    return length > MAX_FILLED_LENGTH ? undefined : text;
  };
  /** Fills in placeholders. A string that is a single placeholder becomes the value itself. In a longer string, the value becomes text. */
  const fill = (part: Json): Json => {
    if (typeof part !== 'string') return mapParts<Json, Json>(part, fill);
    const [, only] = /^\{\{\s*([a-z_]+)\s*\}\}$/.exec(part) ?? [];
    if (only === undefined || !Object.hasOwn(values, only)) return fillPlaceholders(part, (name) => textOf(name) ?? '');
    const name = only as Placeholder;
    return textOf(name) === undefined ? null : safe(values[name]);
  };
  const filled = fill(template);
  return length > MAX_FILLED_LENGTH ? undefined : filled;
}

function asText(value: Json): string {
  if (Array.isArray(value)) return value.map(asText).join(', ');
  return value === null ? '' : String(value);
}

const ZERO_WIDTH_SPACE = '\u200b';

/** Matches the bracket of `<!channel>`, `<@U1>`, `<#C1>`, `<@&1>`, `<https://a|b>` or `<at>Ann</at>`, but not of `a < b`. */
const BRACKET = /<(?=[!@#:/&\p{L}])/gu;
/** Matches the start of a mention. Discord recognizes these two names anywhere; other mentions start a word. */
const MENTION = /@(?=everyone|here)|(?<![\p{L}\p{N}_.+-])@(?=[\p{L}\p{N}_])/giu;
/** Matches the bracket after the text of a link `[text](address)`. The text may be an address other than the target. */
const LINK = /\](?=\()/gu;

/** Disables mentions and disguised links for chat services, invisibly. Parts of the text may come from anyone on the platform. */
export function withoutMentions(text: string): string {
  return text.replace(BRACKET, '‹').replace(MENTION, `@${ZERO_WIDTH_SPACE}`).replace(LINK, `]${ZERO_WIDTH_SPACE}`);
}
