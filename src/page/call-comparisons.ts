import type { VersionShown } from '../kinds/kind.ts';
import { html } from '../output/html/html.ts';
import { impactSections } from '../output/html/impact-html.ts';
import { UserError } from '../problems/user-error.ts';
import { measureImpact } from '../runs/impact/measure-impact.ts';
import type { OpenWorkspace } from '../runs/open-workspace.ts';
import { versionChanges } from '../runs/version-changes.ts';
import { type VersionedRecord, versionedRecord } from '../runs/versioned-record.ts';
import type { ShownImpact } from './page-data.ts';
import { versionsHtml } from './views/versions-view.ts';

interface ComparisonOptions {
  now(): Date;
  textOf(error: unknown): string;
  redact(text: string): string;
  /** Called after each change of `shown`. */
  changed(): void;
}

/** The maximum age of calls in milliseconds. */
const MILLISECONDS = 30 * 24 * 60 * 60 * 1000;
const MOST_KEPT = 5;

/** The maximum number of compared versions, to limit the number of requests. */
const MOST_VERSIONS = 10;

interface Comparing {
  readonly now: Date;
  redact(text: string): string;
}

/** Returns HTML with the differences of the latest versions, and their effect on the calls of the last 30 days. */
export async function callsHtml(
  opened: OpenWorkspace,
  record: VersionedRecord,
  { now, redact }: Comparing,
): Promise<string> {
  const since = new Date(now.getTime() - MILLISECONDS).toISOString();
  const { workspace } = opened;
  const { address, id, versions } = record;
  // A fleet stores the result. Values that a sealed state protects must not be part of it.
  const isSealed = workspace.state.seal !== undefined;
  return opened.withClient({}, async (client) => {
    const listed: VersionShown[] = [];
    for await (const each of versions.list(client, id)) listed.push(each);
    const changes = await versionChanges(record, { client, listed, limit: MOST_VERSIONS, isSealed, redact });
    const impact = await measureImpact({ address, id, versions, listed, client, workspace, since });
    return redact(html`${versionsHtml(changes)}${impactSections(impact)}`.text);
  });
}

/** Compares the calls of versions in the background, one comparison at a time, because each reads all calls. */
export class CallComparisons {
  readonly #options: ComparisonOptions;
  readonly #shown = new Map<string, ShownImpact>();

  constructor(options: ComparisonOptions) {
    this.#options = options;
  }

  /** The latest comparisons by resource address. */
  get shown(): ReadonlyMap<string, ShownImpact> {
    return this.#shown;
  }

  /**
   * Starts a comparison.
   * @throws UserError if another comparison is running, or the resource has no versions.
   */
  async begin(opened: OpenWorkspace, address: string, askedBy: string): Promise<void> {
    const { now, redact, textOf } = this.#options;
    const record = versionedRecord(address, await opened.stateWithoutWarnings());
    if ([...this.#shown.values()].some((each) => (each.html ?? each.problem) === undefined))
      throw new UserError('Calls are being read already. Try again when that is done.');
    const askedAt = now();
    const show = (shown: Pick<ShownImpact, 'html' | 'problem'>) => this.#show(address, { askedAt, askedBy, ...shown });
    show({ html: undefined, problem: undefined });
    void callsHtml(opened, record, { now: askedAt, redact }).then(
      (html) => show({ html, problem: undefined }),
      (error: unknown) => show({ html: undefined, problem: textOf(error) }),
    );
  }

  #show(address: string, shown: ShownImpact): void {
    this.#shown.delete(address);
    this.#shown.set(address, shown);
    const [oldest = ''] = this.#shown.keys();
    if (this.#shown.size > MOST_KEPT) this.#shown.delete(oldest);
    this.#options.changed();
  }
}
