import { createSecretNumbers } from '../output/field-view.ts';
import { type Html, html } from '../output/html/html.ts';
import { impactSections } from '../output/html/impact-html.ts';
import { changesOnly } from '../output/html/resource-html.ts';
import { plural } from '../output/plural.ts';
import { UserError } from '../problems/user-error.ts';
import { measureImpact } from '../runs/impact/measure-impact.ts';
import type { OpenWorkspace } from '../runs/open-workspace.ts';
import { type VersionChanges, versionChanges } from '../runs/version-changes.ts';
import { type VersionedRecord, versionedRecord } from '../runs/versioned-record.ts';
import type { ShownComparison } from './page-data.ts';

interface ComparisonOptions {
  now(): Date;
  textOf(error: unknown): string;
  redact(text: string): string;
  /** Called after each change of `comparisons`. */
  onChange(): void;
}

/** The maximum age of calls in milliseconds. */
const MAX_AGE_MS = 30 * 24 * 60 * 60 * 1000;
const MAX_COMPARISONS = 5;

/** The maximum number of compared versions, to limit the number of requests. */
const MAX_VERSIONS = 10;

interface CallsContext {
  readonly now: Date;
  redact(text: string): string;
}

/** Returns HTML with the differences between the latest versions, and with their effect on the calls of the last 30 days. */
export async function callsHtml(
  opened: OpenWorkspace,
  record: VersionedRecord,
  { now, redact }: CallsContext,
): Promise<string> {
  const since = new Date(now.getTime() - MAX_AGE_MS).toISOString();
  const { workspace } = opened;
  const { address, id, versions } = record;
  // A fleet stores the result, which must not contain values that a sealed state protects.
  const isSealed = workspace.state.seal !== undefined;
  return opened.withClient({}, async (client) => {
    const listed = await Array.fromAsync(versions.list(client, id));
    const changes = await versionChanges(record, { client, listed, limit: MAX_VERSIONS, isSealed, redact });
    const impact = await measureImpact({ address, id, versions, listed, client, workspace, since });
    return redact(html`${versionsHtml(changes)}${impactSections(impact)}`.text);
  });
}

/** Returns the published versions, newest first, each with its differences from the previous version. */
function versionsHtml(versions: readonly VersionChanges[]): Html {
  const secrets = createSecretNumbers();
  const item = ({ version, publishedAt, changes }: VersionChanges) => {
    const head = html`<strong>Version ${version}</strong> <span class="faint">${publishedAt === undefined ? '' : `published ${publishedAt.slice(0, 19).replace('T', ' ')} UTC`}${changes === undefined ? '' : `, ${plural(changes.length, 'field')} changed`}</span>`;
    return changes === undefined || changes.length === 0
      ? html`<p>${head}</p>`
      : html`<details class="group"><summary>${head}</summary><div class="plan">${changesOnly(changes, secrets)}</div></details>`;
  };
  return versions.length === 0 ? html`` : html`<h3>Versions</h3>${versions.map(item)}`;
}

/** Compares the calls of versions in the background, one comparison at a time, because each comparison reads all calls. */
export class CallComparisons {
  readonly #options: ComparisonOptions;
  readonly #comparisons = new Map<string, ShownComparison>();

  constructor(options: ComparisonOptions) {
    this.#options = options;
  }

  /** The latest comparisons by resource address. */
  get comparisons(): ReadonlyMap<string, ShownComparison> {
    return this.#comparisons;
  }

  /**
   * Starts a comparison.
   * @throws UserError if another comparison is running, or the resource has no versions.
   */
  async begin(opened: OpenWorkspace, address: string, askedBy: string): Promise<void> {
    const { now, redact, textOf } = this.#options;
    const record = versionedRecord(address, await opened.stateWithoutWarnings());
    if ([...this.#comparisons.values()].some((each) => (each.html ?? each.problem) === undefined))
      throw new UserError('Calls are already being read. Try again when that comparison has finished.');
    const askedAt = now();
    const setComparison = (shown: Pick<ShownComparison, 'html' | 'problem'>) =>
      this.#setComparison(address, { askedAt, askedBy, ...shown });
    setComparison({ html: undefined, problem: undefined });
    void callsHtml(opened, record, { now: askedAt, redact }).then(
      (html) => setComparison({ html, problem: undefined }),
      (error: unknown) => setComparison({ html: undefined, problem: textOf(error) }),
    );
  }

  #setComparison(address: string, shown: ShownComparison): void {
    this.#comparisons.delete(address);
    this.#comparisons.set(address, shown);
    const [oldest = ''] = this.#comparisons.keys();
    if (this.#comparisons.size > MAX_COMPARISONS) this.#comparisons.delete(oldest);
    this.#options.onChange();
  }
}
