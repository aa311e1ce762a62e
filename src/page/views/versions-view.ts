import { createSecretNumbers } from '../../output/field-view.ts';
import { type Html, html } from '../../output/html/html.ts';
import { changesOnly } from '../../output/html/resource-html.ts';
import { plural } from '../../output/plural.ts';
import type { VersionChanges } from '../../runs/version-changes.ts';

/** Returns the published versions, newest first, each with its differences from the previous version. */
export function versionsHtml(versions: readonly VersionChanges[]): Html {
  const secrets = createSecretNumbers();
  const item = ({ version, publishedAt, changes }: VersionChanges) => {
    const head = html`<strong>Version ${version}</strong> <span class="faint">${publishedAt === undefined ? '' : `published ${publishedAt.slice(0, 19).replace('T', ' ')} UTC`}${changes === undefined ? '' : `, ${plural(changes.length, 'field')} changed`}</span>`;
    return changes === undefined || changes.length === 0
      ? html`<p>${head}</p>`
      : html`<details class="group"><summary>${head}</summary><div class="plan">${changesOnly(changes, secrets)}</div></details>`;
  };
  return versions.length === 0 ? html`` : html`<h3>Versions</h3>${versions.map(item)}`;
}
