import { takeIn } from '../../engine/take-in.ts';
import { kinds } from '../../kinds/index.ts';
import { parseAddress } from '../../manifests/resource.ts';
import { didYouMean } from '../../problems/suggest.ts';
import { ExitCode, UserError } from '../../problems/user-error.ts';
import { openSession } from '../../state/session.ts';
import { VERSION } from '../../version.ts';
import type { Context } from '../context.ts';
import type { LockFlags, PlatformFlags } from '../flags.ts';
import { openWorkspace } from '../open-workspace.ts';
import { freshState } from './planning.ts';

export interface ImportOptions extends LockFlags, PlatformFlags {}

export async function importRecord(
  context: Context,
  { address, id }: { readonly address: string; readonly id: string },
  options: ImportOptions,
): Promise<number> {
  const name = parseAddress(address)?.kind ?? '';
  const kind = kinds.get(name);
  if (kind === undefined) {
    throw new UserError(`${address}: there is no kind ${name}${didYouMean(name, kinds.keys())}`, {
      hint: `Kinds are ${[...kinds.keys()].join(', ')}.`,
      exitCode: ExitCode.usage,
    });
  }
  const opened = await openWorkspace(context, { requireKey: true });
  const { workspaceId } = opened.workspace;
  // Here, so that its secrets are known before the platform says anything that might show one.
  const { resources } = await opened.declared('offline');
  const session = await openSession(opened.store, {
    lock: opened.lockRequest('import', options.lockTimeout),
    workspaceId,
    fresh: freshState(),
    version: VERSION,
    now: context.now,
  });
  const client = opened.connect(options);
  let outcome: 'taken' | 'already';
  try {
    outcome = await takeIn({ address, id, kind, client, workspaceId, session, now: context.now });
  } finally {
    try {
      await client.close();
    } finally {
      await session.close();
    }
  }
  context.terminal.out(
    outcome === 'already'
      ? `${address} is ${id} already.\n`
      : `${address} is ${id} now. Plan to see how it differs.\n`,
  );
  if (!resources.some((resource) => resource.address === address)) {
    context.log.warn(
      `no manifest declares ${address} yet: write one before the next apply, which would forget it otherwise`,
    );
  }
  return ExitCode.ok;
}
