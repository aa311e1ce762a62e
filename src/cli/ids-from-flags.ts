import path from 'node:path';
import { readGivenFile } from '../files/given-file.ts';
import { kinds } from '../kinds/index.ts';
import { reasonOf } from '../manifests/read-file.ts';
import { errorCode } from '../problems/error-code.ts';
import { UserError } from '../problems/user-error.ts';
import type { KnownId } from '../runs/discover.ts';
import type { Context } from './context.ts';
import type { DiscoveryFlags } from './flags.ts';

/**
 * Returns the ids that the flags contain, directly or in files.
 * @throws UserError if a file cannot be read.
 */
export async function idsFromFlags(context: Context, flags: DiscoveryFlags): Promise<KnownId[]> {
  const ids: KnownId[] = [];
  for (const { name, list, table } of kinds.values()) {
    if (list !== undefined) continue;
    const { [table.name]: given, [`${table.name}From`]: file } = flags as Readonly<Record<string, never>>;
    ids.push(...idsFromFlag(name, given), ...(await idsFromFile(context, name, file)));
  }
  return ids;
}

function idsFromFlag(kind: string, ids: readonly string[] = []): KnownId[] {
  return ids
    .flatMap((given) => given.split(','))
    .filter((id) => id !== '')
    .map((id) => ({ kind, id, clause: 'it was given on the command line' }));
}

async function idsFromFile({ cwd }: Context, kind: string, file: string | undefined): Promise<KnownId[]> {
  if (file === undefined) return [];
  const text = await readFlagFile(cwd, file);
  return text
    .split(/\r?\n/)
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((id) => id !== '')
    .map((id) => ({ kind, id, clause: `${file} lists it` }));
}

/** Reads the text file that a flag names, without its byte order mark. */
export async function readFlagFile(cwd: string, file: string): Promise<string> {
  const resolved = path.resolve(cwd, file);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readGivenFile(resolved));
  } catch (cause) {
    if (cause instanceof TypeError) {
      throw new UserError(`cannot read ${file}: not UTF-8 text`, { hint: 'Save it as UTF-8.', cause });
    }
    const missing = errorCode(cause) === 'ENOENT' && { hint: `Looked for ${resolved}.` };
    throw new UserError(`cannot read ${file}: ${reasonOf(cause)}`, { ...missing, cause });
  }
}
