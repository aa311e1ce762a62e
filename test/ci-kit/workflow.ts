import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';

export const root = path.resolve(import.meta.dirname, '..', '..');

export interface Step {
  readonly id?: string;
  readonly name?: string;
  readonly if?: string;
  readonly uses?: string;
  readonly with?: Readonly<Record<string, string>>;
  readonly run?: string;
  readonly shell?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly 'working-directory'?: string;
}

export interface Job {
  readonly if?: string;
  readonly needs?: string;
  readonly 'runs-on': string;
  readonly environment?: string;
  readonly container?: { readonly image: string };
  readonly permissions?: Readonly<Record<string, string>>;
  readonly outputs?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}

export interface Workflow {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

export interface ActionFile {
  readonly inputs: Readonly<Record<string, { readonly required?: boolean; readonly default?: string }>>;
  readonly outputs: Readonly<Record<string, { readonly value: string }>>;
  readonly runs: { readonly using: string; readonly steps: readonly Step[] };
}

/** A user's copy of voxform at a commit. */
export const COPY = `acme/voxform@${'c0ffee00'.repeat(5)}`;

/** Parses a file of the package, with the reference to the copy filled in. */
export function shipped<T>(file: string): T {
  const text = readFileSync(path.join(root, file), 'utf8');
  return parse(text.replaceAll('uses: <OWNER>/<REPOSITORY>@<COMMIT>', `uses: ${COPY}`)) as T;
}

export const action = shipped<ActionFile>('action.yml');

/** Returns the lines that a step wrote to a file of the runner. */
export function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
}

/** Returns these lines as `name=value` pairs. */
export function written(file: string): Record<string, string> {
  return Object.fromEntries(
    linesOf(file).map((line) => {
      const at = line.indexOf('=');
      if (at < 1) throw new Error(`not an output: ${line}`);
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
}
