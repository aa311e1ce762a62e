import { readdir, readFile } from 'node:fs/promises';
import { didYouMean } from '../../problems/suggest.ts';
import { misuse } from '../../problems/user-error.ts';
import { packagePath } from '../../version.ts';
import type { Context } from '../context.ts';

const SUFFIX = '.schema.json';

/** Prints a JSON Schema. Kinds are found by their name and by that of their file. */
export async function schema({ terminal }: Context, { name }: { readonly name: string }): Promise<void> {
  const files = await readdir(packagePath('schemas'));
  const names = files.filter((file) => file.endsWith(SUFFIX)).map((file) => file.slice(0, -SUFFIX.length));
  const wanted = names.find((each) => plain(each) === plain(name));
  if (wanted === undefined) {
    throw misuse(`unknown schema ${name}${didYouMean(name, names)}`, `Schemas: ${names.sort().join(', ')}.`);
  }
  terminal.out(await readFile(packagePath(`schemas/${wanted}${SUFFIX}`), 'utf8'));
}

function plain(name: string): string {
  return name.replaceAll('-', '').toLowerCase();
}
