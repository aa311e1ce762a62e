import type { Address } from '../../manifests/resource.ts';

const KIND = /^["']?kind["']?\s*:\s*["']?([A-Za-z]+)/m;
const NAME = /^([ \t]*)["']?name["']?\s*:\s*["']?([a-z0-9][a-z0-9-]*)/gm;

/**
 * The addresses that a file of manifests declares, told from its lines without reading it properly: whoever presses Tab in
 * a project of ten thousand manifests must not wait for a parser, and a file that is being edited need not be valid.
 */
export function declaredIn(text: string): Address[] {
  const documents = text.trimStart().startsWith('{') ? [unindented(text)] : text.split(/^---.*$/m);
  return documents.flatMap((document) => {
    const kind = KIND.exec(document)?.[1];
    const name = nameIn(metadataOf(document));
    return kind === undefined || name === undefined ? [] : [`${kind}/${name}`];
  });
}

/** The name that is indented least: a label may be called name too. */
function nameIn(metadata: string): string | undefined {
  const found = [...metadata.matchAll(NAME)].map(([, indent = '', name = '']) => ({ indent, name }));
  return found.sort((a, b) => a.indent.length - b.indent.length)[0]?.name;
}

/** What stands under `metadata`, a line for each key. */
function metadataOf(document: string): string {
  const start = /^["']?metadata["']?\s*:\s*?(?=\n|\S)/m.exec(document);
  if (start === null) return '';
  const rest = document.slice(start.index + start[0].length);
  if (!rest.startsWith('{')) return rest.slice(0, end(rest, /\n(?=\S)/));
  const own = rest.slice(1).replace(/\{[^{}]*\}/g, '');
  return own.slice(0, end(own, /\}/)).replace(/,\s*|^\s+/g, '\n');
}

function end(text: string, mark: RegExp): number {
  const at = text.search(mark);
  return at === -1 ? text.length : at;
}

/** JSON as it would stand in YAML's block form, as far as its first level goes. */
function unindented(text: string): string {
  return text.replace(/^\s*\{/, '').replace(/^[ \t]+/gm, '');
}
