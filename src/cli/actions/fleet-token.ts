import { withControl } from '../../fleet/open-fleet.ts';
import type { ListedToken } from '../../fleet/rows/token-rows.ts';
import { jsonText, snakeCased } from '../../output/json-text.ts';
import { renderTable, whole } from '../../output/table.ts';
import { userName } from '../../runs/local-user.ts';
import type { Context } from '../context.ts';
import { type FleetFlags, fleetFileOf } from './fleet.ts';

interface TokenFlags extends FleetFlags {
  readonly name: string;
}

/** Prints the token, which cannot be shown again. */
export async function tokenAdd(
  context: Context,
  flags: TokenFlags & Pick<ListedToken, 'role'>,
): Promise<void> {
  const { name, role } = flags;
  const { terminal, log, env, cwd } = context;
  const token = await withControl(fleetFileOf(context, flags), cwd, (control) =>
    control.addToken({ name, role, by: userName(env) }),
  );
  log.info(`The token of ${name}, ${role}. It cannot be shown again.`);
  terminal.out(`${token}\n`);
}

export async function tokenList(
  context: Context,
  flags: FleetFlags & { readonly output: 'text' | 'json' },
): Promise<void> {
  const { terminal, log } = context;
  const tokens = await withControl(fleetFileOf(context, flags), context.cwd, (control) => control.tokens());
  if (flags.output === 'json') terminal.out(jsonText(snakeCased(tokens)));
  else if (tokens.length === 0) log.info('No tokens yet.');
  else {
    const columns = [...whole('NAME'), 'ROLE', 'MADE', 'BY'];
    const rows = tokens.map(({ name, role, madeAt, madeBy }) => [name, role, madeAt.slice(0, 10), madeBy]);
    terminal.out(renderTable(columns, rows, terminal.tableStyle));
  }
}

export async function tokenRemove(context: Context, flags: TokenFlags): Promise<void> {
  await withControl(fleetFileOf(context, flags), context.cwd, (control) => control.removeToken(flags.name));
  context.terminal.out(`Removed the token of ${flags.name} and ended its sessions.\n`);
}
