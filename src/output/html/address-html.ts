import { kindOf } from '../../manifests/resource.ts';
import { linkHost } from '../../project/dashboard-address.ts';
import { escapeMarkup } from '../markup.ts';
import { kindClass } from './colors.ts';

export function addressHtml(address: string): string {
  const kind = kindOf(address);
  return `<code><span class="kind ${kindClass(kind)}">${escapeMarkup(kind)}</span>${escapeMarkup(address.slice(kind.length))}</code>`;
}

/** A link to the dashboard, named by its host; empty without an http or https address. */
export function dashboardLink(url: string | undefined): string {
  const host = linkHost(url);
  if (host === undefined) return '';
  return `<a href="${escapeMarkup(url ?? '')}" rel="noopener noreferrer">${escapeMarkup(host)}</a>`;
}
