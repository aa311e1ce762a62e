import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { OutputAsset, OutputChunk } from 'rolldown';

interface PackageFile {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly author?: unknown;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const root = path.resolve(import.meta.dirname, '..');

/** Returns the licences of the packages in a bundle. */
export function licencesOf(output: readonly (OutputChunk | OutputAsset)[]): string {
  const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []));
  const folders = new Set(modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0] ?? []));
  const namesByText = new Map<string, string[]>();
  for (const folder of [...folders].sort()) {
    const { name, version, license } = packageIn(folder);
    const text = licenceIn(folder)?.trim();
    if (text === undefined) throw new Error(`${name} has no licence`);
    namesByText.set(text, [...(namesByText.get(text) ?? []), `${name} ${version} (${license})`]);
  }
  const texts = [...namesByText].map(([text, names]) => `${names.join('\n')}\n\n${text}\n`);
  return `Packages that are part of these files:\n\n${texts.join(`\n${'-'.repeat(80)}\n\n`)}`;
}

function licenceIn(folder: string): string | undefined {
  const { license, author } = packageIn(folder);
  const read = (name: RegExp) => {
    const file = readdirSync(folder).find((entry) => name.test(entry));
    return file && readFileSync(path.join(folder, file), 'utf8');
  };
  const own = read(/^licen[cs]e/i);
  if (own !== undefined) return own;
  // The text of this licence is the same for every package.
  if (license === 'Apache-2.0') return readFileSync(path.join(root, 'LICENSE'), 'utf8');
  const inReadme = /^#+ *licen[cs]e\s*(.*permission is hereby granted.*)/ims.exec(read(/^readme/i) ?? '')?.[1];
  if (inReadme !== undefined || license !== 'MIT' || typeof author !== 'string') return inReadme;
  const text = readFileSync(path.join(root, 'node_modules', '@azure', 'storage-blob', 'LICENSE'), 'utf8');
  return text.replace(/^Copyright .*$/m, `Copyright (c) ${author}`);
}

export function packageIn(folder: string): PackageFile {
  return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as PackageFile;
}
