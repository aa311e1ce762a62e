import { kindOf } from '../../manifests/resource.ts';
import { escapeMarkup } from '../markup.ts';
import { kindClass } from './colors.ts';

export function addressHtml(address: string): string {
  const kind = kindOf(address);
  return `<code><span class="kind ${kindClass(kind)}">${escapeMarkup(kind)}</span>${escapeMarkup(address.slice(kind.length))}</code>`;
}
